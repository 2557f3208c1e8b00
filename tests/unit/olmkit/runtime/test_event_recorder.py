"""The Events that are written: their fields, how repetitions are counted, and how many an object has."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from olmkit.api.conditions import PendingEvent
from olmkit.runtime.event_recorder import (
    BURST,
    MAX_EVENT_MESSAGE_BYTES,
    MAX_OBJECTS,
    SECONDS_PER_EVENT,
    EventLimit,
    Reporter,
    count_patch,
    make_event,
)

NOW = datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC)


def about(version: str = "7", name: str = "community", namespace: str | None = None) -> dict[str, Any]:
    metadata = {"name": name, "uid": "u", "resourceVersion": version} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": metadata}


def event(of: dict[str, Any], **changed: str) -> dict[str, Any]:
    facts: dict[str, Any] = {"type": "Warning", "reason": "Broken", "message": "m", "action": "Ready", **changed}
    return make_event(of, PendingEvent(**facts), Reporter("controller", "pod-1"), NOW)


def test_an_event_has_the_fields_that_kubectl_sorts_and_counts_by() -> None:
    made = event(about())
    assert made["firstTimestamp"] == made["lastTimestamp"] == "2026-01-02T03:04:05Z"
    assert (made["apiVersion"], made["count"], made["source"]) == ("v1", 1, {"component": "controller"})


def test_an_event_of_a_cluster_scoped_object_is_in_default() -> None:
    made = event(about())
    assert made["metadata"]["namespace"] == "default"
    assert "namespace" not in made["involvedObject"]
    assert (made["type"], made["reason"], made["message"]) == ("Warning", "Broken", "m")


def test_an_event_of_a_namespaced_object_is_in_its_namespace() -> None:
    made = event(about(namespace="space"))
    assert made["metadata"]["namespace"] == made["involvedObject"]["namespace"] == "space"


def test_long_messages_and_names_are_truncated() -> None:
    made = event(about(name="n" * 253), message="é" * 2000)
    assert len(made["message"].encode()) <= MAX_EVENT_MESSAGE_BYTES
    assert len(made["metadata"]["name"]) <= 253


def test_a_message_is_one_line_of_printable_characters() -> None:
    assert event(about(), message="one\r\ntwo \x1b[31m")["message"] == r"one two \x1b[31m"


def test_a_repetition_has_the_same_name_and_anything_else_another() -> None:
    names = [
        event(about())["metadata"]["name"],
        event(about(), reason="Other")["metadata"]["name"],
        event(about(), message="other")["metadata"]["name"],
        event(about(), type="Normal")["metadata"]["name"],
        event(about(), action="Serving")["metadata"]["name"],
    ]
    assert len(set(names)) == len(names)
    assert event(about("8"))["metadata"]["name"] == names[0]


def test_a_repetition_is_counted_once_per_version_of_the_object() -> None:
    known = {**event(about()), "metadata": {"resourceVersion": "20"}}
    assert count_patch(known, event(about())) is None
    assert count_patch(known, event(about("8"))) == {
        "metadata": {"resourceVersion": "20"},
        "count": 2,
        "lastTimestamp": "2026-01-02T03:04:05Z",
        "involvedObject": {"resourceVersion": "8"},
    }


def test_an_object_has_a_number_of_events_at_once_and_one_from_time_to_time_after_that() -> None:
    limit = EventLimit()
    assert [limit.permits("a", 5.0) for _ in range(BURST + 2)] == [True] * BURST + [False] * 2
    assert limit.permits("b", 5.0), "each object has its own"
    assert not limit.permits("a", 5.0 + SECONDS_PER_EVENT * 0.9)
    assert limit.permits("a", 5.0 + SECONDS_PER_EVENT * 1.1)
    assert not limit.permits("a", 5.0 + SECONDS_PER_EVENT * 1.2)
    later = SECONDS_PER_EVENT * 1000
    assert [limit.permits("a", later) for _ in range(BURST + 1)] == [True] * BURST + [False]


def test_the_objects_with_the_latest_events_are_remembered() -> None:
    limit = EventLimit()
    for _ in range(BURST):
        limit.permits("first", 0.0)
    for number in range(MAX_OBJECTS - 1):
        limit.permits(str(number), 0.0)
    assert not limit.permits("first", 0.0)
    for number in range(MAX_OBJECTS):
        limit.permits(f"other-{number}", 0.0)
    assert limit.permits("first", 0.0)
