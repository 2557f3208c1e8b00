"""One pass: what its outcome, and an object that was deleted meanwhile, mean for the queue."""

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
    assert await reconciler(outcome, published)("a") == after
    assert published == [f"{type(outcome).__name__} after evaluation of a"]


async def test_any_other_error_is_published_and_raised() -> None:
    published: list[str] = []
    with pytest.raises(Unavailable):
        await reconciler(Unavailable(503, "x", "y"), published)("a")
    assert published == ["Unavailable after evaluation of a"]


async def test_a_plan_that_is_an_error_is_the_outcome_and_nothing_is_done() -> None:
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
        pytest.param(Done(MINUTE), id="all went well"),
        pytest.param(GONE, id="its finalizer could not be set"),
        pytest.param(Waiting("Retrying", "x", MINUTE), id="something was waited for"),
    ],
)
async def test_an_object_that_was_deleted_during_the_pass_is_no_failure(outcome: Done | Exception) -> None:
    assert await reconciler(outcome, [], is_gone=True)("a") is None


async def test_a_key_without_an_object_is_done() -> None:
    assert await reconciler(GONE, [], is_gone=True)("") is None
