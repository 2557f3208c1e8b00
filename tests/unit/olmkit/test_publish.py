"""The pure parts of publishing: which Event a transition becomes, and what counts as a different status."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olmkit.conditions import ConditionValue, Transition
from olmkit.publish import NOTE_LIMIT, Reporter, make_event, severity, without_empties, worth_telling

NOW = datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC)


def about(version: str = "7", name: str = "community", namespace: str | None = None) -> dict[str, Any]:
    metadata = {"name": name, "uid": "u", "resourceVersion": version} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": metadata}


def event(of: dict[str, Any], **changed: str) -> dict[str, Any]:
    facts: dict[str, Any] = {"type": "Ready", "status": "False", "reason": "Broken", "message": "m", **changed}
    return make_event(of, Transition(**facts), "Warning", Reporter("controller", "pod-1"), NOW)


@pytest.mark.parametrize(
    ("type", "status", "reason", "reconciling", "expected"),
    [
        pytest.param("Ready", "True", "Succeeded", False, "Normal", id="ready"),
        pytest.param("Ready", "False", "Unhealthy", False, "Warning", id="not ready, and nothing is under way"),
        pytest.param("Ready", "False", "Unpacking", True, "Normal", id="not ready yet"),
        pytest.param("Unpacked", "False", "UnpackFailed", True, "Warning", id="failed, and tried again"),
        pytest.param("Ready", "Unknown", "Unknown", False, "Normal", id="not known"),
        pytest.param("Stalled", "True", "Blocked", False, "Warning", id="stalled"),
        pytest.param("Reconciling", "True", "Retrying", True, "Normal", id="at work"),
        pytest.param("PackageDeprecated", "True", "Deprecated", False, "Warning", id="deprecated"),
        pytest.param("PackageDeprecated", "False", "NotDeprecated", False, "Normal", id="not deprecated"),
    ],
)
def test_severity(type: str, status: ConditionValue, reason: str, reconciling: bool, expected: str) -> None:
    assert severity(Transition(type, status, reason, "m"), reconciling=reconciling) == expected


@pytest.mark.parametrize(
    ("type", "status", "kind", "is_new", "expected"),
    [
        pytest.param("Ready", "True", "Normal", True, True, id="good from the first sight on"),
        pytest.param("Ready", "False", "Normal", True, False, id="not yet, at first sight"),
        pytest.param("Ready", "False", "Warning", True, True, id="failed at first sight"),
        pytest.param("Ready", "False", "Normal", False, True, id="was good, and work is under way"),
        pytest.param("Reconciling", "True", "Normal", False, False, id="work is under way: told by the others"),
    ],
)
def test_worth_telling(type: str, status: ConditionValue, kind: str, is_new: bool, expected: bool) -> None:
    assert worth_telling(Transition(type, status, "R", "m"), kind, is_new=is_new) is expected


def test_an_event_of_a_cluster_scoped_object_lives_in_default() -> None:
    made = event(about())
    assert made["metadata"]["namespace"] == "default"
    assert "namespace" not in made["regarding"]
    assert (made["type"], made["reason"], made["note"]) == ("Warning", "Broken", "m")
    assert made["eventTime"] == "2026-01-02T03:04:05.000006Z"


def test_an_event_of_a_namespaced_object_lives_beside_it() -> None:
    made = event(about(namespace="space"))
    assert made["metadata"]["namespace"] == made["regarding"]["namespace"] == "space"


def test_a_long_message_is_cut_and_a_long_name_fits() -> None:
    made = event(about(name="n" * 253), message="é" * 2000)
    assert len(made["note"].encode()) <= NOTE_LIMIT
    assert len(made["metadata"]["name"]) <= 253


def test_the_same_transition_of_the_same_version_is_one_event_and_any_other_is_another() -> None:
    names = [
        event(about())["metadata"]["name"],
        event(about("8"))["metadata"]["name"],
        event(about(), reason="Other")["metadata"]["name"],
        event(about(), status="True")["metadata"]["name"],
        event(about(), type="Serving")["metadata"]["name"],
    ]
    assert len(set(names)) == len(names)
    assert event(about(), message="other")["metadata"]["name"] == names[0]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param({"a": [], "b": 1}, {"b": 1}, id="an empty list"),
        pytest.param({"a": {"b": {}}}, {}, id="what is empty without its empties"),
        pytest.param(
            {"a": "", "b": 0, "c": False}, {"a": "", "b": 0, "c": False}, id="empty text, zero and False stay"
        ),
        pytest.param({"a": [{"b": []}, 1]}, {"a": [{}, 1]}, id="items of a list stay"),
    ],
)
def test_without_empties(value: object, expected: object) -> None:
    assert without_empties(value) == expected


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
)


@given(JSON)
def test_taking_empties_away_twice_is_once(value: object) -> None:
    assert without_empties(without_empties(value)) == without_empties(value)
