"""One pass: what its outcome, and an object that was deleted meanwhile, mean for the queue."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

import pytest

from olmkit.errors import Blocked, NotFound, Unavailable, Waiting
from olmkit.reconciler import Reconciler

MINUTE = timedelta(minutes=1)
GONE = NotFound(404, "NotFound", 'catalogs "a" not found')


@dataclass(frozen=True)
class Done:
    after: timedelta | None = None


def reconciler(outcome: Done | Exception, published: list[str], *, is_gone: bool) -> Reconciler[str, str, Done, str]:
    async def observe(key: str) -> str | None:
        return key or None

    async def act(world: str, plan: str) -> Done:
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def publish(world: str, status: str) -> None:
        if is_gone:
            raise GONE
        published.append(status)

    return Reconciler(observe, lambda world: "plan", act, lambda world, result: type(result).__name__, publish)


@pytest.mark.parametrize(
    ("outcome", "after"),
    [
        pytest.param(Done(), None, id="done: an event gives the next turn"),
        pytest.param(Done(MINUTE), MINUTE, id="done, and to be observed again"),
        pytest.param(Blocked("Blocked", "x"), None, id="blocked: what lifts it is watched"),
        pytest.param(Waiting("Retrying", "x", MINUTE), MINUTE, id="waiting"),
    ],
)
async def test_an_outcome_is_published_and_gives_the_time_of_the_next_turn(
    outcome: Done | Exception, after: timedelta | None
) -> None:
    published: list[str] = []
    assert await reconciler(outcome, published, is_gone=False)("a") == after
    assert published == [type(outcome).__name__]


async def test_any_other_error_is_published_and_raised() -> None:
    published: list[str] = []
    with pytest.raises(Unavailable):
        await reconciler(Unavailable(503, "x", "y"), published, is_gone=False)("a")
    assert published == ["Unavailable"]


@pytest.mark.parametrize(
    "outcome",
    [
        pytest.param(Done(MINUTE), id="all went well"),
        pytest.param(GONE, id="its finalizer could not be set"),
        pytest.param(Waiting("Retrying", "x", MINUTE), id="something was waited for"),
    ],
)
async def test_an_object_that_was_deleted_during_the_pass_is_no_failure(outcome: Done | Exception) -> None:
    assert await reconciler(outcome, [], is_gone=True)("a") is None


async def test_a_key_without_an_object_is_done() -> None:
    assert await reconciler(GONE, [], is_gone=True)("") is None
