"""Durations as Go writes them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from olmkit.gocompat.text import parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0),
        ("0s", 0),
        ("10m", 600),
        ("1h30m", 5400),
        ("1.5h", 5400),
        ("500ms", 0.5),
        ("1m0.5s", 60.5),
        (".5s", 0.5),
    ],
)
def test_durations(text: str, seconds: float) -> None:
    assert parse_duration(text).total_seconds() == seconds


@pytest.mark.parametrize("text", ["", "10", "m", "10 m", "-1s", "1d", "1h30", "1,5h"])
def test_invalid_durations(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        parse_duration(text)


def test_a_duration_beyond_the_range_of_timedelta_is_long() -> None:
    assert parse_duration("9" * 400 + "h") > timedelta(days=365_000)
