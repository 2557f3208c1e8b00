"""How many Events an object has."""

from __future__ import annotations

from olmkit.runtime.event_limit import BURST, MAX_OBJECTS, SECONDS_PER_EVENT, EventLimit


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
