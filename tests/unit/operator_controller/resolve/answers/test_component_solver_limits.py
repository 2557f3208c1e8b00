"""Components that exceed a limit as a whole are answered without being solved; all others are solved."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from operator_controller.resolve.answers import component_answers
from operator_controller.resolve.answers.answer import Answer, AnswerKind
from operator_controller.resolve.answers.component_solver import PendingComponents, SolverMemory, solve_components
from operator_controller.resolve.selection import components
from operator_controller.resolve.snapshot.cluster_snapshot import (
    CatalogSource,
    ClusterSnapshot,
    OperatorRequest,
    RecordedBundle,
)
from operator_controller.resolve.solver.budget import Budget
from tests.bundle_properties import package_required
from tests.unit.operator_controller.resolve.answers.test_component_solver import document, operator, snapshot
from tests.unit.operator_controller.resolve.documents.in_memory import DocumentsInMemory


def solved(documents: DocumentsInMemory, *operators: str, **packages: Any) -> dict[str, Answer]:
    whole = snapshot(documents, *map(operator, operators), **packages)
    return {each.operator: each for each in solve_components(whole, documents)}


def requiring(package: str, *names: str, version: str = "1.0.0") -> dict[str, Any]:
    return document(package, version, properties=[package_required(name, ">=0.0.0") for name in names])


def test_a_package_that_requires_too_many_packages_is_too_large() -> None:
    names = [f"n{number}" for number in range(1_001)]
    found = solved(
        DocumentsInMemory(), "a", "b", a=requiring("a", *names), b=requiring("b", "c"), c=document("c", "1.0.0")
    )
    assert found["a"].kind is AnswerKind.TOO_LARGE
    assert (
        "its bundles require 1,001 different packages and kinds, and at most 1,000 are resolved; ask its publisher to remove old "
        "entries"
    ) in found["a"].text
    assert found["b"].kind is AnswerKind.CHOSEN


def test_an_operator_that_leads_to_too_many_packages_is_refused_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(components, "MAX_REACHED_PACKAGES", 20)
    chain = {f"p{number}": requiring(f"p{number}", f"p{number + 1}") for number in range(25)}
    found = solved(DocumentsInMemory(), "p0", "b", **chain, b=requiring("b", "c"), c=document("c", "1.0.0"))
    assert found["p0"].kind is AnswerKind.UNDECIDED
    assert found["p0"].message.startswith(
        "the resolution of package p0 was ended: its requirements lead to more than 20 packages; nothing changes"
    )
    assert found["b"].kind is AnswerKind.CHOSEN


def test_rules_that_take_too_long_to_be_compiled_refuse_their_component_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(components, "MAX_RULES_LENGTH", 100)
    c = {"package": {"packageName": "c", "versionRange": ">=0.0.0"}}

    def ruled(package: str, *rules: str) -> dict[str, Any]:
        values = [{"all": {"constraints": [c, {"cel": {"rule": rule}}]}} for rule in rules]
        return document(package, "1.0.0", properties=[{"type": "olm.constraint", "value": value} for value in values])

    d = document("d", "1.0.0")
    found = solved(DocumentsInMemory(), "a", "d", a=ruled("a", "true", "1 == 1"), c=document("c", "1.0.0"), d=d)
    assert [each.kind for each in found.values()] == [AnswerKind.CHOSEN, AnswerKind.CHOSEN]
    long = ["!" * 60 + "true", "!" * 62 + "true"]
    found = solved(DocumentsInMemory(), "a", "d", a=ruled("a", *long), c=document("c", "1.0.0"), d=d)
    assert [each.kind for each in found.values()] == [AnswerKind.UNDECIDED, AnswerKind.CHOSEN]
    assert "its bundles require rules in CEL of 130 characters, and at most 100 are compiled" in found["a"].message


KIND = {"group": "example.com", "version": "v1", "kind": "Kind"}
NEEDS_KIND = {"type": "olm.gvk.required", "value": KIND}
OWNS_KIND = {"type": "olm.gvk", "value": KIND}
BARE_RULE = {"type": "olm.constraint", "value": {"cel": {"rule": "true"}}}


def with_hostile_catalog(documents: DocumentsInMemory, *operators: OperatorRequest) -> ClusterSnapshot:
    """A catalog of low priority whose package provides a kind that is required, and leads to everything and to far too much."""
    good = {
        "a": document("a", "1.0.0", properties=[NEEDS_KIND]),
        "b": document("b", "1.0.0"),
        "k": document("k", "1.0.0", properties=[OWNS_KIND]),
        "m": requiring("m", "only-there"),
    }
    hostile = {f"p{number}": requiring(f"p{number}", f"p{number + 1}") for number in range(25)}
    hostile["h"] = document("h", "1.0.0", properties=[OWNS_KIND, BARE_RULE, package_required("p0")])
    hostile["only-there"] = document("only-there", "1.0.0")
    sources = [
        CatalogSource(name, priority, content=documents.add(packages), package_names=tuple(packages))
        for name, priority, packages in (("good", 0, good), ("hostile", -1, hostile))
    ]
    return ClusterSnapshot(operators, tuple(sources))


@pytest.mark.parametrize("limit", ["packages", "steps", "process"])
def test_a_catalog_of_which_nobody_requests_anything_keeps_nobody_from_being_resolved(
    limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents, memory = DocumentsInMemory(), SolverMemory()
    whole = with_hostile_catalog(documents, *map(operator, "abm"))
    exceeded: dict[str, str] = {}
    if limit == "packages":
        monkeypatch.setattr(components, "MAX_REACHED_PACKAGES", 20)
    elif limit == "steps":
        monkeypatch.setattr(component_answers, "BUDGET", Budget(clauses=1))
    else:
        exceeded[PendingComponents(whole, documents, SolverMemory()).next_component] = "it needs too much memory"
    for _ in range(2):  # the second time from what is known
        pending = PendingComponents(whole, documents, memory, exceeded)
        answers = [*pending.known]
        while pending.next_component:
            answers += pending.solve_next()
        found = {each.operator: each for each in answers}
        assert len(found) == len(answers) == 3
        assert [found[name].kind for name in "abm"] == [AnswerKind.CHOSEN, AnswerKind.CHOSEN, AnswerKind.UNDECIDED]
        assert [each.package for each in found["a"].to_install] == ["k"]
        assert "nothing changes" in found["m"].message
    assert not PendingComponents(whole, documents, memory, exceeded).next_component


def test_a_catalog_of_which_a_package_is_requested_is_not_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(components, "MAX_REACHED_PACKAGES", 20)
    documents = DocumentsInMemory()
    whole = with_hostile_catalog(documents, *map(operator, ("a", "only-there")))
    assert {each.kind for each in solve_components(whole, documents)} == {AnswerKind.UNDECIDED}


def test_what_may_still_be_needed_is_not_deleted_while_a_component_is_not_solved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(components, "MAX_REACHED_PACKAGES", 20)
    documents = DocumentsInMemory()
    k = RecordedBundle("k.v1.0.0", "registry/k:1.0.0", "k", "1.0.0", "good", "stable", "[]")
    whole = with_hostile_catalog(documents, operator("m"), operator("a"), operator("k", running=k, is_dependency=True))
    found = {each.operator: each.kind for each in solve_components(whole, documents)}
    assert found["a"] is AnswerKind.CHOSEN
    alone = replace(whole, operators=(whole.operators[0], whole.operators[2]))
    found = {each.operator: each.kind for each in solve_components(alone, documents)}
    assert AnswerKind.UNNEEDED not in found.values()
