"""operator-controller is killed after each of its writes while a set moves: the recorded plan is finished."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.runtime.informer import Change
from tests.cluster.operator_controller.operator.site import Requirements, Site

OLD: dict[str, Requirements] = {"a": {"1.0.0": ["b 1.0.0"]}, "b": {"1.0.0": []}}
NEW: dict[str, Requirements] = {"a": {**OLD["a"], "2.0.0": ["b 2.0.0"]}, "b": {**OLD["b"], "2.0.0": []}}
NEWEST: dict[str, Requirements] = {"a": {**NEW["a"], "3.0.0": ["b 3.0.0"]}, "b": {**NEW["b"], "3.0.0": []}}
CIRCLE_OLD: dict[str, Requirements] = {"a": OLD["a"], "b": {"1.0.0": ["a 1.0.0"]}}
CIRCLE_NEW: dict[str, Requirements] = {"a": NEW["a"], "b": {"1.0.0": ["a 1.0.0"], "2.0.0": ["a 2.0.0"]}}


class Steps:
    """Notes the versions that are requested, in their order, and steps that are taken before all have recorded the plan."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self.taken: list[tuple[str, str]] = []
        self.faults: list[Any] = []
        site.deployments.subscribe(self._note)

    def _note(self, _: Change) -> None:
        for letter in ("a", "b"):
            version = self._site.requested_version(letter)
            known = [each for name, each in self.taken if name == letter] or ["1.0.0"]
            if version and version != known[-1]:
                self.taken.append((letter, version))
                other = "b" if letter == "a" else "a"
                reached = self._site.requested_version(other) == version
                if not (self._site.annotation(letter) and (reached or self._site.annotation(other))):
                    self.faults.append((letter, version))


async def offer_upgrade(site: Site, packages: dict[str, Requirements], newer: dict[str, Requirements]) -> Steps:
    """Install version 1.0.0 of both, then publish what is newer."""
    async with site.controller():
        await site.install(packages)
    await site.publish(newer)
    return Steps(site)


def has_moved(site: Site, version: str) -> bool:
    """Whether both have the version, and no record is left."""
    return all(site.is_installed(each, version) and not site.annotation(each) for each in ("a", "b"))


@pytest.mark.crash
@pytest.mark.timeout(600)
async def test_a_set_moves_whenever_the_controller_is_killed(site: Site) -> None:
    steps = await offer_upgrade(site, OLD, NEW)
    processes = await site.walk("the set has moved", lambda: has_moved(site, "2.0.0"))
    assert processes > 4  # both members may write at the same time: their records, and the last step with a removal
    assert steps.taken == [("b", "2.0.0"), ("a", "2.0.0")]
    assert steps.faults == []


@pytest.mark.crash
@pytest.mark.timeout(600)
async def test_a_circle_moves_together_whenever_the_controller_is_killed(site: Site) -> None:
    steps = await offer_upgrade(site, CIRCLE_OLD, CIRCLE_NEW)
    await site.walk("the set has moved", lambda: has_moved(site, "2.0.0"))
    assert sorted(steps.taken) == [("a", "2.0.0"), ("b", "2.0.0")]
    assert steps.faults == []


@pytest.mark.crash
@pytest.mark.timeout(600)
async def test_a_plan_is_finished_although_the_catalog_has_changed(site: Site) -> None:
    steps = await offer_upgrade(site, OLD, NEW)
    await site.walk("both have recorded the plan", lambda: bool(site.annotation("a") and site.annotation("b")))
    assert steps.taken == []
    await site.publish(NEWEST)
    await site.walk("the set has moved twice", lambda: has_moved(site, "3.0.0"))
    assert steps.taken == [("b", "2.0.0"), ("a", "2.0.0"), ("b", "3.0.0"), ("a", "3.0.0")]
    assert steps.faults == []


@pytest.mark.crash
@pytest.mark.timeout(600)
async def test_a_plan_ends_when_no_catalog_offers_a_bundle_of_it(site: Site) -> None:
    steps = await offer_upgrade(site, OLD, NEW)
    await site.walk("the dependency is upgraded", lambda: site.requested_version("b") == "2.0.0")
    await site.publish({"a": {"1.0.0": ["b 1.0.0"], "3.0.0": ["b 3.0.0"]}, "b": NEWEST["b"]})
    await site.walk("the set has moved", lambda: has_moved(site, "3.0.0"))
    assert steps.taken == [("b", "2.0.0"), ("b", "3.0.0"), ("a", "3.0.0")]


@pytest.mark.crash
@pytest.mark.timeout(600)
async def test_a_plan_ends_when_the_spec_of_a_member_excludes_its_bundle(site: Site) -> None:
    steps = await offer_upgrade(site, OLD, NEW)
    await site.walk("both have recorded the plan", lambda: bool(site.annotation("a") and site.annotation("b")))
    await site.client.patch(site.operators.kind, site.package("a"), {"spec": {"version": "1.0.0"}})
    await site.walk("no record is left", lambda: not site.annotation("a") and not site.annotation("b"))
    assert steps.taken == []
    assert site.is_installed("b")
