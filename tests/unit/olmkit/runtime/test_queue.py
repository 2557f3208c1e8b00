"""The work queue: a key is processed by one worker at a time, no key is lost, delays are kept."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olmkit.errors import Unavailable
from olmkit.runtime.backoff import MAX_RETRY_AFTER_SECONDS, Backoff
from olmkit.runtime.queue import Queue, QueueShutDown
from tests.unit.olmkit.runtime.clock import run

Scenario = Callable[[Queue], Coroutine[Any, Any, None]]
PLAIN = Backoff(first=0.05, cap=300, jitter=0)


def run_scenario(scenario: Scenario) -> None:
    async def main() -> None:
        await scenario(Queue("test", retry=PLAIN))

    run(main())


def seconds(value: float) -> timedelta:
    return timedelta(seconds=value)


def now() -> float:
    return asyncio.get_running_loop().time()


async def is_empty(queue: Queue) -> bool:
    """Whether get() would wait."""
    getter = asyncio.ensure_future(queue.get())
    for _ in range(5):
        await asyncio.sleep(0)
    waits = not getter.done()
    getter.cancel()
    await asyncio.wait({getter})
    return waits


def test_keys_are_deduplicated_and_in_order() -> None:
    async def scenario(queue: Queue) -> None:
        for key in ("b", "a", "b", "c", "a"):
            queue.add(key)
        assert len(queue) == 3
        assert [await queue.get() for _ in range(3)] == ["b", "a", "c"]
        assert await is_empty(queue)

    run_scenario(scenario)


def test_a_key_added_while_it_is_processed_is_processed_again_afterwards() -> None:
    async def scenario(queue: Queue) -> None:
        queue.add("a")
        assert await queue.get() == "a"
        queue.add("a")
        queue.add("a")
        assert await is_empty(queue)
        queue.done("a")
        assert await queue.get() == "a"
        queue.done("a")
        assert await is_empty(queue)

    run_scenario(scenario)


def test_other_keys_are_processed_concurrently() -> None:
    async def scenario(queue: Queue) -> None:
        queue.add("slow")
        await queue.get()
        queue.add("quick")
        assert await queue.get() == "quick"

    run_scenario(scenario)


def test_get_waits_for_a_key() -> None:
    async def scenario(queue: Queue) -> None:
        asyncio.get_running_loop().call_later(7, queue.add, "a")
        assert await queue.get() == "a"
        assert now() == pytest.approx(7)

    run_scenario(scenario)


def test_the_shortest_of_several_delays_counts() -> None:
    async def scenario(queue: Queue) -> None:
        queue.add_after("a", seconds(30))
        queue.add_after("a", seconds(10))
        queue.add_after("a", seconds(20))
        assert await queue.get() == "a"
        assert now() == pytest.approx(10)
        queue.done("a")
        await asyncio.sleep(60)
        assert await is_empty(queue)

    run_scenario(scenario)


def test_processing_a_key_cancels_earlier_delays_and_keeps_new_ones() -> None:
    async def scenario(queue: Queue) -> None:
        queue.add_after("a", seconds(10))
        queue.add("a")
        await queue.get()
        queue.add_after("a", seconds(25))
        queue.done("a")
        assert await queue.get() == "a"
        assert now() == pytest.approx(25)

    run_scenario(scenario)


def test_add_after_zero_adds_at_once() -> None:
    async def scenario(queue: Queue) -> None:
        queue.add_after("a", seconds(0))
        assert await queue.get() == "a"
        assert now() == 0

    run_scenario(scenario)


def test_retry_delays_double_until_forget() -> None:
    async def scenario(queue: Queue) -> None:
        waits = []
        queue.add("a")
        for _ in range(4):
            await queue.get()
            began = now()
            queue.retry("a", RuntimeError())
            queue.done("a")
            queue.add_after("a", seconds(1000))
            assert await queue.get() == "a"
            waits.append(now() - began)
            queue.done("a")
            queue.add("a")
        assert waits == pytest.approx([0.05, 0.1, 0.2, 0.4])
        assert queue.failures("a") == 4
        queue.forget("a")
        await queue.get()
        queue.done("a")
        began = now()
        queue.retry("a", RuntimeError())
        await queue.get()
        assert now() - began == pytest.approx(0.05)

    run_scenario(scenario)


def test_add_does_not_wait_for_the_backoff() -> None:
    async def scenario(queue: Queue) -> None:
        for _ in range(12):
            queue.retry("a", RuntimeError())
        queue.add("a")
        assert await queue.get() == "a"
        assert now() == 0

    run_scenario(scenario)


def test_a_cancelled_get_loses_no_key() -> None:
    async def scenario(queue: Queue) -> None:
        first = asyncio.ensure_future(queue.get())
        second = asyncio.ensure_future(queue.get())
        await asyncio.sleep(0)
        queue.add("a")
        first.cancel()
        assert await second == "a"
        with pytest.raises(asyncio.CancelledError):
            await first

    run_scenario(scenario)


def test_shutdown_stops_get_and_lets_running_keys_end() -> None:
    async def scenario(queue: Queue) -> None:
        queue.add("running")
        await queue.get()
        queue.add("waiting")
        queue.add_after("later", seconds(1))
        getter = asyncio.ensure_future(Queue("other").get())
        waiting = asyncio.ensure_future(queue.get())
        assert await waiting == "waiting"
        idle = asyncio.ensure_future(queue.get())
        await asyncio.sleep(0)
        queue.shutdown()
        with pytest.raises(QueueShutDown):
            await idle
        queue.add("new")
        queue.add("running")
        queue.done("running")
        with pytest.raises(QueueShutDown):
            await queue.get()
        getter.cancel()

    run_scenario(scenario)


class QueueModel:
    """Runs random steps on a queue; `running` are the keys being processed, `owed` those that have to be processed."""

    def __init__(self, queue: Queue) -> None:
        self.queue = queue
        self.running: list[str] = []
        self.owed: set[str] = set()

    async def step(self, name: str, key: str) -> None:
        if name == "wait":
            await asyncio.sleep(3)
        elif name == "get":
            if set(self.owed) - set(self.running) and len(self.queue) > len(set(self.running)):
                await self.take()
        elif name == "done":
            self.end()
        else:
            further: dict[str, object] = {"add_after": seconds(5), "retry": RuntimeError()}
            getattr(self.queue, name)(key, *([further[name]] if name in further else []))
            self.owed.add(key)

    async def take(self) -> None:
        key = await self.queue.get()
        assert key not in self.running
        self.running.append(key)
        self.owed.discard(key)

    def end(self) -> None:
        if self.running:
            self.queue.done(self.running.pop(0))


STEPS = st.lists(
    st.tuples(st.sampled_from(["add", "add_after", "retry", "get", "done", "wait"]), st.sampled_from("abc")),
    max_size=60,
)


@given(STEPS)
def test_no_key_is_processed_concurrently_or_lost(steps: list[tuple[str, str]]) -> None:
    """Each key is processed after it was added, and never by two workers at a time."""

    async def scenario(queue: Queue) -> None:
        model = QueueModel(queue)
        for name, key in steps:
            await model.step(name, key)
        while model.running:
            model.end()
        while model.owed:  # get() fails if it would wait forever: there is no timer
            await model.take()
            model.end()

    run_scenario(scenario)


def test_a_key_that_is_added_while_its_worker_waits_for_that_ends_the_wait() -> None:
    async def scenario(queue: Queue) -> None:
        queue.add("a")
        key = await queue.get()
        asyncio.get_running_loop().call_later(1, queue.add, "a")
        assert await queue.wait_added(key, 5)
        assert now() == 1
        assert queue.take_added(key)
        assert not queue.take_added(key)
        queue.done(key)
        assert await is_empty(queue), "the worker has taken it"

    run_scenario(scenario)


def test_a_worker_waits_no_longer_than_it_wants_to_or_until_the_queue_is_shut_down() -> None:
    async def scenario(queue: Queue) -> None:
        queue.add("a")
        key = await queue.get()
        assert not await queue.wait_added(key, 2)
        assert now() == 2
        asyncio.get_running_loop().call_later(1, queue.shutdown)
        assert not await queue.wait_added(key, 5)
        assert now() == 3

    run_scenario(scenario)


def test_a_key_that_was_added_before_its_worker_waits_needs_no_wait() -> None:
    async def scenario(queue: Queue) -> None:
        queue.add("a")
        key = await queue.get()
        queue.add("a")
        assert await queue.wait_added(key, 5)
        assert now() == 0
        queue.done(key)
        assert await queue.get() == "a", "it is processed again unless the worker takes it"

    run_scenario(scenario)


COSTS = {"large": 50, "small": 5, "small too": 5, "tiny": 1}


@pytest.mark.parametrize(
    ("added", "taken"),
    [
        pytest.param(["large", "small"], ["small", "large"], id="a key that costs less overtakes one that costs more"),
        pytest.param(["small too", "small"], ["small too", "small"], id="keys that cost the same keep their order"),
        pytest.param(["tiny", "large", "small"], ["tiny", "small", "large"], id="the cost decides about all that wait"),
    ],
)
def test_keys_that_cost_least_are_next(added: list[str], taken: list[str]) -> None:
    async def main() -> None:
        queue = Queue("test", cost=COSTS.__getitem__)
        for key in added:
            queue.add(key)
        assert [await queue.get() for _ in taken] == taken

    run(main())


def test_a_key_that_has_waited_for_two_minutes_is_next_whatever_it_costs() -> None:
    async def main() -> None:
        queue = Queue("test", cost=COSTS.__getitem__)
        queue.add("large")
        await asyncio.sleep(121)
        for key in ("small", "tiny"):
            queue.add(key)
        assert [await queue.get() for _ in range(3)] == ["large", "tiny", "small"]
        assert queue.may_continue("large")
        queue.done("large")
        queue.add("large")
        assert await queue.get() == "large"

    run(main())


def test_a_worker_can_ask_whether_a_key_waits_that_costs_less_than_its_own_now() -> None:
    async def main() -> None:
        left = dict(COSTS)
        queue = Queue("test", cost=left.__getitem__)
        queue.add("large")
        assert await queue.get() == "large"
        assert queue.may_continue("large")
        queue.add("small")
        assert not queue.may_continue("large")
        left["large"] = 5
        assert queue.may_continue("large")

    run(main())


def test_no_key_is_handed_out_while_the_queue_is_not_open() -> None:
    async def main() -> None:
        is_open = False
        queue = Queue("test", is_open=lambda: is_open)
        getters = [asyncio.create_task(queue.get()) for _ in range(3)]
        for key in ("a", "b"):
            queue.add(key)
        await asyncio.sleep(1000)
        assert not any(getter.done() for getter in getters)
        assert len(queue) == 2
        is_open = True
        queue.open()
        await asyncio.sleep(0)
        assert [getter.result() for getter in getters[:2]] == ["a", "b"]
        is_open = False
        assert not queue.may_continue("a")
        queue.add("c")
        queue.done("a")
        await asyncio.sleep(1000)
        assert not getters[2].done()
        queue.shutdown()
        with pytest.raises(QueueShutDown):
            await getters[2]

    run(main())


@pytest.mark.parametrize(
    ("asked", "waited"),
    [
        pytest.param(20, 20, id="it is given the time that it asks for"),
        pytest.param(86_400, MAX_RETRY_AFTER_SECONDS, id="but no day"),
        pytest.param(None, 0.05, id="without Retry-After the backoff counts"),
    ],
)
def test_a_retry_waits_for_what_the_api_server_asks_for(asked: int | None, waited: float) -> None:
    async def main() -> None:
        queue = Queue("test", retry=Backoff(first=0.05, cap=300, jitter=0))
        error = Unavailable(429, "TooManyRequests", "")
        error.retry_after = asked
        queue.add("a")
        queue.retry(await queue.get(), error)
        queue.done("a")
        began = asyncio.get_running_loop().time()
        await queue.get()
        assert asyncio.get_running_loop().time() - began == pytest.approx(waited)

    run(main())
