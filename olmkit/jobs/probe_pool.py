"""Looks that many jobs begin with (Task.look), in one child instead of one each: to fork costs several times what a look does.

Used by the scheduler only. A look that the child does not answer, for whatever reason, says nothing: the job itself is run then,
in a child of its own, and tells. The child is replaced every so many looks and ends when nobody has asked for a while.
"""

from __future__ import annotations

import asyncio
import errno
from typing import Any

import orjson

from olmkit.jobs import protocol
from olmkit.jobs.fork_client import ForkServerClient
from olmkit.jobs.job import Limits, Task
from olmkit.jobs.memory_budget import MemoryBudget
from olmkit.jobs.sandbox import Sandbox

PROBES_PER_WORKER = 500
"""Of one child: what leaks, and the CPU time it may use, is bounded."""
WORKER_IDLE_SECONDS = 5.0
MAX_CONCURRENT_PROBES = 16
"""Looks under way; more wait."""


class ProbePool:
    """All calls from one event loop."""

    def __init__(self, forks: ForkServerClient, limits: Limits, around: Sandbox, memory: MemoryBudget) -> None:
        self._forks = forks
        self._limits = limits
        self._sandbox = around
        self._memory = memory
        self._files: tuple[tuple[int, int] | None, ...] = ()
        self._turn = asyncio.Semaphore(MAX_CONCURRENT_PROBES)
        self._child: _Worker | None = None
        self._idle: asyncio.TimerHandle | None = None

    async def ask(self, task: Task) -> dict[str, Any] | None:
        """What the look returned; None: the job itself shall be run. Raises the look's OlmError."""
        async with self._turn:
            try:
                said = await self._reached().ask(task)
                if "error" in said:
                    raise protocol.error_from_json(said["error"])
                result: dict[str, Any] | None = said["result"]
            except (OSError, ValueError, KeyError):
                return None
        return result

    def drop(self) -> None:
        """End the child; looks under way are not answered, and the next one gets another child."""
        if self._child is not None:
            self._child.hang_up()
            self._child = None

    async def close(self) -> None:
        """End the child for good."""
        if self._idle is not None:
            self._idle.cancel()
        if (child := self._child) is not None:
            self.drop()
            await child.ended()

    def _reached(self) -> _Worker:
        """A child to ask. Raises OSError when there cannot be one."""
        child, files = self._child, self._sandbox.file_identities()
        if child is not None and not child.is_over and (child.asked >= PROBES_PER_WORKER or files != self._files):
            child.leave()  # the files that it may read may be others by now
            child = None
        if child is None or child.is_over:
            child = self._child = _Worker(self._forks, self._limits, self._memory)
            self._files = files
        if self._idle is not None:
            self._idle.cancel()
        self._idle = asyncio.get_running_loop().call_later(WORKER_IDLE_SECONDS, self._rest)
        return child

    def _rest(self) -> None:
        if self._child is not None:
            self._child.leave()
            self._child = None


class _Worker:
    """Its end of the line: whose questions are open."""

    def __init__(self, forks: ForkServerClient, limits: Limits, memory: MemoryBudget) -> None:
        """Raises OSError, also when there is no memory left for it."""
        self._forks = forks
        self._memory = memory
        self._size = limits.fetch_memory_bytes
        if not memory.try_acquire(self._size):
            raise OSError(errno.ENOMEM, "all memory for jobs is in use")
        try:
            self._number, self._channel = forks.open(limits)
        except BaseException:
            memory.release(self._size)
            raise
        self._open: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._leaving = False
        self._sending = asyncio.Lock()
        self._listening = asyncio.create_task(self._listen(), name="looks")
        self.asked = 0
        self.is_over = False

    async def ask(self, task: Task) -> dict[str, Any]:
        """What it says to that. Raises OSError when it ended before, ValueError when it says what is no answer."""
        self.asked += 1
        number, loop = self.asked, asyncio.get_running_loop()
        answer: asyncio.Future[dict[str, Any]] = loop.create_future()
        self._open[number] = answer
        question = {"id": number, "function": task.look, "arguments": task.arguments}
        try:
            # Not cut short by a cancellation: half a question would spoil the line for all others.
            await asyncio.shield(loop.create_task(self._send(orjson.dumps(question) + b"\n")))
            return await answer
        finally:
            del self._open[number]
            if self._leaving and not self._open:
                self.hang_up()

    def leave(self) -> None:
        """Hang up as soon as nothing is open."""
        self._leaving = True
        if not self._open:
            self.hang_up()

    def hang_up(self) -> None:
        """The child ends."""
        self.is_over = True
        self._listening.cancel()

    async def ended(self) -> None:
        """Wait until the line is closed."""
        await asyncio.wait([self._listening])

    async def _send(self, line: bytes) -> None:
        async with self._sending:
            await asyncio.get_running_loop().sock_sendall(self._channel, line)

    def _hear(self, line: bytes) -> None:
        said = orjson.loads(line)
        answer = self._open.get(said["id"])
        if answer is not None and not answer.done():
            answer.set_result(said)

    async def _listen(self) -> None:
        """Hand out answers until the child ends or says what is none."""
        error: Exception = ConnectionResetError("the child ended")
        try:
            await protocol.read_lines(self._channel, self._hear, is_each=True)
        except (OSError, ValueError, TypeError, KeyError) as unreadable:
            error = unreadable if isinstance(unreadable, OSError) else ValueError(str(unreadable))
        finally:
            self.is_over = True
            self._channel.close()
            self._forks.kill(self._number)  # it may be stuck in a look
            self._memory.release(self._size)
            for answer in self._open.values():
                if not answer.done():
                    answer.set_exception(error)
