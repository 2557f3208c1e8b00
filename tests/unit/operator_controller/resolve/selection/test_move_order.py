"""The order of steps into an end state, moving sets, and plans that are finished although the catalogs have changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from operator_controller.resolve.answers.answer import Answer
from operator_controller.resolve.snapshot.cluster_snapshot import MovingSet, PlannedBundle
from tests.cases.test_components import document, recorded, resolve_case

Packages = Mapping[str, Mapping[str, list[Any]]]

ORDER: list[tuple[str, Packages, dict[str, str], dict[str, set[str]], list[set[str]]]] = [
    (
        "a dependency that is installed comes first",
        {"A": {"1.0.0": ["Q 1.0.0"]}, "Q": {"1.0.0": []}},
        {},
        {"A": {"Q"}},
        [],
    ),
    (
        "an upgrade of a dependency comes first, also if what runs of it would do",
        {"A": {"1.0.0": ["Q >=1.0.0"], "2.0.0": ["Q >=1.0.0"]}, "Q": {"1.0.0": [], "2.0.0": []}},
        {"A": "1.0.0", "Q": "1.0.0"},
        {"A": {"Q"}},
        [],
    ),
    (
        "a package waits for the one that it would break",
        {"A": {"1.0.0": ["Q <2.0.0"], "2.0.0": []}, "Q": {"1.0.0": [], "2.0.0": []}},
        {"A": "1.0.0", "Q": "1.0.0"},
        {"Q": {"A"}},
        [],
    ),
    (
        "a package moves before its dependency if only its new version suits what comes",
        {"A": {"1.0.0": ["Q <2.0.0"], "2.0.0": ["Q >=1.0.0"]}, "Q": {"1.0.0": [], "2.0.0": []}},
        {"A": "1.0.0", "Q": "1.0.0"},
        {"Q": {"A"}},
        [],
    ),
    (
        "two packages of which each version requires the same version of the other one move as a set, the dependency first",
        {"A": {"1.0.0": ["Q 1.0.0"], "2.0.0": ["Q 2.0.0"]}, "Q": {"1.0.0": [], "2.0.0": []}},
        {"A": "1.0.0", "Q": "1.0.0"},
        {"A": {"Q"}},
        [{"A", "Q"}],
    ),
    (
        "a circle moves as a set, together",
        {
            "A": {"1.0.0": ["Q 1.0.0"], "2.0.0": ["Q 2.0.0"]},
            "Q": {"1.0.0": ["A 1.0.0"], "2.0.0": ["A 2.0.0"]},
        },
        {"A": "1.0.0", "Q": "1.0.0"},
        {},
        [{"A", "Q"}],
    ),
    (
        "a circle whose versions suit each other is no set",
        {"A": {"1.0.0": ["Q >=1.0.0"], "2.0.0": ["Q >=1.0.0"]}, "Q": {"1.0.0": ["A >=1.0.0"], "2.0.0": ["A >=1.0.0"]}},
        {"A": "1.0.0", "Q": "1.0.0"},
        {},
        [],
    ),
    (
        "a circle that is installed is no set",
        {"A": {"1.0.0": ["Q 1.0.0"]}, "Q": {"1.0.0": ["A 1.0.0"]}},
        {},
        {},
        [],
    ),
    (
        "a new package that a member requires comes before it and is no member",
        {
            "A": {"1.0.0": ["Q 1.0.0"], "2.0.0": ["Q 2.0.0"]},
            "Q": {"1.0.0": [], "2.0.0": ["N 1.0.0"]},
            "N": {"1.0.0": []},
        },
        {"A": "1.0.0", "Q": "1.0.0"},
        {"A": {"Q"}, "Q": {"N"}},
        [{"A", "Q"}],
    ),
    (
        "a provider of a kind that another one provides too breaks nothing",
        {
            "A": {"1.0.0": ["kind g/v1/K"], "2.0.0": []},
            "P": {"1.0.0": ["provides h/v1/L", "kind g/v1/K"]},
            "Q": {"1.0.0": ["provides g/v1/K"], "2.0.0": ["provides g/v1/K", "provides g/v2/K"]},
        },
        {"A": "1.0.0", "P": "1.0.0", "Q": "1.0.0"},
        {},
        [],
    ),
]


def answers(packages: Packages, installed: Mapping[str, str], *operators: dict[str, Any]) -> dict[str, Answer]:
    """The answers by package; A is asked for if it is not installed."""
    asked = list(operators) if installed else ["A"]
    return resolve_case({"installed": installed, "operators": asked}, [{"name": "c", "packages": packages}])


@pytest.mark.parametrize(
    ("packages", "installed", "after", "sets"), [pytest.param(*row[1:], id=row[0]) for row in ORDER]
)
def test_the_order_of_steps(
    packages: Packages, installed: dict[str, str], after: dict[str, set[str]], sets: list[set[str]]
) -> None:
    found = answers(packages, installed)
    assert {name: set(each.after) for name, each in found.items() if each.after} == after
    moving = {each.moving_set for each in found.values() if each.moving_set is not None}
    assert sorted(sorted(dict(each.members)) for each in moving) == sorted(map(sorted, sets))
    for each in moving:
        assert [found[package].moving_set for package, _ in each.members] == [each] * len(each.members)


PAIR: Packages = {"A": {"1.0.0": ["Q 1.0.0"], "2.0.0": ["Q 2.0.0"]}, "Q": {"1.0.0": [], "2.0.0": []}}
MEMBERS = (("A", "A.v2.0.0"), ("Q", "Q.v2.0.0"))


def skipping(package: str, versions: Mapping[str, list[Any]]) -> dict[str, Any]:
    """A package each of whose versions can be upgraded to every later one."""
    names = [f"{package}.v{version}" for version in versions]
    entries = [{"name": name, "skips": names[:number]} for number, name in enumerate(names)]
    bundles = document(package, versions)["bundles"]
    return {"channels": [{"name": "stable", "entries": entries}], "bundles": bundles}


def newer(**without: str) -> dict[str, Any]:
    """What the catalog offers after the plan was recorded: 3.0.0 of both, and not the version of a package in `without`."""
    found = {}
    for package, required in (("A", "Q"), ("Q", "")):
        versions = {version: [f"{required} {version}"] if required else [] for version in ("1.0.0", "2.0.0", "3.0.0")}
        versions.pop(without.get(package, ""), None)
        found[package] = skipping(package, versions)
    return found


def member(package: str, runs: str, plan: str = "2.0.0", **fields: Any) -> dict[str, Any]:
    """An Operator of the pair; `plan`: the version that it recorded, "" for none."""
    running = recorded(package, runs, {"name": "c", "packages": PAIR})
    bundle = PlannedBundle("plan", f"{package}.v{plan}", f"registry/{package}:{plan}", MEMBERS) if plan else None
    return {"package": package, "running": running, "planned": bundle, **fields}


def moves(
    packages: Mapping[str, Any], *operators: dict[str, Any], state: str = "serving"
) -> dict[str, tuple[str, str]]:
    """The version that is selected for each Operator, and the plan of its set."""
    catalog = {"name": "c", "packages": packages, "state": state}
    found = resolve_case({"operators": list(operators)}, [catalog])
    return {
        name: (each.bundle.version if each.bundle else str(each.kind), each.moving_set.plan if each.moving_set else "")
        for name, each in found.items()
    }


def test_the_plan_of_a_set_depends_on_its_bundles_alone() -> None:
    first = answers(PAIR, {"A": "1.0.0", "Q": "1.0.0"})["A"].moving_set
    second = answers(PAIR, {"A": "1.0.0", "Q": "1.0.0"}, member("A", "1.0.0"))["Q"].moving_set
    assert first is not None
    assert first == second == MovingSet(first.plan, MEMBERS)


RECORDED_A, RECORDED_Q, MOVED_Q = member("A", "1.0.0"), member("Q", "1.0.0"), member("Q", "2.0.0", "")
BELOW_3, ONLY_3 = member("A", "1.0.0", version="<3.0.0"), member("A", "1.0.0", version="3.0.0")
PAUSED, DELETED = member("A", "1.0.0", is_paused=True), member("Q", "1.0.0", is_deleting=True)

FOLLOWED = [
    ("all have recorded it", newer(), [RECORDED_A, RECORDED_Q], {"A", "Q"}),
    ("the dependency has moved", newer(), [RECORDED_A, MOVED_Q], {"A"}),
    ("the dependency has moved and its record is not removed", newer(), [RECORDED_A, member("Q", "2.0.0")], {"A"}),
    ("the bundle of what has moved is not offered any more", newer(Q="2.0.0"), [RECORDED_A, MOVED_Q], {"A"}),
    ("the spec of a member has changed and permits its bundle", newer(), [BELOW_3, RECORDED_Q], {"A", "Q"}),
]
ENDED = [
    ("one has not recorded it", newer(), [RECORDED_A, member("Q", "1.0.0", "")]),
    ("one has recorded another bundle", newer(), [RECORDED_A, member("Q", "1.0.0", "3.0.0")]),
    ("a planned bundle is in no catalog", newer(A="2.0.0"), [RECORDED_A, MOVED_Q]),
    ("a planned bundle is in no catalog before the first step", newer(Q="2.0.0"), [RECORDED_A, RECORDED_Q]),
    ("the spec of a member excludes its bundle", newer(), [ONLY_3, MOVED_Q]),
    ("a member is paused", newer(), [PAUSED, RECORDED_Q]),
    ("a member is deleted", newer(), [RECORDED_A, DELETED]),
    ("a member is gone", newer(), [RECORDED_A]),
    ("all have reached it", newer(), [member("A", "2.0.0"), member("Q", "2.0.0")]),
]


@pytest.mark.parametrize(("packages", "operators", "pending"), [pytest.param(*row[1:], id=row[0]) for row in FOLLOWED])
def test_a_recorded_plan_is_finished(
    packages: dict[str, Any], operators: list[dict[str, Any]], pending: set[str]
) -> None:
    found = moves(packages, *operators)
    assert {name for name, (_, plan) in found.items() if plan == "plan"} == pending
    assert {name: found[name][0] for name in pending} == dict.fromkeys(pending, "2.0.0")


@pytest.mark.parametrize(("packages", "operators"), [pytest.param(*row[1:], id=row[0]) for row in ENDED])
def test_a_plan_that_is_not_recorded_by_all_or_is_impossible_has_no_effect(
    packages: dict[str, Any], operators: list[dict[str, Any]]
) -> None:
    found = moves(packages, *operators)
    assert found == moves(packages, *({**each, "planned": None} for each in operators))
    assert "plan" not in {plan for _, plan in found.values()}


def test_a_plan_waits_for_a_catalog_that_is_away() -> None:
    found = moves(newer(), member("A", "1.0.0"), member("Q", "2.0.0", ""), state="unreachable")
    assert found["A"] == ("kept", "plan")


def test_another_image_of_the_planned_bundle_is_another_bundle() -> None:
    packages = newer()
    for each in packages["A"]["bundles"]:
        each["image"] += "-rebuilt"
    assert moves(packages, RECORDED_A, MOVED_Q) == moves(packages, member("A", "1.0.0", ""), MOVED_Q)
