"""Memory of all jobs together: never more than there is, in the order asked for, and always room for what parses."""

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
from olmkit.runtime.flags import quantity

MEBIBYTE = 1024 * 1024


class Holder:
    """Somebody who asks for memory."""

    def __init__(self, budget: MemoryBudget, size: int, *, parser: bool = False) -> None:
        self.has = False
        self._end = asyncio.Event()
        self._run = asyncio.create_task(self._hold(budget, size, parser))

    async def _hold(self, budget: MemoryBudget, size: int, parser: bool) -> None:
        async with budget.hold(size, parser=parser):
            self.has = True
            await self._end.wait()

    async def leave(self) -> None:
        self._end.set()
        await self._run

    async def cancel(self) -> None:
        self._run.cancel()
        await asyncio.wait([self._run])


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_what_is_not_left_is_waited_for_in_the_order_asked_for() -> None:
    budget = MemoryBudget(10)
    first, second, third = Holder(budget, 6), Holder(budget, 6), Holder(budget, 1)
    await settle()
    assert [each.has for each in (first, second, third)] == [True, False, False], "the small one does not overtake"
    assert not budget.try_acquire(1)
    await first.leave()
    await settle()
    assert [second.has, third.has, budget.held] == [True, True, 7]
    await second.leave()
    await third.leave()
    assert budget.held == 0


async def test_room_for_the_largest_parser_is_for_parsers() -> None:
    budget = MemoryBudget(10)
    budget.require(2, 6)
    fetching = [Holder(budget, 2) for _ in range(3)]
    await settle()
    assert [each.has for each in fetching] == [True, True, False]
    assert not budget.try_acquire(2)
    parsing = [Holder(budget, 6, parser=True) for _ in range(2)]
    await settle()
    assert [each.has for each in parsing] == [True, False]
    await fetching[0].leave()
    await settle()
    assert fetching[2].has
    await parsing[0].leave()
    await settle()
    assert [parsing[1].has, budget.held] == [True, 10]


async def test_who_waits_no_longer_is_passed_over() -> None:
    budget = MemoryBudget(10)
    first, second, third = Holder(budget, 10), Holder(budget, 10), Holder(budget, 1)
    await settle()
    await second.cancel()
    await first.leave()
    await settle()
    assert [third.has, budget.held] == [True, 1]


async def test_memory_that_is_given_to_one_who_leaves_at_that_moment_is_not_lost() -> None:
    budget = MemoryBudget(10)
    assert budget.try_acquire(10)
    waiting = Holder(budget, 10)
    await settle()
    budget.release(10)
    assert budget.held == 10, "it is the waiting one's, which has not heard of it yet"
    await waiting.cancel()
    assert [waiting.has, budget.held] == [False, 0]


def test_too_little_for_one_job_is_said() -> None:
    budget = MemoryBudget(1000 * MEBIBYTE)
    budget.require(256 * MEBIBYTE, 500 * MEBIBYTE)
    with pytest.raises(OlmError, match="jobs have 1000Mi of memory, and one may need 1024Mi: set --jobs-memory"):
        budget.require(256 * MEBIBYTE, 768 * MEBIBYTE)


@pytest.mark.parametrize(
    ("texts", "limit"),
    [
        pytest.param(["3221225472\n"], 3 << 30, id="a limit"),
        pytest.param(["max\n"], None, id="no limit"),
        pytest.param(["9223372036854771712\n"], None, id="no limit, as version 1 says it"),
        pytest.param([None, "1073741824\n"], 1 << 30, id="version 1"),
        pytest.param([None, None], None, id="no cgroups"),
    ],
)
def test_the_limit_of_a_container(tmp_path: Path, texts: list[str | None], limit: int | None) -> None:
    files = []
    for number, text in enumerate(texts):
        files.append(tmp_path / str(number))
        if text is not None:
            files[-1].write_text(text)
    assert container_limit(tuple(files)) == limit


def test_jobs_get_what_is_asked_for_or_what_the_container_leaves() -> None:
    assert job_memory_budget(5 << 30).total == 5 << 30
    limit = container_limit((Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes")))
    assert job_memory_budget(None).total == (
        DEFAULT_MEMORY_BYTES if limit is None else max(limit - CONTROLLER_MEMORY_BYTES, 0)
    )
    assert MemoryBudget().total == math.inf


@pytest.mark.parametrize(
    ("text", "size"), [("1024", 1024), ("1Ki", 1024), ("1536Mi", 1536 * MEBIBYTE), ("3Gi", 3 << 30)], ids=str
)
def test_a_quantity(text: str, size: int) -> None:
    assert quantity(text) == size


@pytest.mark.parametrize("text", ["", "-1", "1.5Gi", "3G", "Gi", "1 Gi", "max"])
def test_no_quantity(text: str) -> None:
    with pytest.raises(ValueError, match="not a number of bytes"):
        quantity(text)
