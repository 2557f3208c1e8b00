"""What is left to apply decides which BundleDeployment is next."""

from __future__ import annotations

import pytest

from rukpak.bundledeployment.cost import CRD_COST, remaining_cost
from rukpak.bundledeployment.world import World
from tests.unit.rukpak.bundledeployment.worlds import (
    ALL,
    DEFINITION,
    WORKLOAD,
    applied,
    deleting,
    installed,
    unpacked,
    upgrading,
    world,
)

ALL_COST = CRD_COST + len(ALL) - 1


@pytest.mark.parametrize(
    ("seen", "cost"),
    [
        pytest.param(world(), 0, id="nothing is known of a bundle that is not unpacked"),
        pytest.param(unpacked(), ALL_COST, id="a new bundle costs all its objects, and CRDs most"),
        pytest.param(applied(unpacked(), WORKLOAD), 1, id="what was applied costs nothing more"),
        pytest.param(applied(unpacked(), DEFINITION), CRD_COST, id="a CRD that is left costs as much as many objects"),
        pytest.param(upgrading(), ALL_COST, id="an upgrade costs the objects that are different in the new bundle"),
        pytest.param(installed(), 0, id="a bundle that is installed costs nothing, so that its status is never late"),
        pytest.param(deleting(unpacked()), 0, id="a deletion costs nothing"),
    ],
)
def test_cost(seen: World, cost: int) -> None:
    assert remaining_cost(seen, seen.last_applied) == cost


def test_what_the_pass_itself_has_applied_is_not_left() -> None:
    seen = unpacked()
    assert remaining_cost(seen, applied(seen).last_applied) == 0
