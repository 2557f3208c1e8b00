"""merge_conditions and cut."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olmkit.api.conditions import DesiredCondition, Transition, format_timestamp, merge_conditions
from olmkit.api.meta import MAX_MESSAGE_BYTES, Condition
from olmkit.gocompat.text import printable_lines, truncate

THEN = "2026-01-01T00:00:00Z"
NOON = datetime(2026, 1, 1, 12, 0, 0, 900_000, tzinfo=UTC)
NOW = "2026-01-01T12:00:00Z"


def had(status: str = "True", reason: str = "Fine", message: str = "fine", type: str = "Ready") -> Condition:
    return Condition.load(
        {
            "type": type,
            "status": status,
            "reason": reason,
            "message": message,
            "observedGeneration": 1,
            "lastTransitionTime": THEN,
        }
    )


@pytest.mark.parametrize(
    ("old", "want", "moved_at", "reported"),
    [
        pytest.param([], DesiredCondition("Ready", "True", "Fine", "fine"), NOW, True, id="a new type is a transition"),
        pytest.param(
            [had()], DesiredCondition("Ready", "True", "Fine", "fine"), THEN, False, id="nothing new: time stays"
        ),
        pytest.param(
            [had()],
            DesiredCondition("Ready", "True", "Fine", "better"),
            THEN,
            False,
            id="a new message is no transition",
        ),
        pytest.param(
            [had()],
            DesiredCondition("Ready", "True", "Other", "fine"),
            THEN,
            True,
            id="a new reason is a transition, the time stays",
        ),
        pytest.param(
            [had()],
            DesiredCondition("Ready", "False", "Fine", "fine"),
            NOW,
            True,
            id="a status that flips moves the time",
        ),
        pytest.param(
            [had("Unknown")],
            DesiredCondition("Ready", "False", "Bad", "bad"),
            NOW,
            True,
            id="Unknown to False is a flip",
        ),
        pytest.param(
            [had(type="Other")],
            DesiredCondition("Ready", "True", "Fine", "x"),
            NOW,
            True,
            id="other types do not count",
        ),
    ],
)
def test_time_and_transition(old: list[Condition], want: DesiredCondition, moved_at: str, reported: bool) -> None:
    (condition,), transitions = merge_conditions(old, [want], 7, NOON)
    assert condition.last_transition_time == moved_at
    assert condition.observed_generation == 7
    assert (condition.type, condition.status, condition.reason, condition.message) == (
        *(want.type, want.status, want.reason),
        want.message,
    )
    assert transitions == ((Transition(want.type, want.status, want.reason, want.message),) if reported else ())


def test_other_types_are_removed_and_the_rest_is_sorted() -> None:
    wanted = [DesiredCondition("Serving", "True", "A", "a"), DesiredCondition("Ready", "True", "B", "b")]
    conditions, _ = merge_conditions([had(type="Stalled")], wanted, 1, NOON)
    assert [condition.type for condition in conditions] == ["Ready", "Serving"]


def test_a_duplicate_type_is_an_error() -> None:
    with pytest.raises(ValueError, match="Ready is desired twice"):
        merge_conditions(
            [], [DesiredCondition("Ready", "True", "A", "a"), DesiredCondition("Ready", "False", "B", "b")], 1, NOON
        )


def test_times_are_utc_to_the_second() -> None:
    assert format_timestamp(datetime(2026, 1, 1, 1, 30, tzinfo=timezone(timedelta(hours=2)))) == "2025-12-31T23:30:00Z"


@pytest.mark.parametrize(
    ("type", "limit"),
    [
        pytest.param("Ready", 1024, id="Ready is for people: 1 KB"),
        pytest.param("Reconciling", 1024, id="so is Reconciling"),
        pytest.param("Stalled", 1024, id="and Stalled"),
        pytest.param("Unpacked", MAX_MESSAGE_BYTES, id="other types are limited by the API server only"),
    ],
)
def test_no_message_is_longer_than_the_limit(type: str, limit: int) -> None:
    text = "é" * 500_000
    (condition,), (reported,) = merge_conditions([], [DesiredCondition(type, "True", "Fine", text)], 1, NOON)
    assert limit - 4 < len(condition.message.encode()) <= limit
    assert condition.message == "é" * (len(condition.message) - 1) + "…"
    assert reported.message == condition.message


def test_a_message_is_one_line_of_printable_characters() -> None:
    text = "first line\r\n  second\tpart \x1b]0;title\x07 \x9b31m \u202e \u2028 é 🙂\n"
    (condition,), (reported,) = merge_conditions([], [DesiredCondition("Ready", "True", "Fine", text)], 1, NOON)
    assert condition.message == r"first line second part \x1b]0;title\x07 \x9b31m \u202e é 🙂"
    assert reported.message == condition.message


def test_a_kind_may_keep_the_lines_of_its_messages_and_mark_the_end_of_a_long_one() -> None:
    text = f"first\x1b\n  - second\n{'x' * MAX_MESSAGE_BYTES}"
    wanted = [DesiredCondition("Progressing", "True", "Retrying", text)]
    (condition,), _ = merge_conditions([], wanted, 1, NOON, text=printable_lines, limit_suffix="\n\n... [cut]")
    assert condition.message.startswith("first\\x1b\n  - second\nxxx")
    assert condition.message.endswith("xxx\n\n... [cut]")
    assert len(condition.message) == MAX_MESSAGE_BYTES


def test_a_condition_of_the_status_may_stay_as_it_is() -> None:
    old, wanted = had(type="Progressing"), DesiredCondition("Serving", "True", "A", "a")
    conditions, transitions = merge_conditions([old], [old, wanted], 7, NOON)
    assert [(each.type, each.observed_generation) for each in conditions] == [("Progressing", 1), ("Serving", 7)]
    assert [each.type for each in transitions] == ["Serving"]


WANTED = st.lists(
    st.builds(
        DesiredCondition,
        st.sampled_from(["Ready", "Stalled", "Serving", "Unpacked"]),
        st.sampled_from(["True", "False", "Unknown"]),
        st.sampled_from(["A", "B"]),
        st.sampled_from(["m", "é" * MAX_MESSAGE_BYTES]),
    ),
    unique_by=lambda want: want.type,
)


@given(before=WANTED, wanted=WANTED, generation=st.integers(0, 5))
def test_merging_is_idempotent(before: list[DesiredCondition], wanted: list[DesiredCondition], generation: int) -> None:
    """The same desired conditions an hour later result in the same conditions and no transition."""
    old, _ = merge_conditions([], before, 1, NOON - timedelta(days=1))
    once, _ = merge_conditions(old, wanted, generation, NOON)
    twice, transitions = merge_conditions(once, wanted, generation, NOON + timedelta(hours=1))
    assert twice == once
    assert transitions == ()
    assert all(len(condition.message.encode()) <= MAX_MESSAGE_BYTES for condition in once)


def test_the_name_of_a_file_that_is_no_utf8_is_escaped_in_a_condition() -> None:
    error = FileNotFoundError(2, "No such file or directory", b"/cache/\xff".decode(errors="surrogateescape"))
    message = truncate(f"unexpected error: {error.filename}", 100)
    assert message == r"unexpected error: /cache/\udcff"
    wanted = DesiredCondition("Ready", "False", "Failed", f"unexpected error: {error.filename}")
    (condition,) = merge_conditions([], [wanted], 1, NOON)[0]
    assert condition.message == message
