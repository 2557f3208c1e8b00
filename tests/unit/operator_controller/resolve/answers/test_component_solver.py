"""Resolution of all Operators of a cluster. Single cases are in tests/cases/resolution."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import orjson
import pytest

from olmkit.jobs.codec import decode, encode
from operator_controller.resolve.answers import component_answers
from operator_controller.resolve.answers.answer import Answer, AnswerKind
from operator_controller.resolve.answers.component_solver import PendingComponents, SolverMemory, solve_components
from operator_controller.resolve.explain import refusal
from operator_controller.resolve.explain.conflict import ConflictFinder
from operator_controller.resolve.requirements.cluster_facts import ClusterFacts, ClusterKind
from operator_controller.resolve.selection import universe
from operator_controller.resolve.snapshot.cluster_snapshot import (
    CatalogSource,
    ClusterSnapshot,
    OperatorRequest,
    RecordedBundle,
)
from operator_controller.resolve.snapshot.package_snapshot import CatalogState
from operator_controller.resolve.solver.budget import Budget
from tests.bundle_properties import package_required
from tests.counting import lines_counted
from tests.unit.operator_controller.resolve.documents.in_memory import DocumentsInMemory


def document(package: str, *versions: str, **bundle: Any) -> dict[str, Any]:
    """A package with a chain of versions in channel stable."""
    names = [f"{package}.v{version}" for version in versions]
    entries = [{"name": name, "replaces": before} for name, before in zip(names, ["", *names], strict=False)]
    bundles = [
        {"name": name, "version": version, "image": f"registry/{package}:{version}", **bundle}
        for name, version in zip(names, versions, strict=True)
    ]
    channels = [{"name": "stable", "entries": entries}]
    return {"package": package, "defaultChannel": "stable", "channels": channels, "bundles": bundles}


def operator(package: str, **changes: Any) -> OperatorRequest:
    fields = {
        "name": package,
        "uid": f"uid-{package}",
        "created": "2026-01-01T00:00:00Z",
        "package": package,
        **changes,
    }
    return OperatorRequest(**fields)


def snapshot(documents: DocumentsInMemory, *operators: OperatorRequest, **packages: Any) -> ClusterSnapshot:
    source = CatalogSource("community", content=documents.add(packages), package_names=tuple(packages))
    return ClusterSnapshot(operators, (source,))


def test_a_snapshot_with_every_field_crosses_a_pipe() -> None:
    running = RecordedBundle("a.v1", "r/a:1", "a", "1.0.0", "community", "stable", "[]")
    whole = ClusterSnapshot(
        (
            operator("a", running=running, installing=running, preferred_catalog="community", catalogs=("community",)),
            operator(
                "b", version=">=1", channels=("c",), ignores_upgrade_edges=True, is_manual=True, approved_version="1"
            ),
            operator("c", is_paused=True, is_dependency=True, is_deleting=True, is_resolvable=False),
            operator("d", excluded_versions=("1.0.0", "1.1.0")),
        ),
        (CatalogSource("community", 3, CatalogState.CACHED, "sha256:1", "why", ("a", "b"), lists_all_packages=True),),
        ClusterFacts("1.34.4", (ClusterKind("g", "K", ("v1",)),), ("apps/v1/Deployment",)),
        is_ordered=True,
    )
    assert decode(ClusterSnapshot, orjson.loads(orjson.dumps(encode(whole)))) == whole


def test_an_answer_crosses_a_pipe() -> None:
    documents = DocumentsInMemory()
    answers = solve_components(snapshot(documents, operator("a"), a=document("a", "1.0.0", "1.1.0")), documents)
    assert decode(tuple[Answer, ...], orjson.loads(orjson.dumps(encode(answers)))) == answers


def test_each_operator_is_answered_in_the_order_of_names() -> None:
    documents = DocumentsInMemory()
    packages = {"b": document("b", "1.0.0"), "a": document("a", "2.0.0")}
    answers = solve_components(snapshot(documents, operator("b"), operator("a"), **packages), documents)
    assert [(each.operator, each.uid, each.bundle and each.bundle.version) for each in answers] == [
        ("a", "uid-a", "2.0.0"),
        ("b", "uid-b", "1.0.0"),
    ]


def test_what_is_not_to_be_resolved_gets_no_answer() -> None:
    documents = DocumentsInMemory()
    unknown = operator("b", is_resolvable=False)
    assert solve_components(snapshot(documents, unknown, b=document("b", "1.0.0")), documents) == ()


def test_a_document_is_parsed_once_for_many_solves() -> None:
    documents, memory = DocumentsInMemory(), SolverMemory()
    whole = snapshot(documents, operator("a"), a=document("a", "1.0.0"))
    first = solve_components(whole, documents, memory)
    assert solve_components(whole, documents, memory) == first
    assert documents.reads == ["a"]


def test_a_content_that_is_not_here_is_that_of_an_unreadable_catalog() -> None:
    documents = DocumentsInMemory()
    source = CatalogSource("community", content="sha256:gone", package_names=("a",))
    (answer,) = solve_components(ClusterSnapshot((operator("a"),), (source,)), documents)
    assert (answer.kind, answer.is_final) == (AnswerKind.NO_MATCHING_BUNDLE, False)
    assert 'catalog "community" has it, but cannot be read: content sha256:gone is not cached' in answer.text


def test_an_unreadable_catalog_that_lists_all_its_packages_lacks_the_others() -> None:
    documents = DocumentsInMemory()
    source = CatalogSource("c", state=CatalogState.UNREACHABLE, package_names=("b",), lists_all_packages=True)
    (answer,) = solve_components(ClusterSnapshot((operator("a"),), (source,)), documents)
    assert "its last content is used" in answer.text


def digests(answers: tuple[Answer, ...]) -> dict[str, str]:
    return {each.operator: each.digest for each in answers}


def test_a_digest_depends_on_the_documents_of_its_component_alone() -> None:
    documents = DocumentsInMemory()
    operators = operator("a"), operator("b")
    packages = {
        "a": document("a", "1.0.0", properties=[package_required("c")]),
        "b": document("b", "1.0.0"),
        "c": document("c", "1.0.0"),
    }
    before = digests(solve_components(snapshot(documents, *operators, **packages), documents))
    changed = {**packages, "c": document("c", "1.0.0", "1.1.0"), "d": document("d", "1.0.0")}
    after = digests(solve_components(snapshot(documents, *operators, **changed), documents))
    assert after["a"] != before["a"]
    assert after["b"] == before["b"]


def test_a_digest_depends_on_the_facts_that_its_component_asks_for_alone() -> None:
    documents = DocumentsInMemory()
    needs_kind = {"type": "olm.gvk.required", "value": {"group": "g", "version": "v1", "kind": "K"}}
    whole = snapshot(documents, operator("a"), a=document("a", "1.0.0", properties=[needs_kind]))
    without = digests(solve_components(whole, documents))
    other = ClusterFacts("1.34.4", (ClusterKind("g", "L", ("v1",)),))
    assert digests(solve_components(replace(whole, facts=other), documents)) == without
    asked = ClusterFacts("1.34.4", (ClusterKind("g", "K", ("v1",)),))
    assert digests(solve_components(replace(whole, facts=asked), documents)) != without


def test_only_the_component_that_changed_is_solved_again() -> None:
    documents, memory = DocumentsInMemory(), SolverMemory()
    operators = operator("a"), operator("b")
    packages = {"a": document("a", "1.0.0"), "b": document("b", "1.0.0")}
    first = solve_components(snapshot(documents, *operators, **packages), documents, memory)
    changed = {**packages, "b": document("b", "1.0.0", "2.0.0")}
    second = solve_components(snapshot(documents, *operators, **changed), documents, memory)
    assert second[0] is first[0]
    assert second[1].bundle is not None
    assert second[1].bundle.version == "2.0.0"


@pytest.mark.parametrize("state", [CatalogState.PENDING, CatalogState.SERVING, CatalogState.UNREACHABLE])
def test_a_catalog_that_is_created_or_deleted_concerns_those_alone_that_need_it(state: CatalogState) -> None:
    documents, memory = DocumentsInMemory(), SolverMemory()
    packages = {
        "a": document("a", "1.0.0", properties=[package_required("c")]),
        "b": document("b", "1.0.0", properties=[package_required("missing", ">=1.0.0")]),
        "c": document("c", "1.0.0"),
    }
    whole = snapshot(documents, operator("a"), operator("b"), operator("missing-too"), **packages)
    content = documents.add({"d": document("d", "1.0.0")})
    new = CatalogSource("new", 3, state, content, "why", ("d",) if state is CatalogState.SERVING else ())
    more = replace(whole, catalogs=(*whole.catalogs, new))
    before = solve_components(whole, documents, memory)
    after = solve_components(more, documents, memory)
    assert after[0] is before[0]
    assert {each.digest for each in after[1:]}.isdisjoint(each.digest for each in before[1:])
    assert [each.is_final for each in after] == [True, *[state is CatalogState.SERVING] * 2]
    again = solve_components(whole, documents, memory)
    assert again[0] is before[0]
    assert again == before


def test_a_catalog_that_offers_a_dependency_concerns_its_dependants() -> None:
    documents, memory = DocumentsInMemory(), SolverMemory()
    whole = snapshot(
        documents, operator("a"), a=document("a", "1.0.0", properties=[package_required("c")]), c=document("c", "1.0.0")
    )
    new = CatalogSource("new", 3, content=documents.add({"c": document("c", "2.0.0")}), package_names=("c",))
    before = solve_components(whole, documents, memory)
    after = solve_components(replace(whole, catalogs=(*whole.catalogs, new)), documents, memory)
    assert [[one.version for one in each[0].to_install] for each in (before, after)] == [["1.0.0"], ["2.0.0"]]


def test_what_cannot_be_proved_within_the_budget_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    documents = DocumentsInMemory()
    packages = {"a": document("a", "1.0.0", properties=[package_required("c")]), "c": document("c", "1.0.0")}
    monkeypatch.setattr(component_answers, "BUDGET", Budget(calls=1))
    (answer,) = solve_components(snapshot(documents, operator("a"), **packages), documents)
    assert (answer.kind, answer.bundle, answer.members) == (AnswerKind.UNDECIDED, None, ())
    assert "nothing changes" in answer.message


def test_what_cannot_be_evaluated_within_the_limit_is_excluded(monkeypatch: pytest.MonkeyPatch) -> None:
    excluded = {"not": {"constraints": [{"package": {"packageName": "q", "versionRange": "9.0.0"}}]}}
    properties = [{"type": "olm.constraint", "value": excluded}]
    documents = DocumentsInMemory()
    packages = {"p": document("p", "1.0.0", properties=properties), "q": document("q", "1.0.0")}
    whole = snapshot(documents, operator("p"), operator("q"), **packages)
    assert [each.kind for each in solve_components(whole, documents)] == [AnswerKind.CHOSEN, AnswerKind.CHOSEN]
    monkeypatch.setattr(universe, "MAX_EVALUATIONS", 0)
    assert [each.kind for each in solve_components(whole, documents)] == [AnswerKind.CHOSEN, AnswerKind.CONFLICT]


def owning_one_of(kinds: int) -> dict[str, Any]:
    """A package whose version N.0.0 owns the Nth kind."""
    found = document("p", *(f"{each + 1}.0.0" for each in range(kinds)))
    for place, bundle in enumerate(found["bundles"]):
        kind = {"group": "example.com", "version": "v1", "kind": f"Kind{place}"}
        bundle["properties"] = [{"type": "olm.gvk", "value": kind}]
    return found


def test_of_more_packages_than_kinds_that_they_may_own_the_last_one_is_refused() -> None:
    packages = {f"p{each}": owning_one_of(8) | {"package": f"p{each}"} for each in range(9)}
    documents = DocumentsInMemory()
    answers = solve_components(snapshot(documents, *map(operator, packages), **packages), documents)
    assert [each.kind for each in answers] == [AnswerKind.CHOSEN] * 8 + [AnswerKind.CONFLICT]


def test_a_refusal_whose_explanation_exceeds_the_budget_names_no_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    documents = DocumentsInMemory()
    package = document("a", "1.0.0", properties=[package_required("b")])
    monkeypatch.setattr(refusal, "ConflictFinder", partial(ConflictFinder, total=Budget(calls=1)))
    (answer,) = solve_components(snapshot(documents, operator("a"), a=package), documents)
    assert answer.kind is AnswerKind.CONFLICT
    assert answer.message == f"Unable to resolve because {refusal.UNEXPLAINED}"
    assert answer.clauses == ()


def test_explaining_a_chain_of_twice_the_length_costs_at_most_four_times_as_much() -> None:
    """A call of the solver for each clause of the conflict, each with all clauses."""

    def lines_for(length: int) -> int:
        packages = {
            f"p{each}": document(f"p{each}", "1.0.0", properties=[package_required(f"p{each + 1}")])
            for each in range(length)
        }
        documents = DocumentsInMemory()
        request = snapshot(documents, operator("p0"), **packages)
        with lines_counted() as lines:
            (answer,) = solve_components(request, documents)
        assert f"p{length - 1} latest requires p{length}" in "; ".join(each.sentence for each in answer.clauses)
        return lines.executed

    assert lines_for(120) < 4.4 * lines_for(60)


def test_what_a_first_attempt_does_not_prove_is_solved_last_with_the_same_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    documents = DocumentsInMemory()
    packages = {name: document(name, "1.0.0", "2.0.0") for name in ("b", "d", "z")}
    packages |= {
        name: document(name, "1.0.0", "2.0.0", properties=[package_required(other)]) for name, other in ("ab", "cd")
    }
    found = snapshot(documents, operator("a"), operator("c"), operator("z"), **packages)
    answers, memory = solve_components(found, documents), SolverMemory()
    monkeypatch.setattr(component_answers, "FIRST_ATTEMPT_BUDGET", Budget(rounds=0))
    pending = PendingComponents(found, documents, memory)
    assert not pending.is_next_costly
    solved = []
    while not pending.is_next_costly:
        solved += [each.operator for each in pending.solve_next()]
    assert solved == ["z"]
    assert [each.operator for each in pending.solve_next()] == ["a"]
    again = PendingComponents(found, documents, memory)
    assert sorted(each.operator for each in again.known) == ["a", "z"], "another Snapshot goes on with what is left"
    assert again.is_next_costly
    assert [each.operator for each in again.solve_next()] == ["c"]
    assert solve_components(found, documents, memory) == answers


def test_what_is_paused_goes_on_in_another_snapshot_and_has_the_same_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    documents = DocumentsInMemory()
    packages = {name: document(name, "1.0.0", "2.0.0") for name in ("b", "y", "z")}
    packages["a"] = document("a", "1.0.0", "2.0.0", properties=[package_required("b")])
    found = snapshot(documents, operator("a"), operator("z"), **packages)
    more = snapshot(documents, operator("a"), operator("y"), operator("z"), **packages)
    memory, whole = SolverMemory(), solve_components(more, documents)
    monkeypatch.setattr(component_answers, "FIRST_ATTEMPT_BUDGET", Budget(rounds=0))
    pending = PendingComponents(found, documents, memory)
    while not pending.is_next_costly:
        pending.solve_next(lambda: True)
    component = pending.next_component
    assert pending.solve_next(lambda: True) == ()
    assert pending.next_component == component, "it is paused"
    (solving,) = memory.paused.values()
    again = PendingComponents(more, documents, memory)
    assert not again.is_next_costly, "what is new is solved before"
    assert [each.operator for each in again.solve_next(lambda: True)] == ["y"]
    assert list(memory.paused.values()) == [solving], "and what is paused stays so"
    answers = [*again.known, *again.solve_next()]
    while again.next_component:
        answers += again.solve_next()
    assert not memory.paused
    assert {each.operator: each for each in whole}["a"] in answers


def test_what_is_paused_is_given_up_when_its_part_of_the_snapshot_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    documents, memory = DocumentsInMemory(), SolverMemory()
    found = snapshot(documents, operator("a"), a=document("a", "1.0.0"))
    changed = snapshot(documents, operator("a"), a=document("a", "1.0.0", "2.0.0"))
    assert PendingComponents(found, documents, memory).solve_next(lambda: True) == ()
    assert memory.paused
    pending = PendingComponents(changed, documents, memory)
    assert not memory.paused
    assert pending.solve_next() == solve_components(changed, documents)


def answers(packages: dict[str, Any], *operators: OperatorRequest) -> dict[str, Answer]:
    """The answers by Operator, the senior one first."""
    documents = DocumentsInMemory()
    whole = replace(snapshot(documents, *operators, **packages), is_ordered=True)
    return {each.operator: each for each in solve_components(whole, documents)}


EXCLUSIONS = {
    "a": document("a", "1.0.0", properties=[package_required("b", ">=1.1.0")]),
    "b": document("b", "1.0.0", "1.1.0", "1.2.0"),
}


def test_a_dependency_is_chosen_without_the_versions_that_its_operator_excludes() -> None:
    dependency = operator("b", is_dependency=True, excluded_versions=("1.2.0+build",))
    found = answers(EXCLUSIONS, operator("a"), dependency)
    assert [(each.package, each.version) for each in found["a"].members] == [("a", "1.0.0"), ("b", "1.1.0")]
    assert "1.2.0 is available too, but spec.excludedVersions has it" in found["b"].text


def test_a_dependency_of_which_all_fitting_versions_are_excluded_is_named() -> None:
    dependency = operator("b", is_dependency=True, excluded_versions=("1.1.0", "1.2.0"))
    found = answers(EXCLUSIONS, operator("a"), dependency)["a"]
    assert found.kind is AnswerKind.CONFLICT
    assert 'and 1.2.0 would fit, but Operator "b" excludes it (spec.excludedVersions)' in found.text


def test_a_conflict_names_the_excluded_version_that_would_fit() -> None:
    packages = {
        "a": document("a", "1.0.0", properties=[package_required("b", ">=1.1.0")]),
        "b": document("b", "1.0.0", "1.1.0"),
    }
    running = RecordedBundle("b.v1.0.0", "registry/b:1.0.0", "b", "1.0.0", "community", "stable", "[]")
    found = answers(
        packages, operator("b", version="1.0.0", running=running), operator("a", excluded_versions=("9.9.9",))
    )
    assert found["a"].kind is AnswerKind.CONFLICT
    assert "excludedVersions" not in found["a"].text, "no version that is excluded would fit"
    packages["a"] = document("a", "1.0.0", "2.0.0")
    packages["a"]["bundles"][0]["properties"] = [package_required("b", ">=1.1.0")]
    found = answers(
        packages, operator("b", version="1.0.0", running=running), operator("a", excluded_versions=("2.0.0",))
    )
    assert "2.0.0 of channel stable would fit, but spec.excludedVersions has it" in found["a"].text
