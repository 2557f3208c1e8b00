"""How often an apply that the API server rejects is retried."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from olmkit.api.bundledeployments import Reason
from olmkit.api.meta import Kind
from rukpak.bundledeployment.act import Rejection
from rukpak.bundledeployment.delays import MAX_RETRY_DELAY
from rukpak.bundledeployment.world import ApplyRejected, ConflictingObject
from rukpak.format.objects import ObjectKey
from tests.unit.rukpak.bundledeployment.worlds import NOW, unpacked, upgrading

FIRST = timedelta(seconds=2)
KEY = ObjectKey("", "Secret", "a", "b")
TAKEN = ApplyRejected(
    Reason.BLOCKED,
    "Secret a/b is another's",
    FIRST,
    conflicting_objects=frozenset({ConflictingObject(Kind("", "v1", "Secret", "secrets"), "a", "b")}),
)
REFUSED = ApplyRejected(Reason.BLOCKED, "Secret a/b: denied, request 1", FIRST, refused=frozenset({KEY}))


def test_the_same_refusal_doubles_the_time_to_the_next_try() -> None:
    seen, last = unpacked(), None
    waits: list[timedelta] = []
    for _ in range(6):
        last = Rejection.next(last, seen, TAKEN)
        waits.append(last.after)
        seen = replace(seen, now=seen.now + last.after)
    assert waits == [timedelta(seconds=each) for each in (2, 4, 8, 16, 32, 60)]
    assert waits[-1] == MAX_RETRY_DELAY


def test_a_refusal_is_the_same_in_other_words() -> None:
    """A webhook may say something else each time, such as the number of the request."""
    seen = unpacked()
    last = Rejection.next(None, seen, REFUSED)
    again = ApplyRejected(Reason.BLOCKED, "Secret a/b: denied, request 2", FIRST, refused=REFUSED.refused)
    assert Rejection.next(last, replace(seen, now=NOW + FIRST), again).after == 2 * FIRST


def test_a_turn_for_another_reason_does_not_count_as_a_try() -> None:
    seen = unpacked()
    last = Rejection.next(None, seen, TAKEN)
    assert Rejection.next(last, replace(seen, now=NOW + FIRST / 2), TAKEN) == last


def test_it_begins_anew_when_something_else_is_refused_or_asked_for() -> None:
    seen = unpacked()
    long_ago = Rejection(Rejection.next(None, seen, TAKEN).cause, NOW - timedelta(hours=1), MAX_RETRY_DELAY)
    other = ApplyRejected(Reason.BLOCKED, "Secret a/c", FIRST, refused=frozenset({KEY._replace(name="c")}))
    assert [Rejection.next(long_ago, seen, error).after for error in (other, REFUSED)] == [FIRST, FIRST]
    assert Rejection.next(long_ago, upgrading(), TAKEN).after == FIRST
