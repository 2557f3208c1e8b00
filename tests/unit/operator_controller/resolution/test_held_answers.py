"""Which Operators another solution changes, and what each of them gets of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from operator_controller.resolution.held_answers import HeldAnswers
from operator_controller.resolve.answers.answer import Answer, AnswerKind, Dependency, Member
from operator_controller.resolve.snapshot.cluster_snapshot import OperatorRequest

MEMBERS = (
    Member("base", "base.v1", "1.0.0"),
    Member("other", "other.v1", "1.0.0"),
    Member("user", "user.v1", "1.0.0", requires=("base",)),
)
REQUESTS = {name: OperatorRequest(name, f"uid-{name}", "", name) for name in ("base", "other", "user")}


def solution(digest: str = "first", members: tuple[Member, ...] = MEMBERS) -> dict[str, Answer]:
    """The answers to one component: user requires base."""
    answers = {
        name: Answer(
            name, f"uid-{name}", digest, AnswerKind.CHOSEN, is_resolved=True, message="", text="", members=members
        )
        for name in REQUESTS
    }
    requires_base = Dependency("base", "1.0.0", "c", "base.v1", "")
    return answers | {"user": replace(answers["user"], dependencies=(requires_base,))}


def with_member(name: str, version: str) -> tuple[Member, ...]:
    return tuple(replace(member, version=version) if member.package == name else member for member in MEMBERS)


@pytest.fixture
def held() -> HeldAnswers:
    answers = HeldAnswers()
    assert answers.replace(REQUESTS, solution()) == ["base", "other", "user"]
    return answers


def test_the_same_solution_changes_nothing(held: HeldAnswers) -> None:
    assert held.replace(REQUESTS, solution()) == []


def test_an_equal_answer_to_another_part_of_a_snapshot_changes_nothing_and_is_held(held: HeldAnswers) -> None:
    second = solution("second")
    assert held.replace(REQUESTS, second) == []
    assert all(held[name].solved is second[name] for name in REQUESTS)
    assert {each.answer.digest for each in held.values() if each.answer} == {"second"}


@pytest.mark.parametrize(
    ("member", "changed"),
    [
        pytest.param("other", ["other"], id="a member that nothing requires concerns its own Operator"),
        pytest.param("base", ["base", "user"], id="a dependency concerns those that require it"),
        pytest.param("user", ["base", "user"], id="what requires a package concerns the Operator of that package"),
    ],
)
def test_a_change_of_a_member_concerns_the_operators_to_which_it_matters(
    held: HeldAnswers, member: str, changed: list[str]
) -> None:
    assert held.replace(REQUESTS, solution("second", with_member(member, "2.0.0"))) == changed


def test_an_operator_gets_the_members_that_matter_to_it(held: HeldAnswers) -> None:
    members = {name: [member.package for member in each.answer.members] for name, each in held.items() if each.answer}
    assert members == {"base": ["base", "user"], "other": ["other"], "user": ["base", "user"]}
    assert {name: each.solved for name, each in held.items()} == solution()


def test_another_request_with_the_same_answer_is_a_change(held: HeldAnswers) -> None:
    requests = REQUESTS | {"other": replace(REQUESTS["other"], channels=("stable",))}
    assert held.replace(requests, solution()) == ["other"]
    assert held["other"].request.channels == ("stable",)


def test_a_catalog_that_is_read_again_concerns_those_that_select_it(held: HeldAnswers) -> None:
    requests = REQUESTS | {"other": replace(REQUESTS["other"], catalogs=("d",))}
    held.replace(requests, solution())
    assert held.replace(requests, solution(), {"c"}) == ["base", "user"]
    assert not held["other"].needs_recheck
    assert held.replace(requests, solution()) == ["base", "user"]


def test_a_catalog_that_waits_for_other_content_concerns_the_refused_that_select_it(held: HeldAnswers) -> None:
    requests = REQUESTS | {"other": replace(REQUESTS["other"], catalogs=("d",))}
    answers = solution()
    answers |= {name: replace(answers[name], is_resolved=False) for name in ("base", "other")}
    held.replace(requests, answers)
    assert held.replace(requests, answers, outdated_catalogs={"c"}) == ["base"]
    assert [held[name].outdated_catalogs for name in ("base", "other", "user")] == [("c",), (), ()]
    assert held.replace(requests, answers) == ["base"]


def test_an_operator_without_request_is_forgotten(held: HeldAnswers) -> None:
    left = {name: request for name, request in REQUESTS.items() if name != "user"}
    members = tuple(member for member in MEMBERS if member.package != "user")
    answers = {name: each for name, each in solution("second", members).items() if name != "user"}
    assert held.replace(left, answers) == ["base"]
    assert sorted(held) == ["base", "other"]
    assert held["base"].permits_deletion
    assert related(held, "base", "user") == {"base": set(), "user": set()}


def test_related_operators_follow_the_answers(held: HeldAnswers) -> None:
    assert related(held, "base", "user", "other") == {"base": {"user"}, "user": {"base"}, "other": set()}
    assert not held["base"].permits_deletion
    apart = solution("second", tuple(replace(member, requires=()) for member in MEMBERS))
    held.replace(REQUESTS, apart | {"user": replace(apart["user"], dependencies=())})
    assert related(held, "base", "user") == {"base": set(), "user": set()}
    assert held["base"].permits_deletion


def related(held: HeldAnswers, *packages: str) -> dict[str, set[str]]:
    return {package: set(held.related_operators(package)) for package in packages}


@pytest.mark.parametrize(
    ("awaited", "settled"),
    [
        pytest.param([], {"base", "other", "user"}, id="all are decided"),
        pytest.param([()], set(), id="one may come to require anything"),
        pytest.param([("other",)], {"other"}, id="one waits for the deletion of a dependency"),
        pytest.param([("other",), ("other", "base")], {"other"}, id="two wait for the deletion of a dependency"),
        pytest.param([("other",), ()], set(), id="one waits for a deletion, and another one for anything"),
    ],
)
def test_a_component_is_settled_for_packages_that_nothing_may_come_to_require(
    awaited: Iterable[tuple[str, ...]], settled: set[str]
) -> None:
    answers, requests = solution(), dict(REQUESTS)
    for number, packages in enumerate(awaited):
        name = f"waiting{number}"
        requests[name] = OperatorRequest(name, name, "", name)
        answers[name] = replace(
            answers["other"],
            operator=name,
            uid=name,
            kind=AnswerKind.CONFLICT,
            is_resolved=False,
            is_final=False,
            awaited_deletions=packages,
        )
    held = HeldAnswers()
    held.replace(requests, answers)
    assert {name for name in REQUESTS if held[name].is_component_settled} == settled


def test_answers_that_are_not_solved_settle_no_component() -> None:
    held = HeldAnswers()
    held.replace(REQUESTS, solution(), is_solved=False)
    assert not any(each.is_component_settled for each in held.values())


def test_answers_to_a_part_of_a_snapshot_change_no_others(held: HeldAnswers) -> None:
    new = replace(solution()["other"], operator="new", uid="uid-new", members=(Member("new", "new.v1", "1.0.0"),))
    requests = {"new": OperatorRequest("new", "uid-new", "", "new")}
    assert held.update(requests, {"new": new}) == ["new"]
    assert sorted(held) == ["base", "new", "other", "user"]


@pytest.mark.parametrize(
    ("found", "independent"),
    [
        pytest.param(
            ("base", "other", "user"), ["base", "other", "user"], id="all that were found together are answered"
        ),
        pytest.param(("other",), ["other"], id="nothing that is still to be answered concerns it"),
        pytest.param(("base",), [], id="what requires it has its answer to an earlier Snapshot"),
        pytest.param(("user",), [], id="what it requires has its answer to an earlier Snapshot"),
    ],
)
def test_what_was_found_together_is_replaced_together(
    held: HeldAnswers, found: tuple[str, ...], independent: list[str]
) -> None:
    answers = solution("second")
    alone = {
        name: replace(answers[name], members=MEMBERS if len(found) == 3 else held[name].answer.members)  # type: ignore[union-attr]
        for name in found
    }
    assert sorted(held.independent(alone, REQUESTS)) == independent
    gone = {name: REQUESTS[name] for name in found}
    assert sorted(held.independent(alone, gone)) == sorted(found), "an Operator that is gone holds nothing back"
