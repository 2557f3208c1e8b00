"""What is written when the API server has changed an object since it was observed."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest

from olmkit.api import bundledeployments
from olmkit.api.meta import Object
from olmkit.api.operators import Operator
from olmkit.errors import Conflict
from olmkit.runtime.informer import Informer
from operator_controller.operator.act import OperatorActions
from operator_controller.operator.decide import decide
from operator_controller.operator.world import (
    ApplyBundleDeployment,
    DeleteBundleDeployment,
    ObservedBundleDeployment,
    Plan,
    World,
)
from operator_controller.setup import make_informers
from tests.cluster.operator_controller.operator.site import Site


@pytest.mark.timeout(400)
async def test_what_is_orphaned_is_neither_deleted_nor_owned_again_by_a_pass_that_has_not_seen_it(site: Site) -> None:
    """Two watches: that of Operators may show that the garbage collector has finished before that of BundleDeployments shows what
    it did."""
    async with site.controller():
        await site.publish({"a": {"1.0.0": []}})
        await site.request("a")
        await site.until("a is installed", lambda: site.is_installed("a"))
    operator, before = site.operator("a"), site.deployment("a")
    assert operator is not None
    assert before is not None
    await site.client.patch(bundledeployments.KIND, site.package("a"), {"metadata": {"ownerReferences": None}})
    actions = OperatorActions(site.client, make_informers(lambda kind: Informer(site.client, kind)))
    policies: list[tuple[Object, type[Plan]]] = [
        ({}, DeleteBundleDeployment),
        ({"deletionPolicy": "KeepCRDs"}, ApplyBundleDeployment),
    ]
    for install, planned in policies:
        raw = {**operator, "spec": {**operator["spec"], "install": install}}
        raw["metadata"] = {**operator["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}
        seen = World(datetime.now(UTC), raw, Operator.load(raw), ObservedBundleDeployment.load(before))
        plan = decide(seen).plan
        assert isinstance(plan, planned)
        with pytest.raises(Conflict):
            await actions.act(seen, plan)
    async with site.controller():
        await site.until(
            "it is the Operator's again", lambda: "ownerReferences" in (site.deployment("a") or {})["metadata"]
        )
        arguments = ("delete", "operators.operators.operatorframework.io", site.package("a"), "--cascade=orphan")
        await asyncio.to_thread(site.cluster.kubectl, *arguments)
        left = await site.client.get(bundledeployments.KIND, site.package("a"))
        assert left["metadata"]["uid"] == before["metadata"]["uid"]
        assert left["metadata"].keys() & {"deletionTimestamp", "ownerReferences"} == set()
    await site.delete("a", bundledeployments.KIND)
