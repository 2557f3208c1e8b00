"""operator-controller is killed after each of its writes while dependencies come and go: the end is always the same."""

from __future__ import annotations

import pytest

from olmkit.api.bundledeployment_status import COUNT_ANNOTATION
from olmkit.api.bundledeployments import DELETION_HOLD_ANNOTATION
from olmkit.api.operators import INSTALLED_FOR_LABEL
from olmkit.runtime.informer import Change
from tests.cluster.operator_controller.operator.site import CHAIN, Site

pytestmark = pytest.mark.crash


class Order:
    """Notes what is out of order: a bundle that is requested before its dependency is installed, or left after it."""

    def __init__(self, site: Site, dependant: str, dependency: str) -> None:
        self._site, self._dependant, self._dependency = site, dependant, dependency
        self.faults: list[str] = []
        site.deployments.subscribe(self._check)

    def _check(self, _: Change) -> None:
        dependant, dependency = self._site.deployment(self._dependant), self._site.deployment(self._dependency)
        if dependant is None:
            return
        if dependency is None:
            self.faults.append("the dependant is there without its dependency")
        elif not (dependency.get("status") or {}).get("activeBundle"):
            self.faults.append("the dependency is not installed")
        elif "deletionTimestamp" in dependency["metadata"]:
            self.faults.append("the dependency is being deleted before its dependant is gone")


@pytest.mark.timeout(600)
async def test_a_dependency_is_installed_and_deleted_whenever_the_controller_is_killed(site: Site) -> None:
    await site.publish(CHAIN)
    order = Order(site, "a", "b")
    await site.request("a")
    processes = await site.walk(
        "both are installed and the deletion of the dependency is held",
        lambda: (
            site.is_installed("a")
            and site.is_installed("b")
            and site.annotation("b", DELETION_HOLD_ANNOTATION) == f"required by Operator {site.package('a')}"
        ),
    )
    assert processes > 5
    dependency = site.operator("b")
    assert dependency is not None
    assert dependency["metadata"]["labels"] == {INSTALLED_FOR_LABEL: ""}
    assert "ownerReferences" not in dependency["metadata"]
    assert site.annotation("b", COUNT_ANNOTATION) == ""

    await site.delete("a")
    processes = await site.walk("nothing is left", lambda: site.is_gone("a", "b"))
    assert processes > 5
    assert order.faults == []


@pytest.mark.timeout(600)
async def test_a_dependency_in_use_is_kept_whenever_the_controller_is_killed(site: Site) -> None:
    async with site.controller():
        await site.install(CHAIN)
    await site.use("b")
    await site.delete("a")
    await site.walk("the dependency is kept", lambda: site.is_gone("a") and site.ready("b")[2].startswith("kept: 1 "))
    assert site.is_installed("b")
    await site.client.delete(site.kind("b"), "in-use", "default")
    await site.walk("nothing is left", lambda: site.is_gone("a", "b"))
