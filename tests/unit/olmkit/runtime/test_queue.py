"""The queue's promises: one turn per key at a time, nothing lost, nothing twice, later means later."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olmkit.runtime.backoff import Backoff
from olmkit.runtime.queue import Queue, QueueShutDown
from tests.unit.olmkit.runtime.clock import run

Scenario = Callable[[Queue], Coroutine[Any, Any, None]]
PLAIN = Backoff(first=0.05, cap=300, jitter=0)


def play(scenario: Scenario) -> None:
    async def main() -> None:
        await scenario(Queue("test", retry=PLAIN))

    run(main())


def seconds(value: float) -> timedelta:
    return timedelta(seconds=value)


def now() -> float:
    return asyncio.get_running_loop().time()


async def is_empty(queue: Queue) -> bool:
    """Nothing has a turn now."""
    getter = asyncio.ensure_future(queue.get())
    for _ in range(5):
        await asyncio.sleep(0)
    waits = not getter.done()
    getter.cancel()
    await asyncio.wait({getter})
    return waits


def test_keys_come_in_the_order_they_were_added_each_once() -> None:
    async def scenario(queue: Queue) -> None:
        for key in ("b", "a", "b", "c", "a"):
            queue.add(key)
        assert len(queue) == 3
        assert [await queue.get() for _ in range(3)] == ["b", "a", "c"]
        assert await is_empty(queue)

    play(scenario)


def test_a_key_added_during_its_turn_gets_another_one_afterwards_and_not_before() -> None:
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

    play(scenario)


def test_other_keys_have_their_turns_meanwhile() -> None:
    async def scenario(queue: Queue) -> None:
        queue.add("slow")
        await queue.get()
        queue.add("quick")
        assert await queue.get() == "quick"

    play(scenario)


def test_get_waits_for_a_key() -> None:
    async def scenario(queue: Queue) -> None:
        asyncio.get_running_loop().call_later(7, queue.add, "a")
        assert await queue.get() == "a"
        assert now() == pytest.approx(7)

    play(scenario)


def test_of_several_delays_the_earliest_counts() -> None:
    async def scenario(queue: Queue) -> None:
        queue.add_after("a", seconds(30))
        queue.add_after("a", seconds(10))
        queue.add_after("a", seconds(20))
        assert await queue.get() == "a"
        assert now() == pytest.approx(10)
        queue.done("a")
        await asyncio.sleep(60)
        assert await is_empty(queue)

    play(scenario)


def test_a_turn_ends_the_delays_from_before_and_keeps_those_made_during_it() -> None:
    async def scenario(queue: Queue) -> None:
        queue.add_after("a", seconds(10))
        queue.add("a")
        await queue.get()
        queue.add_after("a", seconds(25))
        queue.done("a")
        assert await queue.get() == "a"
        assert now() == pytest.approx(25)

    play(scenario)


def test_no_delay_is_at_once() -> None:
    async def scenario(queue: Queue) -> None:
        queue.add_after("a", seconds(0))
        assert await queue.get() == "a"
        assert now() == 0

    play(scenario)


def test_retries_wait_longer_each_time_until_forgotten() -> None:
    async def scenario(queue: Queue) -> None:
        waits = []
        queue.add("a")
        for _ in range(4):
            await queue.get()
            began = now()
            queue.retry("a")
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
        queue.retry("a")
        await queue.get()
        assert now() - began == pytest.approx(0.05)

    play(scenario)


def test_an_event_does_not_wait_for_the_backoff() -> None:
    async def scenario(queue: Queue) -> None:
        for _ in range(12):
            queue.retry("a")
        queue.add("a")
        assert await queue.get() == "a"
        assert now() == 0

    play(scenario)


def test_a_worker_that_is_cancelled_while_it_waits_takes_no_key_with_it() -> None:
    async def scenario(queue: Queue) -> None:
        first = asyncio.ensure_future(queue.get())
        second = asyncio.ensure_future(queue.get())
        await asyncio.sleep(0)
        queue.add("a")
        first.cancel()
        assert await second == "a"
        with pytest.raises(asyncio.CancelledError):
            await first

    play(scenario)


def test_after_shutdown_no_turn_begins_and_the_one_under_way_ends() -> None:
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

    play(scenario)


class Book:
    """Plays steps on a queue and keeps account of whose turn runs and who is owed one."""

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
            getattr(self.queue, name)(*((key, seconds(5)) if name == "add_after" else (key,)))
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
def test_whatever_happens_no_key_has_two_turns_at_once_and_none_is_lost(steps: list[tuple[str, str]]) -> None:
    """Each key added gets a turn that begins after it was added, and never while another turn of it runs."""

    async def scenario(queue: Queue) -> None:
        book = Book(queue)
        for name, key in steps:
            await book.step(name, key)
        while book.running:
            book.end()
        while book.owed:  # get() fails the test when it would wait for ever: the clock has nothing to jump to
            await book.take()
            book.end()

    play(scenario)
