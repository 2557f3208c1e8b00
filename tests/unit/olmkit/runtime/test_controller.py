"""When a worker makes the next pass over the same key."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta

from olmkit.runtime.controller import ConsecutivePasses, Controller
from olmkit.runtime.queue import no_cost
from tests.unit.olmkit.runtime.clock import run

AT_ONCE, SOON = timedelta(0), timedelta(seconds=2)


def passes(
    results: dict[str, list[timedelta | None]],
    added: dict[float, str] | None = None,
    cost: Callable[[str], int] = no_cost,
) -> list[tuple[str, float]]:
    """Which key has a pass at which second, with one worker; `results` of its passes by key, `added` a key at a second."""
    made: list[tuple[str, float]] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()

        async def reconcile(key: str) -> timedelta | None:
            made.append((key, round(loop.time(), 3)))
            return results[key].pop(0) if results[key] else None

        controller = Controller("test", reconcile, workers=1, consecutive=ConsecutivePasses(), cost=cost)
        work = asyncio.create_task(controller.run())
        await asyncio.sleep(0.01)
        for key in results:
            controller.enqueue(key)
        for moment, key in (added or {}).items():
            loop.call_at(moment, controller.enqueue, key)
        await asyncio.sleep(60)
        controller.stop()
        await work

    run(main())
    return [(key, int(moment)) for key, moment in made]


def test_what_was_begun_is_finished_before_another_key_is_taken() -> None:
    assert passes({"a": [AT_ONCE, AT_ONCE, None], "b": [AT_ONCE]}) == [("a", 0)] * 3 + [("b", 0)] * 2


def test_a_key_that_costs_less_than_what_is_left_of_another_one_is_finished_first() -> None:
    results: dict[str, list[timedelta | None]] = {"large": [AT_ONCE] * 4, "small": [AT_ONCE, None]}

    def cost(key: str) -> int:
        is_known = len(results["large"]) < 4  # after its first pass
        return 5 if key == "small" else 3 * len(results["large"]) * is_known

    made = passes(results, cost=cost)
    assert made == [("large", 0), ("small", 0), ("small", 0), ("large", 0), ("large", 0), ("large", 0), ("large", 0)]


def test_a_key_of_which_less_is_left_than_another_one_costs_is_finished() -> None:
    results: dict[str, list[timedelta | None]] = {"a": [AT_ONCE] * 2, "b": []}
    assert passes(results, cost=lambda key: len(results["a"]) if key == "a" else 3) == [("a", 0)] * 3 + [("b", 0)]


def test_a_worker_waits_for_the_event_that_lets_its_key_continue() -> None:
    assert passes({"a": [SOON, None], "b": []}, {3: "a"}) == [("a", 0), ("a", 3), ("b", 3)]


def test_a_worker_gives_up_its_key_when_no_event_comes() -> None:
    assert passes({"a": [SOON, None], "b": []}) == [("a", 0), ("b", 10), ("a", 12)]


def test_a_key_that_is_due_later_is_given_up_at_once() -> None:
    assert passes({"a": [timedelta(seconds=5)], "b": []}) == [("a", 0), ("b", 0), ("a", 5)]


def test_a_key_that_never_ends_is_given_up_after_a_number_of_passes() -> None:
    assert passes({"a": [AT_ONCE] * 60, "b": []}) == [("a", 0)] * 50 + [("b", 0)] + [("a", 0)] * 11


def test_a_key_may_be_enqueued_earlier_than_its_pass_asked_for() -> None:
    made: list[float] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()

        async def reconcile(key: str) -> timedelta | None:
            made.append(round(loop.time()))
            if len(made) == 1:
                controller.enqueue_after(key, timedelta(seconds=5))
            return timedelta(seconds=30)

        controller = Controller("test", reconcile, workers=1)
        controller.enqueue_after("a", timedelta(seconds=1))  # before it runs
        work = asyncio.create_task(controller.run())
        await asyncio.sleep(0.01)
        controller.enqueue("a")
        await asyncio.sleep(40)
        controller.stop()
        await work

    run(main())
    assert made == [0, 5, 35]
