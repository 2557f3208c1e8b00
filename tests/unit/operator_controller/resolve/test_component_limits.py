"""Components that exceed a limit as a whole are answered without being solved; all others are solved."""

from __future__ import annotations

from typing import Any

import pytest

from operator_controller.resolve import component_part, components
from operator_controller.resolve.answer import Answer, AnswerKind
from operator_controller.resolve.component_solver import solve_components
from tests.bundle_properties import package_required
from tests.unit.operator_controller.resolve.documents import DocumentsInMemory, TextsInMemory
from tests.unit.operator_controller.resolve.test_component_solver import document, operator, snapshot


def solved(documents: DocumentsInMemory, *operators: str, **packages: Any) -> dict[str, Answer]:
    whole = snapshot(documents, *map(operator, operators), **packages)
    return {each.operator: each for each in solve_components(whole, documents)}


def requiring(package: str, *names: str, version: str = "1.0.0") -> dict[str, Any]:
    return document(package, version, properties=[package_required(name, ">=0.0.0") for name in names])


@pytest.mark.parametrize("documents", [DocumentsInMemory, TextsInMemory])
def test_a_package_that_requires_too_many_packages_is_too_large(documents: type[DocumentsInMemory]) -> None:
    names = [f"n{number}" for number in range(1_001)]
    found = solved(documents(), "a", "b", a=requiring("a", *names), b=requiring("b", "c"), c=document("c", "1.0.0"))
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
        "the resolution of package p0 was ended: its requirements lead to more than 20,000 packages; nothing changes"
    )
    assert found["b"].kind is AnswerKind.CHOSEN


def test_rules_that_take_too_long_to_be_compiled_refuse_their_component_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(component_part, "MAX_RULES_LENGTH", 100)
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
