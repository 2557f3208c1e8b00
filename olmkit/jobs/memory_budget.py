"""How much memory all jobs of a process may have at a time: a job that does not fit waits.

One MemoryBudget per process, shared by its Jobs. It counts the limits that the kernel enforces, not the use. A job that
fetches and then parses needs little first and much later, so the room for the largest parser is never given to what may take
long: jobs that wait for slow servers do not keep others from parsing, and no two jobs wait for each other. docs/decisions/0020.
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
"""The part of a container's memory for the controller itself, its fork servers, and files that are being written."""
DEFAULT_MEMORY_BYTES = 4096 * MEBIBYTE
"""The memory of all jobs on a machine without a limit."""
CGROUP_LIMIT_FILES = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
"""The files from which a container reads its limit: cgroup version 2 and 1."""
UNLIMITED_BYTES = 1 << 60
"""Version 1 reports about 2**63 if there is no limit."""


class MemoryBudget:
    """`total` is in bytes. All calls from one event loop."""

    def __init__(self, total: float = math.inf) -> None:
        self.total = total
        self._reserved = 0
        """Bytes of `total` that are reserved for parsers."""
        self._largest_job = 0
        self._held = {False: 0, True: 0}
        self._waiting: dict[bool, deque[tuple[int, asyncio.Future[None]]]] = {False: deque(), True: deque()}

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

    def try_acquire(self, size: int) -> bool:
        """Take that much if it is free and nothing waits for it; to be returned by release()."""
        fits = not self._waiting[False] and self._fits(size, parser=False)
        if fits:
            self._held[False] += size
        return fits

    def release(self, size: int, *, parser: bool = False) -> None:
        """Return that much, for those that wait."""
        self._held[parser] -= size
        for kind in (True, False):
            waiting = self._waiting[kind]
            while waiting and (waiting[0][1].done() or self._fits(waiting[0][0], parser=kind)):
                wanted, granted = waiting.popleft()
                if not granted.done():
                    self._held[kind] += wanted
                    granted.set_result(None)

    @asynccontextmanager
    async def hold(self, size: int, *, parser: bool = False) -> AsyncIterator[None]:
        """Wait for that much, in the order of the calls, and hold it."""
        granted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[parser].append((size, granted))
        self.release(0)
        try:
            await granted
        except asyncio.CancelledError:
            if granted.done() and not granted.cancelled():
                self.release(size, parser=parser)  # it was granted at the same moment
            else:
                self.release(0)
            raise
        try:
            yield
        finally:
            self.release(size, parser=parser)

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
