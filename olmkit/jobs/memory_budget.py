"""How much memory all jobs of a process may have at a time: what is not left for a job is waited for.

One MemoryBudget per process, shared by its Jobs. Counted are the limits that the kernel enforces, not what is used. A job that
fetches and then parses holds a little first and much later, so room for the largest parser is never given away to what may take
long: jobs that wait for slow servers do not keep others from parsing, and two that wait for each other do not come about.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from olmkit.errors import OlmError

MEBIBYTE = 1024 * 1024
CONTROLLER_MEMORY_BYTES = 512 * MEBIBYTE
"""Of a container's memory: what the controller itself and its fork servers need, and files that are being written."""
DEFAULT_MEMORY_BYTES = 4096 * MEBIBYTE
"""For jobs on a machine that sets no limit."""
CGROUP_LIMIT_FILES = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
"""Where a container sees its limit: version 2 and 1."""
UNLIMITED_BYTES = 1 << 60
"""Version 1 says about 2**63 when there is none."""


class MemoryBudget:
    """`total` in bytes. All calls from one event loop."""

    def __init__(self, total: float = math.inf) -> None:
        self.total = total
        self._kept = 0
        """Of `total`, for parsers alone."""
        self._most = 0
        self._held = {False: 0, True: 0}
        self._waiting: dict[bool, deque[tuple[int, asyncio.Future[None]]]] = {False: deque(), True: deque()}

    @property
    def held(self) -> int:
        """Bytes that are held now."""
        return sum(self._held.values())

    def require(self, size: int, parser: int) -> None:
        """There will be jobs of this size, with parsers of that size. Raises OlmError when they could never run."""
        self._most, self._kept = max(self._most, size), max(self._kept, parser)
        if self._most + self._kept > self.total:
            needed, total = (self._most + self._kept) // MEBIBYTE, int(self.total) // MEBIBYTE
            remedy = "set --jobs-memory, or the container's limit, higher"
            words = f"jobs have {total}Mi of memory, and one may need {needed}Mi: {remedy}"
            raise OlmError("InvalidConfiguration", words)

    def try_acquire(self, size: int) -> bool:
        """Hold it if nobody has to wait for it; to be given back by give()."""
        fits = not self._waiting[False] and self._fits(size, parser=False)
        if fits:
            self._held[False] += size
        return fits

    def release(self, size: int, *, parser: bool = False) -> None:
        """What was held is free, for those that wait for it."""
        self._held[parser] -= size
        for kind in (True, False):
            waiting = self._waiting[kind]
            while waiting and (waiting[0][1].done() or self._fits(waiting[0][0], parser=kind)):
                wanted, turn = waiting.popleft()
                if not turn.done():
                    self._held[kind] += wanted
                    turn.set_result(None)

    @asynccontextmanager
    async def hold(self, size: int, *, parser: bool = False) -> AsyncIterator[None]:
        """Wait for that much, in the order asked for, and have it."""
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[parser].append((size, turn))
        self.release(0)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.release(size, parser=parser)  # it was given at the same moment
            else:
                self.release(0)
            raise
        try:
            yield
        finally:
            self.release(size, parser=parser)

    def _fits(self, size: int, *, parser: bool) -> bool:
        left = self.total - self.held - size
        return left >= 0 and (parser or self._held[False] + size <= self.total - self._kept)


def job_memory_budget(asked: int | None) -> MemoryBudget:
    """What `--jobs-memory` says; without it what the container's limit leaves, and 4 GiB when there is no limit."""
    if asked is not None:
        return MemoryBudget(asked)
    limit = container_limit(CGROUP_LIMIT_FILES)
    return MemoryBudget(DEFAULT_MEMORY_BYTES if limit is None else max(limit - CONTROLLER_MEMORY_BYTES, 0))


def container_limit(files: tuple[Path, ...]) -> int | None:
    """Bytes of memory that this container may use; None when nobody says."""
    for path in files:
        with suppress(OSError, ValueError):
            found = int(path.read_text())
            return found if found < UNLIMITED_BYTES else None
    return None
