"""Limits the memory that all jobs of a process may have at a time: a job that does not fit waits.

One MemoryBudget per process, shared by its Jobs. It counts the limits that the kernel enforces, not the use. A job that
fetches and then parses needs little first and much later, so the room for the largest parser is never given to what may take
long: jobs that wait for slow servers do not keep others from parsing, and no two jobs wait for each other. docs/decisions/0020.
A job that has had its turn gives way to one that has had none: docs/decisions/0063. Jobs of sources that deliver come before
those of sources that may not: docs/decisions/0070.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from olmkit.errors import OlmError
from olmkit.jobs.source_records import SourceRecords

MEBIBYTE = 1024 * 1024
CONTROLLER_MEMORY_BYTES = 512 * MEBIBYTE
"""The part of a container's memory for the controller itself, its fork servers, and files that are being written."""
DEFAULT_MEMORY_BYTES = 4096 * MEBIBYTE
"""The memory of all jobs on a machine without a limit."""
CGROUP_LIMIT_FILES = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
"""The files from which a container reads its limit: cgroup version 2 and 1."""
UNLIMITED_BYTES = 1 << 60
"""Version 1 reports about 2**63 if there is no limit."""
MAX_WAIT_SECONDS = 120.0
"""Of the jobs that have waited this long, the one that waits longest is next, unless another one runs that was next for that."""
MAX_DOUBLINGS = 10
PARSER_TURN_FACTOR = 4
"""The factor by which a parser runs longer before it may have to give way: what was fetched for it has to be fetched again."""


@dataclass(eq=False)
class Turn:
    """The turns of one job: it holds its memory for at least `seconds` at a time, then it may have to give way.

    `source` is where the job fetches from; "" if it does not matter. A job of a source that is slow, or has not delivered
    anything yet, is not preferred to others. `is_retry`: the job has failed before.
    """

    seconds: float = math.inf
    source: str = ""
    is_retry: bool = field(default=False, kw_only=True)
    gave_way: int = 0
    """The number of times that it did."""
    is_asked: bool = field(default=False, init=False)
    """True if the present turn is being ended."""
    first: float = field(default=math.inf, init=False)
    """The start of its first turn, on the clock of the event loop; infinite before."""
    _start: float = field(default=math.inf, init=False)
    _give_way: Callable[[], None] | None = field(default=None, init=False)
    is_kept: bool = field(default=False, init=False)
    """True if the job has nothing left that it could be slow to get."""

    def begin(self, give_way: Callable[[], None]) -> None:
        """The job runs from now on. `give_way` ends that; the memory is released soon after."""
        self._give_way, self._start = give_way, asyncio.get_running_loop().time()
        self.first = min(self.first, self._start)

    def keep(self) -> None:
        """The job does not give way any more in this turn: it has what it was slow to get, and may end soon."""
        self.is_kept, self._start = True, asyncio.get_running_loop().time()

    def end(self) -> None:
        """The memory is released."""
        self._give_way, self._start, self.is_kept = None, math.inf, False
        self.gave_way += self.is_asked
        self.is_asked = False

    @property
    def can_give_way(self) -> bool:
        """True if it has to give way at some time in this turn."""
        return not self.is_kept and math.isfinite(self.seconds)

    def due(self, *, doubled: bool = False) -> float:
        """The time when the present turn is over, if it has begun by now. `doubled`: each turn takes twice as long as the one
        before."""
        start = min(self._start, asyncio.get_running_loop().time())
        return start + self.seconds * (2 ** min(self.gave_way, MAX_DOUBLINGS) if doubled else 1)

    def ask(self) -> None:
        """End the present turn."""
        if self._give_way is not None and not self.is_asked:
            self.is_asked = True
            self._give_way()

    def for_parser(self) -> Turn:
        """The turn of the parser of this job, which holds memory of its own: when it gives way, the whole job does."""
        return Turn(self.seconds * PARSER_TURN_FACTOR, self.source, self.gave_way, is_retry=self.is_retry)


@dataclass(eq=False)
class _Hold:
    """One that waits for memory, or holds it."""

    size: int
    parser: bool
    turn: Turn
    since: float
    granted: asyncio.Future[None]
    is_overdue: bool = False
    """True if it was granted because it had waited for MAX_WAIT_SECONDS."""


class MemoryBudget:
    """`total` is in bytes. All calls from one event loop."""

    def __init__(self, total: float = math.inf) -> None:
        self.total = total
        self.sources = SourceRecords()
        self._reserved = 0
        """Bytes of `total` that are reserved for parsers."""
        self._largest_job = 0
        self._held = {False: 0, True: 0}
        self._waiting: dict[bool, list[_Hold]] = {False: [], True: []}
        self._holding: dict[bool, list[_Hold]] = {False: [], True: []}
        self._next: asyncio.TimerHandle | None = None
        """The time when the next turn is over that another job waits for."""

    @property
    def held(self) -> int:
        """Bytes in use."""
        return sum(self._held.values())

    def require(self, size: int, parser: int) -> None:
        """Reserve room for jobs of `size` bytes with parsers of `parser` bytes. Raises OlmError if they could never run."""
        self._largest_job, self._reserved = max(self._largest_job, size), max(self._reserved, parser)
        if self._largest_job + self._reserved > self.total:
            needed, total = (self._largest_job + self._reserved) // MEBIBYTE, int(self.total) // MEBIBYTE
            remedy = "set --jobs-memory, or the container's limit, higher"
            text = f"jobs have {total}Mi of memory, and one may need {needed}Mi: {remedy}"
            raise OlmError("InvalidConfiguration", text)

    async def acquire(self, size: int, turn: Turn | None = None) -> Callable[[], None]:
        """Wait for that much and take it. Returns the function that returns it, which is to be called once.

        Without a `turn` it never gives way.
        """
        hold = await self._granted(size, parser=False, turn=turn or Turn())
        return lambda: self._return(hold)

    @asynccontextmanager
    async def hold(self, size: int, *, parser: bool = False, turn: Turn | None = None) -> AsyncIterator[None]:
        """Wait for that much, and hold it. Jobs that have had no turn come first, in the order of the calls; rank() has the
        rules.

        Without a `turn` it never gives way.
        """
        hold = await self._granted(size, parser=parser, turn=turn or Turn())
        try:
            yield
        finally:
            self._return(hold)

    async def _granted(self, size: int, *, parser: bool, turn: Turn) -> _Hold:
        loop = asyncio.get_running_loop()
        hold = _Hold(size, parser, turn, loop.time(), loop.create_future())
        self._waiting[parser].append(hold)
        self._settle()
        try:
            await hold.granted
        except asyncio.CancelledError:
            if hold.granted.done() and not hold.granted.cancelled():
                self._return(hold)  # it was granted at the same moment
            else:
                self._settle()
            raise
        return hold

    def _return(self, hold: _Hold) -> None:
        self._holding[hold.parser].remove(hold)
        hold.turn.end()
        self._held[hold.parser] -= hold.size
        self._settle()

    def _settle(self) -> None:
        """Grant what fits, and ask jobs to give way to what does not."""
        if self._next is not None:
            self._next.cancel()
            self._next = None
        for kind in (True, False):
            self._waiting[kind] = [each for each in self._waiting[kind] if not each.granted.done()]
            for first in self._in_order(kind):
                if not self._fits(first.size, parser=kind):
                    self._make_room(first)
                    break
                self._waiting[kind].remove(first)
                self._holding[kind].append(first)
                self._held[kind] += first.size
                first.granted.set_result(None)

    def _in_order(self, kind: bool) -> Iterator[_Hold]:
        waiting = self._waiting[kind]
        if not waiting:
            return iter(())
        oldest = min(waiting, key=lambda hold: hold.since)
        now, rank = asyncio.get_running_loop().time(), self.rank()
        oldest.is_overdue = now >= oldest.since + MAX_WAIT_SECONDS and not any(
            each.is_overdue for each in self._holding[kind]
        )
        return iter(sorted(waiting, key=lambda hold: (not hold.is_overdue, rank(hold.turn), hold.since)))

    def rank(self) -> Callable[[Turn], int]:
        """The rank of jobs at this moment; those of the lowest are next.

        0: the source has delivered. 1: it has not delivered yet. 2: it is slow, or it has delivered and the job is a retry. 3: a
        retry of a source that has never delivered, and a job that gave way.
        """
        slow = self._slow_sources()

        def of(turn: Turn) -> int:
            delivers = self.sources.has_delivered(turn.source)
            if turn.gave_way or (turn.is_retry and not delivers):
                return 3
            return 2 if turn.is_retry or turn.source in slow else int(not delivers)

        return of

    def _slow_sources(self) -> frozenset[str]:
        """The sources of jobs that have had a turn and have not ended."""
        now, jobs = asyncio.get_running_loop().time(), [*self._holding[False], *self._waiting[False]]
        return frozenset(each.turn.source for each in jobs if each.turn.gave_way or now >= each.turn.due()) - {""}

    def _make_room(self, waiting: _Hold) -> None:
        """Ask jobs that have had their turn, the youngest first, unless `waiting` has had one itself and is not overdue. The
        eldest job gives way only if all others are not enough, and parsers and the eldest each time later: so every job comes to
        its end."""
        if waiting.turn.gave_way and not waiting.parser and not waiting.is_overdue:
            return
        loop = asyncio.get_running_loop()
        running = [each for each in self._holding[waiting.parser] if each.turn.can_give_way]
        running.sort(key=lambda each: each.turn.first)
        left = self.total - self.held - (0 if waiting.parser else max(self._reserved - self._held[True], 0))
        missing = waiting.size - left - sum(each.size for each in running if each.turn.is_asked)
        candidates = [each for each in reversed(running[1:]) if not each.turn.is_asked]
        kept = [each for each in self._holding[waiting.parser] if each.turn.is_kept and loop.time() < each.turn.due()]
        if sum(each.size for each in (*candidates, *kept)) < missing:
            candidates += [each for each in running[:1] if not each.turn.is_asked]
        later = [each.turn.due() for each in kept]
        for each in candidates:
            if missing <= 0:
                return
            if loop.time() < (due := each.turn.due(doubled=waiting.parser or each is running[0])):
                later.append(due)
            else:
                missing -= each.size
                each.turn.ask()
        if missing > 0 and later:
            self._next = loop.call_at(min(later), self._settle)

    def _fits(self, size: int, *, parser: bool) -> bool:
        left = self.total - self.held - size
        return left >= 0 and (parser or self._held[False] + size <= self.total - self._reserved)


def job_memory_budget(asked: int | None) -> MemoryBudget:
    """The budget of `--jobs-memory`; without it what the limit of the container leaves, or 4 GiB if there is no limit."""
    if asked is not None:
        return MemoryBudget(asked)
    limit = container_limit(CGROUP_LIMIT_FILES)
    return MemoryBudget(DEFAULT_MEMORY_BYTES if limit is None else max(limit - CONTROLLER_MEMORY_BYTES, 0))


def container_limit(files: tuple[Path, ...]) -> int | None:
    """Bytes of memory that this container may use; None if there is no limit."""
    for path in files:
        with suppress(OSError, ValueError):
            found = int(path.read_text())
            return found if found < UNLIMITED_BYTES else None
    return None
