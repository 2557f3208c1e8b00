"""What an OperatorCondition says about upgrades, by the rules of OLM v0, and which conditions are copied."""

from __future__ import annotations

from typing import Any

import pytest

from rukpak.bundledeployment.operator_condition import condition_state

TIME = "2026-01-01T00:00:00Z"
OUTDATED = 'The operatorcondition status "Upgradeable"="{}" is outdated'


def condition(status: str, message: str = "", *, observed: int | None = 3, kind: str = "Upgradeable") -> dict[str, Any]:
    known = {"observedGeneration": observed} if observed is not None else {}
    return {"type": kind, "status": status, "reason": "R", "message": message, "lastTransitionTime": TIME, **known}


def state_of(
    status: list[Any] | None = None, *, overrides: Any = None, spec: Any = None, managers: list[Any] | None = None
) -> Any:
    """The state of an object of generation 3."""
    metadata = {"name": "c", "namespace": "ns", "generation": 3, "managedFields": managers or []}
    given = {"overrides": overrides, "conditions": spec}
    return condition_state({"metadata": metadata, "spec": given, "status": {"conditions": status}})


@pytest.mark.parametrize(
    ("found", "hold"),
    [
        pytest.param(state_of(), "", id="no condition"),
        pytest.param(state_of([condition("False", kind="Other")]), "", id="a condition of another type"),
        pytest.param(state_of([condition("True")]), "", id="upgradeable"),
        pytest.param(state_of([condition("Unknown", "who knows")]), "", id="not known"),
        pytest.param(
            state_of([condition("False", "migrating")]),
            "The operator is not upgradeable: migrating",
            id="not upgradeable",
        ),
        pytest.param(
            state_of([condition("True", observed=2)]), OUTDATED.format("True"), id="upgradeable before the last change"
        ),
        pytest.param(
            state_of([condition("False", observed=2)]), OUTDATED.format("False"), id="not upgradeable before that"
        ),
        pytest.param(
            state_of([condition("Unknown", observed=2)]), OUTDATED.format("Unknown"), id="not known before that"
        ),
        pytest.param(state_of([condition("True", observed=None)]), OUTDATED.format("True"), id="of no generation"),
        pytest.param(state_of([condition("True", observed=4)]), "", id="of a newer generation"),
        pytest.param(
            state_of([condition("False", "migrating")], overrides=[condition("True", observed=None)]),
            "",
            id="overridden",
        ),
        pytest.param(
            state_of([condition("True", observed=2)], overrides=[condition("True", observed=None)]),
            "",
            id="outdated and overridden",
        ),
        pytest.param(
            state_of([condition("True")], overrides=[condition("False", "change freeze")]),
            "The operator is not upgradeable: change freeze",
            id="held by an override",
        ),
        pytest.param(
            state_of([condition("True")], overrides=[condition("Unknown")]),
            "The operator is not upgradeable:",
            id="held by an override that is not known",
        ),
        pytest.param(
            state_of([condition("False", "m")], overrides=[condition("True", kind="Other")]),
            "The operator is not upgradeable: m",
            id="an override of another type",
        ),
        pytest.param(
            state_of([condition("False", "a\nb\x1b[31m\u202e")]),
            "The operator is not upgradeable: a b\\x1b[31m\\u202e",
            id="a message is one line of printable characters",
        ),
        pytest.param(state_of(["no condition"], overrides="nothing"), "", id="another form"),
    ],
)
def test_what_holds_an_upgrade(found: Any, hold: str) -> None:
    assert found.hold == hold


def test_a_long_message_is_truncated() -> None:
    assert len(state_of([condition("False", "ä" * 32_000)]).hold.encode()) <= 1024


def test_copies_that_would_not_be_stored_are_left_out_and_upgradeable_is_not() -> None:
    many = [condition("True", "m" * 32_000, kind=f"Kind{number}") for number in range(30)]
    copied = state_of(spec=[*many, condition("False", "m" * 32_000)]).copied
    assert copied[0]["type"] == "Upgradeable"
    assert 5 < len(copied) < 10


def written_by(manager: str, fields: Any) -> list[Any]:
    return [{"manager": manager, "subresource": "status", "fieldsV1": {"f:status": {"f:conditions": fields}}}]


LIST: dict[str, Any] = {}
ITEM: dict[str, Any] = {'k:{"type":"Upgradeable"}': {}}


@pytest.mark.parametrize(
    ("found", "copied"),
    [
        pytest.param(state_of(), None, id="nothing to copy"),
        pytest.param(
            state_of(spec=[condition("False", "m", observed=None)]),
            (condition("False", "m"),),
            id="the first condition",
        ),
        pytest.param(state_of([condition("True")], spec=[condition("True", observed=0)]), None, id="it is copied"),
        pytest.param(
            state_of([condition("True", observed=2)], spec=[condition("True", observed=0)]),
            (condition("True"),),
            id="the object has changed since",
        ),
        pytest.param(
            state_of([condition("True")], spec=[condition("False", observed=0)]), (condition("False"),), id="it changed"
        ),
        pytest.param(
            state_of([condition("True")], spec=[condition("True", "m", observed=0)]),
            (condition("True", "m"),),
            id="its message changed",
        ),
        pytest.param(
            state_of([condition("True", kind="Other"), condition("True")], spec=[condition("True")]),
            None,
            id="a condition that others wrote stays",
        ),
        pytest.param(
            state_of([condition("True")], managers=written_by("operator", ITEM)), None, id="an operator that uses v1"
        ),
        pytest.param(
            state_of([condition("True")], managers=written_by("rukpak:ship", ITEM)), (), id="the original was removed"
        ),
        pytest.param(
            state_of([condition("True")], managers=written_by("rukpak:ship", LIST)),
            (),
            id="the original was removed, and the list is written as a whole",
        ),
        pytest.param(
            state_of([condition("True", kind="Other")], managers=written_by("rukpak:ship", ITEM)),
            None,
            id="only another condition was copied",
        ),
    ],
)
def test_what_is_copied(found: Any, copied: Any) -> None:
    assert found.copied == copied
