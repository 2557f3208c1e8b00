"""How often an apply that the API server rejects is retried."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from olmkit.api.bundledeployments import Reason
from rukpak.bundledeployment.act import Rejection
from rukpak.bundledeployment.waiting import MAX_RETRY_DELAY
from rukpak.bundledeployment.world import ApplyRejected
from tests.unit.rukpak.bundledeployment.worlds import NOW, unpacked, upgrading

FIRST = timedelta(seconds=2)
TAKEN = ApplyRejected(Reason.BLOCKED, "Secret a/b is another's", FIRST)


def test_the_same_refusal_doubles_the_time_to_the_next_try() -> None:
    seen, last = unpacked(), None
    waits: list[timedelta] = []
    for _ in range(6):
        last = Rejection.next(last, seen, TAKEN)
        waits.append(last.after)
        seen = replace(seen, now=seen.now + last.after)
    assert waits == [timedelta(seconds=each) for each in (2, 4, 8, 16, 32, 60)]
    assert waits[-1] == MAX_RETRY_DELAY


def test_a_turn_for_another_reason_does_not_count_as_a_try() -> None:
    seen = unpacked()
    last = Rejection.next(None, seen, TAKEN)
    assert Rejection.next(last, replace(seen, now=NOW + FIRST / 2), TAKEN) == last


def test_it_begins_anew_when_something_else_is_refused_or_asked_for() -> None:
    seen = unpacked()
    long_ago = Rejection(Rejection.next(None, seen, TAKEN).cause, NOW - timedelta(hours=1), MAX_RETRY_DELAY)
    assert (
        Rejection.next(long_ago, seen, ApplyRejected(Reason.BLOCKED, "Secret a/c is another's", FIRST)).after == FIRST
    )
    assert Rejection.next(long_ago, upgrading(), TAKEN).after == FIRST
