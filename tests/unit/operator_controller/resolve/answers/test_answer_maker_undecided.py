"""What Operators say when the solver has reached a limit."""

from __future__ import annotations

import pytest

from operator_controller.resolve.answers import component_answers
from operator_controller.resolve.answers.answer import AnswerKind
from operator_controller.resolve.answers.answer_maker import undecided_message
from operator_controller.resolve.answers.component_solver import solve_components
from operator_controller.resolve.solver.budget import Budget
from operator_controller.resolve.solver.optimum import Level
from tests.bundle_properties import package_required
from tests.unit.operator_controller.resolve.answers.test_component_solver import document, operator, snapshot
from tests.unit.operator_controller.resolve.documents.in_memory import DocumentsInMemory


@pytest.mark.parametrize(
    ("level", "operators", "message"),
    [
        pytest.param(
            Level.SATISFIED,
            1,
            "the solver reached its limit before it had proved whether this Operator can be installed or upgraded together with "
            "all others: nothing changes; choose a version or a channel of this Operator to leave fewer choices",
            id="one Operator",
        ),
        pytest.param(
            Level.ASKED_VERSIONS,
            3000,
            "the solver reached its limit before it had proved which versions are the best for each of the 3,000 Operators that "
            "affect each other: nothing changes for any of them; choose a version or a channel of some of them to leave "
            "fewer choices",
            id="versions of Operators",
        ),
        pytest.param(
            Level.OTHER_VERSIONS,
            2,
            "the solver reached its limit before it had proved which versions are the best for the packages that each of the 2 "
            "Operators that affect each other requires: nothing changes for any of them; request versions of some "
            "of these packages to leave fewer choices",
            id="versions of dependencies",
        ),
    ],
)
def test_what_is_not_proved_is_said_with_what_to_do(level: Level, operators: int, message: str) -> None:
    assert undecided_message(level, operators) == message


def test_every_level_has_a_message() -> None:
    assert len({undecided_message(each, 2) for each in Level}) == len(Level)


def test_an_exhausted_limit_leaves_everything_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    documents = DocumentsInMemory()
    needs = {"properties": [package_required("b")]}
    packages = {"a": document("a", "1.0.0", "2.0.0", **needs), "b": document("b", "1.0.0", "2.0.0")}
    found = snapshot(documents, operator("a"), **packages)
    monkeypatch.setattr(component_answers, "BUDGET", Budget(calls=0))
    (answer,) = solve_components(found, documents)
    assert (answer.kind, answer.bundle) == (AnswerKind.UNDECIDED, None)
    assert answer.message == undecided_message(Level.SATISFIED, 1)
