"""The outcome of the Operators of the full-catalog demo."""

from typing import Any

from devcluster.demo.full_catalog import Outcome, _refusals, operator_name
from devcluster.demo.printer import shortened
from devcluster.watch import Event


def _operator(name: str, **statuses: str) -> dict[str, Any]:
    conditions = [
        {"type": type_, "status": status, "reason": "R", "message": f"{name} says so", "observedGeneration": 1}
        for type_, status in statuses.items()
    ]
    return {"metadata": {"name": name, "generation": 1}, "status": {"conditions": conditions}}


OBJECTS = {
    "a": _operator("a", Installed="True", Ready="True"),
    "b": _operator("b", Installed="Unknown", Ready="False", Stalled="True"),
    "c": _operator("c", Installed="Unknown", Ready="False", Reconciling="True"),
}


def test_installed_operators_are_counted_and_the_others_have_a_reason() -> None:
    outcome = Outcome(["a", "b", "d"], refused={"d": "d is no name"}, objects=OBJECTS)
    assert outcome.having("Installed") == ["a"]
    assert outcome.reasons() == {"b": "b says so", "d": "d is no name"}
    assert outcome.is_settled()


def test_a_progressing_operator_is_not_settled() -> None:
    assert not Outcome(["a", "c"], objects=OBJECTS).is_settled()


def test_a_missing_operator_is_not_settled_and_is_reported() -> None:
    outcome = Outcome(["e"], objects=OBJECTS)
    assert not outcome.is_settled()
    assert outcome.reasons() == {"e": "it does not exist"}


def test_the_time_to_installed_ends_with_the_first_installation() -> None:
    outcome = Outcome(["a"])
    for at, installed in ((10.0, "Unknown"), (12.5, "True"), (20.0, "True")):
        outcome.record(Event(at, "a", _operator("a", Installed=installed), int(at)))
    assert outcome.seconds == {"a": 2.5}


def test_a_refusal_is_assigned_to_the_operator_that_it_names() -> None:
    words = 'Error from server: The Operator "b" is invalid: spec.packageName: too long\n'
    assert _refusals(words, ["a", "b"]) == {"b": words.strip()}


def test_names_are_matched_completely() -> None:
    assert operator_name("x" * 44 + "-y") == "x" * 44
    assert len(operator_name("y" * 60)) == 45


def test_a_long_message_is_shortened_to_one_line() -> None:
    assert shortened("a\nb  c") == "a b c"
    assert shortened("x" * 20, 10) == "x" * 9 + "…"
