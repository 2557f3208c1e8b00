"""Rules in CEL of several packages: what they cost is counted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import orjson
import pytest

from operator_controller.resolve.answers.answer import AnswerKind
from operator_controller.resolve.answers.component_solver import solve_components
from operator_controller.resolve.requirements import rule_evaluations
from operator_controller.resolve.snapshot.cluster_snapshot import RecordedBundle
from tests.unit.operator_controller.resolve.answers.test_component_solver import document, operator, snapshot
from tests.unit.operator_controller.resolve.documents.in_memory import DocumentsInMemory

LOOPS = "properties.exists(a, properties.exists(b, a.type == 'x{}'))"


def with_rules(package: str, *rules: str, wrapped_in: str = "") -> dict[str, Any]:
    values: list[dict[str, Any]] = [{"cel": {"rule": rule}} for rule in rules]
    values = [{wrapped_in: {"constraints": [value]}} if wrapped_in else value for value in values]
    return document(package, "1.0.0", properties=[{"type": "olm.constraint", "value": value} for value in values])


def test_rules_that_cost_too_much_refuse_their_own_package_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    properties = [{"type": f"t{each}", "value": each} for each in range(20)]
    packages = {
        "a": with_rules("a", *map(LOOPS.format, range(50))),
        "b": with_rules("b", "properties.exists(p, p.type == 't1')"),
        "c": document("c", *(f"1.0.{each}" for each in range(10)), properties=properties),
        "d": document("d", "1.0.0"),
    }
    documents = DocumentsInMemory()
    whole = snapshot(documents, *map(operator, ("a", "b", "d")), **packages)
    monkeypatch.setattr(rule_evaluations, "MAX_PACKAGE_RULES_COST", 4_000_000)
    first, *others = solve_components(whole, documents)
    assert first.kind is AnswerKind.CONFLICT
    assert first.message.endswith(
        "which is not evaluated: rules in CEL cost more than resolution permits; ask its publisher for fewer or simpler rules"
    )
    assert [each.kind for each in others] == [AnswerKind.CHOSEN, AnswerKind.CHOSEN]
    reversed_whole = replace(whole, operators=tuple(reversed(whole.operators)))
    assert solve_components(reversed_whole, documents) == (first, *others)


def test_an_exclusion_by_rules_that_cost_too_much_excludes_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    packages = {
        "a": with_rules("a", *map(LOOPS.format, range(50)), wrapped_in="not"),
        "b": document("b", "1.0.0"),
    }
    documents = DocumentsInMemory()
    whole = snapshot(documents, operator("b"), operator("c"), operator("a", created="2026-01-02"), **packages)
    assert [each.kind for each in solve_components(whole, documents)][:2] == [AnswerKind.CHOSEN, AnswerKind.CHOSEN]
    monkeypatch.setattr(rule_evaluations, "MAX_PACKAGE_RULES_COST", 0)
    assert [each.kind for each in solve_components(whole, documents)][:2] == [AnswerKind.CONFLICT, AnswerKind.CHOSEN]


def runs(package: str, *properties: Any) -> RecordedBundle:
    image = f"registry/{package}:1.0.0"
    recorded = orjson.dumps(properties).decode()
    return RecordedBundle(f"{package}.v1.0.0", image, package, "1.0.0", "community", "stable", recorded)


def test_what_runs_stays_while_its_rules_cost_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    rule = {"type": "olm.constraint", "value": {"cel": {"rule": "properties.exists(p, p.value.packageName == 'c')"}}}
    packages = {"a": document("a", "1.0.0"), "c": document("c", "1.0.0"), "d": document("d", "1.0.0")}
    documents = DocumentsInMemory()
    whole = snapshot(
        documents,
        operator("a", running=runs("a", rule)),
        operator("c", running=runs("c"), is_deleting=True),
        operator("d", running=runs("d"), is_deleting=True),
        **packages,
    )
    before = {each.operator: (each.kind, each.needed_by) for each in solve_components(whole, documents)}
    assert before == {
        "a": (AnswerKind.CHOSEN, ()),
        "c": (AnswerKind.DELETING, ("a",)),
        "d": (AnswerKind.DELETING, ()),
    }
    monkeypatch.setattr(rule_evaluations, "MAX_PACKAGE_RULES_COST", 0)
    found = {each.operator: each for each in solve_components(whole, documents)}
    assert {name: (each.kind, each.needed_by) for name, each in found.items()} == {
        "a": (AnswerKind.UNDECIDED, ()),
        "c": (AnswerKind.DELETING, ("a",)),
        "d": (AnswerKind.DELETING, ("a",)),
    }
    assert "the rules in CEL that what is installed requires cost more than resolution permits" in found["a"].message


@pytest.mark.parametrize("constraint", ["plain", "not"])
def test_the_present_state_is_a_solution_while_nothing_else_is_evaluated(
    constraint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    value: dict[str, Any] = {"cel": {"rule": "properties.exists(p, p.value.packageName == 'c')"}}
    if constraint == "not":
        value = {"not": {"constraints": [{"cel": {"rule": "properties.exists(p, p.value.packageName == 'x')"}}]}}
    documents = DocumentsInMemory()
    whole = snapshot(
        documents,
        operator("a", running=runs("a", {"type": "olm.constraint", "value": value})),
        operator("c", running=runs("c")),
        **{"a": document("a", "1.0.0"), "c": document("c", "1.0.0"), "x": document("x", "1.0.0")},
    )
    monkeypatch.setattr(rule_evaluations, "MAX_RULES_COST", 0)
    assert [each.kind for each in solve_components(whole, documents)] == [AnswerKind.CHOSEN, AnswerKind.CHOSEN]
