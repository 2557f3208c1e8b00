"""A replica whose list and watch of Operators fail takes over: it changes nothing from what it knew before."""

from __future__ import annotations

import contextlib

import pytest

from olmkit.api import operators
from olmkit.runtime.informer import Change
from tests.cluster.olmkit.conftest import until
from tests.cluster.operator_controller.operator.site import Site

OPERATORS = "GET /apis/operators.operatorframework.io/v1alpha1/operators"


class Witness:
    """The BundleDeployments that are created from now on, and the versions that the one of a requests."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self.created: list[str] = []
        self.versions: set[str] = set()
        site.deployments.subscribe(self._on_change)
        self.created.clear()  # those that exist

    def _on_change(self, change: Change) -> None:
        if change.old is None and change.new is not None:
            self.created.append(change.new["metadata"]["name"])
        self.versions.add(self._site.requested_version("a"))


@pytest.mark.timeout(400)
async def test_a_replica_with_an_old_view_of_operators_neither_downgrades_nor_installs_again(site: Site) -> None:
    await site.publish({"a": {"1.0.0": [], "2.0.0": []}, "b": {"1.0.0": []}})
    async with contextlib.AsyncExitStack() as stack:
        leader, _ = await stack.enter_async_context(site.replica(1))
        await until(lambda: leader.is_leading, "the first replica leads", within=60)
        await site.request("a", version="1.0.0", upgradeConstraintPolicy="Ignore")
        await site.request("b")
        await site.until("both are installed", lambda: site.is_installed("a") and site.is_installed("b"))
        async with site.replica(2) as (follower, between):
            informer = follower.informer(operators.KIND)
            await until(lambda: not informer.stale, "the other replica knows them", within=60)
            between.refuse(OPERATORS)
            await site.client.patch(operators.KIND, site.package("a"), {"spec": {"version": "2.0.0"}})
            await site.delete("b")
            await site.until("a is upgraded", lambda: site.is_installed("a", "2.0.0"))
            await site.until_gone("b")
            await stack.aclose()
            witness = Witness(site)
            await until(lambda: follower.is_leading, "the other replica takes over", within=60)
            await between.until_refused(between.refused + 4)
            between.allow()
            await until(lambda: not informer.stale, "it has listed them", within=60)
            await site.delete("a")
            await site.until_gone("a")
            assert site.package("b") not in witness.created
            assert "1.0.0" not in witness.versions
