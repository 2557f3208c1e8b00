"""Which packages `--all` moves."""

from __future__ import annotations

import pytest

from olmctl.migration.command import movable
from olmctl.migration.packages import make_plan
from tests.unit.olmctl.migration.v0_objects import Object, olm, subscription, version


def requiring(name: str, *required: str, phase: str = "Succeeded") -> Object:
    definitions = {"required": [{"name": f"{each}s.example.com"} for each in required]}
    return version(name, definitions=definitions, phase=phase)


@pytest.mark.parametrize(
    ("versions", "moved"),
    [
        pytest.param([requiring("a"), requiring("b")], ["a", "b"], id="those that nothing is in the way of"),
        pytest.param([requiring("a", phase="Failed"), requiring("b")], ["b"], id="without one that cannot be"),
        pytest.param(
            [requiring("a", phase="Failed"), requiring("b", "a"), requiring("c", "b"), requiring("d")],
            ["d"],
            id="without those that require one that cannot be",
        ),
        pytest.param(
            [requiring("a", "b", phase="Failed"), requiring("b", "c"), requiring("c"), requiring("d")],
            ["d"],
            id="without what one that cannot be requires: OLM v0 would install it again",
        ),
        pytest.param([requiring("a", "b"), requiring("b")], ["b", "a"], id="what is required comes first"),
    ],
)
def test_all_packages_that_can_be_moved(versions: list[Object], moved: list[str]) -> None:
    subscriptions = [subscription(each["metadata"]["name"].partition(".")[0]) for each in versions]
    plan = make_plan(olm(subscriptions=subscriptions, versions=versions), {})
    assert [each.package for each in movable(plan)] == moved
