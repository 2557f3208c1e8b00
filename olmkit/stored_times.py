"""Compares a time that was stored earlier with the present one: it may have been written by another process or machine.

Used wherever something is due an interval after a stored time: by decisions, and by what keeps files. A clock may have been wrong
when the time was stored, so that it lies ahead. Such a time says nothing: the interval counts as over, and never as one that ends
when the wrong clock would have said so. A text that is no time, as a person may write one into a status, counts as a time that
lies ahead. Where the end of an interval is a failure, as a progress deadline is, the interval begins
anew instead: is_ahead(). Pure.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

MAX_CLOCK_SKEW = timedelta(minutes=5)
"""Clocks that differ by no more than this are right."""
NO_TIME = timedelta(0)
_UNREADABLE = datetime.max.replace(tzinfo=UTC)


def stored_time(text: str) -> datetime:
    """The time that an RFC 3339 text names; of any other text, and of one without an offset, a time that lies ahead."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return _UNREADABLE
    return found if found.tzinfo is not None else _UNREADABLE


def is_ahead(stored: datetime, now: datetime) -> bool:
    """Report whether the clock that gave a stored time was wrong, or the present one is: it lies ahead by more than
    MAX_CLOCK_SKEW."""
    return stored - now > MAX_CLOCK_SKEW


def time_left(since: datetime, interval: timedelta, now: datetime) -> timedelta:
    """The time until `interval` has passed since a stored time, at most the interval; zero: it is due."""
    if is_ahead(since, now):
        return NO_TIME
    return max(NO_TIME, min(interval, interval - (now - since)))


def has_passed(since: datetime, interval: timedelta, now: datetime) -> bool:
    """Report whether `interval` has passed since a stored time."""
    return time_left(since, interval, now) == NO_TIME
