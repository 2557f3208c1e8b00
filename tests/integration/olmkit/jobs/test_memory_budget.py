"""The memory budget: never exceeded, granted in order, with reserved room for the largest parser."""

from __future__ import annotations

import asyncio
import math
from pathlib import Path

import pytest

from olmkit.errors import OlmError
from olmkit.jobs import memory_budget
from olmkit.jobs.memory_budget import (
    CONTROLLER_MEMORY_BYTES,
    DEFAULT_MEMORY_BYTES,
    MemoryBudget,
    Turn,
    container_limit,
    job_memory_budget,
)

MEBIBYTE = 1024 * 1024


class Holder:
    """A task that holds memory."""

    def __init__(self, budget: MemoryBudget, size: int, *, parser: bool = False) -> None:
        self.is_holding = False
        self._end = asyncio.Event()
        self._run = asyncio.create_task(self._hold(budget, size, parser))

    async def _hold(self, budget: MemoryBudget, size: int, parser: bool) -> None:
        async with budget.hold(size, parser=parser):
            self.is_holding = True
            await self._end.wait()

    async def release(self) -> None:
        self._end.set()
        await self._run

    async def cancel(self) -> None:
        self._run.cancel()
        await asyncio.wait([self._run])


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_memory_is_granted_in_order() -> None:
    budget = MemoryBudget(10)
    first, second, third = Holder(budget, 6), Holder(budget, 6), Holder(budget, 1)
    await settle()
    assert [each.is_holding for each in (first, second, third)] == [True, False, False], (
        "a small request does not overtake"
    )
    await first.release()
    await settle()
    assert [second.is_holding, third.is_holding, budget.held] == [True, True, 7]
    await second.release()
    await third.release()
    assert budget.held == 0


async def test_room_for_the_largest_parser_is_reserved() -> None:
    budget = MemoryBudget(10)
    budget.require(2, 6)
    fetching = [Holder(budget, 2) for _ in range(3)]
    await settle()
    assert [each.is_holding for each in fetching] == [True, True, False]
    parsing = [Holder(budget, 6, parser=True) for _ in range(2)]
    await settle()
    assert [each.is_holding for each in parsing] == [True, False]
    await fetching[0].release()
    await settle()
    assert fetching[2].is_holding
    await parsing[0].release()
    await settle()
    assert [parsing[1].is_holding, budget.held] == [True, 10]


async def test_a_cancelled_request_is_skipped() -> None:
    budget = MemoryBudget(10)
    first, second, third = Holder(budget, 10), Holder(budget, 10), Holder(budget, 1)
    await settle()
    await second.cancel()
    await first.release()
    await settle()
    assert [third.is_holding, budget.held] == [True, 1]


async def test_memory_granted_during_a_cancellation_is_released() -> None:
    budget = MemoryBudget(10)
    release = await budget.acquire(10)
    waiting = Holder(budget, 10)
    await settle()
    release()
    assert budget.held == 10, "granted to the waiting task, which has not run yet"
    await waiting.cancel()
    assert [waiting.is_holding, budget.held] == [False, 0]


class Slow(Holder):
    """A job that is slow: it ends its turn when it is asked to, and waits for the next one."""

    def __init__(self, budget: MemoryBudget, size: int, turn: Turn, *, parser: bool = False) -> None:
        self.turn = turn
        super().__init__(budget, size, parser=parser)

    async def _hold(self, budget: MemoryBudget, size: int, parser: bool) -> None:
        while not self._end.is_set():
            asked = asyncio.Event()
            async with budget.hold(size, parser=parser, turn=self.turn):
                self.is_holding = True
                self.turn.begin(asked.set)
                await asked.wait()
            self.is_holding = False


async def wait_for_holding(*holders: Holder) -> None:
    async with asyncio.timeout(30):
        while True:
            if all(each.is_holding for each in holders):
                return
            await asyncio.sleep(0.001)


async def test_the_eldest_keeps_its_memory_while_others_are_enough() -> None:
    budget = MemoryBudget(6)
    slow = [Slow(budget, 2, Turn(0.01)) for _ in range(3)]
    await wait_for_holding(*slow)
    for _ in range(3):
        quick = [Holder(budget, 2), Holder(budget, 2)]
        await wait_for_holding(*quick)
        assert [each.is_holding for each in slow] == [True, False, False]
        for each in quick:
            await each.release()
        await wait_for_holding(*slow)
    assert [each.turn.gave_way for each in slow] == [0, 3, 3]
    whole = Holder(budget, 6)
    await wait_for_holding(whole)
    assert [each.is_holding for each in slow] == [False, False, False], "it gives way when they are not enough"
    for each in (*slow, whole):
        await each.cancel()
    assert budget.held == 0


async def test_jobs_that_have_had_no_turn_come_first_and_those_of_a_slow_source_after_them() -> None:
    budget = MemoryBudget(4)
    slow = [Slow(budget, 2, Turn(0.01, "slow")) for _ in range(2)]
    await wait_for_holding(*slow)
    second = Slow(budget, 2, Turn(1000, "slow"))
    quick = Slow(budget, 2, Turn(1000, "quick"))
    await wait_for_holding(quick)
    assert [each.is_holding for each in (slow[0], slow[1], second)] == [True, False, False]
    await quick.cancel()
    await wait_for_holding(second)
    assert not slow[1].is_holding, "it has had its turn"
    await second.cancel()
    await wait_for_holding(*slow)
    for each in slow:
        await each.cancel()


async def test_the_job_that_has_waited_longest_is_next_only_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_budget, "MAX_WAIT_SECONDS", 0)
    budget = MemoryBudget(4)
    budget.sources.delivered("good")
    failing = [Slow(budget, 2, Turn(1000, f"bad-{number}", is_retry=True)) for number in range(4)]
    await wait_for_holding(*failing[:2])
    new, known = (Slow(budget, 2, Turn(1000, source)) for source in ("new", "good"))
    await settle()
    for ended, following in zip(
        (failing[1], known, new, failing[0]), (known, new, failing[2], failing[3]), strict=True
    ):
        await ended.cancel()
        await wait_for_holding(following)
    for each in failing[2:]:
        await each.cancel()
    assert budget.held == 0


async def test_a_job_that_has_waited_longest_is_next_even_if_it_is_of_the_lowest_rank(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(memory_budget, "MAX_WAIT_SECONDS", 0)
    budget = MemoryBudget(2)
    budget.sources.delivered("good")
    first = Slow(budget, 2, Turn(0.001, "good"))
    await wait_for_holding(first)
    failing, good = Slow(budget, 2, Turn(0.001, "bad", is_retry=True)), Slow(budget, 2, Turn(0.001, "good"))
    await wait_for_holding(good)
    assert failing.turn.first < good.turn.first
    for each in (first, failing, good):
        await each.cancel()
    assert budget.held == 0


async def test_a_parser_gives_way_to_another_one_and_has_more_time_after_that() -> None:
    budget = MemoryBudget(8)
    budget.require(2, 6)
    job = Turn(0.001)
    parser = Slow(budget, 6, job.for_parser(), parser=True)
    await wait_for_holding(parser)
    before = parser.turn.due(doubled=True) - parser.turn.due()
    other = Holder(budget, 6, parser=True)
    await wait_for_holding(other)
    assert not parser.is_holding
    await other.release()
    await wait_for_holding(parser)
    assert parser.turn.due(doubled=True) - parser.turn.due() > before == 0
    await parser.cancel()


def test_a_budget_that_is_too_small_for_one_job() -> None:
    budget = MemoryBudget(1000 * MEBIBYTE)
    budget.require(256 * MEBIBYTE, 500 * MEBIBYTE)
    with pytest.raises(OlmError, match="jobs have 1000Mi of memory, and one may need 1024Mi: set --jobs-memory"):
        budget.require(256 * MEBIBYTE, 768 * MEBIBYTE)


@pytest.mark.parametrize(
    ("texts", "limit"),
    [
        pytest.param(["3221225472\n"], 3 << 30, id="a limit"),
        pytest.param(["max\n"], None, id="no limit"),
        pytest.param(["9223372036854771712\n"], None, id="no limit, as version 1 reports it"),
        pytest.param([None, "1073741824\n"], 1 << 30, id="version 1"),
        pytest.param([None, None], None, id="no cgroups"),
    ],
)
def test_container_limit(tmp_path: Path, texts: list[str | None], limit: int | None) -> None:
    files = []
    for number, text in enumerate(texts):
        files.append(tmp_path / str(number))
        if text is not None:
            files[-1].write_text(text)
    assert container_limit(tuple(files)) == limit


def test_job_memory_budget() -> None:
    assert job_memory_budget(5 << 30).total == 5 << 30
    limit = container_limit((Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes")))
    assert job_memory_budget(None).total == (
        DEFAULT_MEMORY_BYTES if limit is None else max(limit - CONTROLLER_MEMORY_BYTES, 0)
    )
    assert MemoryBudget().total == math.inf
