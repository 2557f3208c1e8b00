"""The memory budget: never exceeded, granted in order, with reserved room for the largest parser."""

from __future__ import annotations

import asyncio
import math
from pathlib import Path

import pytest

from olmkit.errors import OlmError
from olmkit.jobs.memory_budget import (
    CONTROLLER_MEMORY_BYTES,
    DEFAULT_MEMORY_BYTES,
    MemoryBudget,
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
    assert not budget.try_acquire(1)
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
    assert not budget.try_acquire(2)
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
    assert budget.try_acquire(10)
    waiting = Holder(budget, 10)
    await settle()
    budget.release(10)
    assert budget.held == 10, "granted to the waiting task, which has not run yet"
    await waiting.cancel()
    assert [waiting.is_holding, budget.held] == [False, 0]


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
