"""One pass: what its outcome, or the deletion of the object during it, means for the queue."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

import pytest

from olmkit.errors import Blocked, NotFound, Unavailable, Waiting
from olmkit.runtime.reconciler import Decision, Reconciler

MINUTE = timedelta(minutes=1)
GONE = NotFound(404, "NotFound", 'catalogs "a" not found')


@dataclass(frozen=True)
class Done:
    after: timedelta | None = None


def decide(world: str) -> Decision[str, str]:
    return Decision("plan", f"evaluation of {world}")


def report(world: str, evaluation: str | None, outcome: Done | Exception) -> str:
    return f"{type(outcome).__name__} after {evaluation}"


def reconciler(
    outcome: Done | Exception,
    published: list[str],
    *,
    is_gone: bool = False,
    decide: Callable[[str], Decision[str, str]] = decide,
) -> Reconciler[str, str, str, Done, str]:
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

    return Reconciler(observe, decide, act, report, publish)


@pytest.mark.parametrize(
    ("outcome", "after"),
    [
        pytest.param(Done(), None, id="done: the next pass follows an event"),
        pytest.param(Done(MINUTE), MINUTE, id="done, with a time for the next pass"),
        pytest.param(Blocked("Blocked", "x"), None, id="blocked: what lifts it is watched"),
        pytest.param(Waiting("Retrying", "x", MINUTE), MINUTE, id="waiting"),
    ],
)
async def test_an_outcome_is_published_and_returns_the_time_of_the_next_pass(
    outcome: Done | Exception, after: timedelta | None
) -> None:
    published: list[str] = []
    assert await reconciler(outcome, published)("a") == after
    assert published == [f"{type(outcome).__name__} after evaluation of a"]


async def test_any_other_error_is_published_and_raised() -> None:
    published: list[str] = []
    with pytest.raises(Unavailable):
        await reconciler(Unavailable(503, "x", "y"), published)("a")
    assert published == ["Unavailable after evaluation of a"]


async def test_a_plan_that_is_an_error_is_the_outcome_without_act() -> None:
    published: list[str] = []
    waits = reconciler(Done(), published, decide=lambda world: Decision(Waiting("Retrying", "x", MINUTE), "why"))
    assert await waits("a") == MINUTE
    assert published == ["Waiting after why"]


async def test_a_decision_that_fails_is_published_without_an_evaluation_and_raised() -> None:
    def fail(world: str) -> Decision[str, str]:
        raise ZeroDivisionError

    published: list[str] = []
    with pytest.raises(ZeroDivisionError):
        await reconciler(Done(), published, decide=fail)("a")
    assert published == ["ZeroDivisionError after None"]


@pytest.mark.parametrize(
    "outcome",
    [
        pytest.param(Done(MINUTE), id="done"),
        pytest.param(GONE, id="the finalizer could not be set"),
        pytest.param(Waiting("Retrying", "x", MINUTE), id="waiting"),
    ],
)
async def test_deletion_during_the_pass_is_not_a_failure(outcome: Done | Exception) -> None:
    assert await reconciler(outcome, [], is_gone=True)("a") is None


async def test_a_key_without_an_object_ends_the_pass() -> None:
    assert await reconciler(GONE, [], is_gone=True)("") is None
