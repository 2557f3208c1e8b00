"""Probes, which may spare a job: they share one child process, because a fork costs several times what a probe does.

Used by the scheduler only. A probe that gets no answer, for whatever reason, decides nothing: the job itself runs then, in a
child of its own, and reports what is wrong. The worker is replaced after a number of probes and ends when none has run for a
while.
"""

from __future__ import annotations

import asyncio
import errno
from typing import Any, TypeVar

import orjson

from olmkit.jobs import codec, protocol
from olmkit.jobs.fork_client import ForkServerClient
from olmkit.jobs.job import Limits, Task
from olmkit.jobs.memory_budget import MemoryBudget
from olmkit.jobs.sandbox import Sandbox

Result = TypeVar("Result")

PROBES_PER_WORKER = 500
"""The limit of probes of one worker, which bounds what may leak and the CPU time that it uses."""
WORKER_IDLE_TIMEOUT_SECONDS = 5.0
MAX_CONCURRENT_PROBES = 16


class ProbePool:
    """All calls from one event loop."""

    def __init__(self, forks: ForkServerClient, limits: Limits, sandbox: Sandbox, memory: MemoryBudget) -> None:
        self._forks = forks
        self._limits = limits
        self._sandbox = sandbox
        self._memory = memory
        self._files: tuple[tuple[int, int] | None, ...] = ()
        self._free = asyncio.Semaphore(MAX_CONCURRENT_PROBES)
        self._worker: _Worker | None = None
        self._idle: asyncio.TimerHandle | None = None

    async def run(self, task: Task[Any, Result]) -> Result | None:
        """What the probe returned; None: the job itself is to run. Raises the OlmError of the probe."""
        async with self._free:
            try:
                answer = await self._available_worker().ask(task)
                if "error" in answer:
                    raise codec.decode_error(answer["error"], task.job.errors)
                result = answer["result"]
                return None if result is None else codec.decode(task.job.result, result)
            except (OSError, ValueError, KeyError):
                return None

    def drop(self) -> None:
        """End the worker. Probes that run get no answer, and the next one gets another worker."""
        if self._worker is not None:
            self._worker.close()
            self._worker = None

    async def close(self) -> None:
        """End the worker for good."""
        if self._idle is not None:
            self._idle.cancel()
        if (worker := self._worker) is not None:
            self.drop()
            await worker.ended()

    def _available_worker(self) -> _Worker:
        """Raises OSError when there cannot be one."""
        worker, files = self._worker, self._sandbox.file_identities()
        if worker is not None and not worker.is_over and (worker.asked >= PROBES_PER_WORKER or files != self._files):
            worker.close_when_idle()  # the files that it may read may have been replaced
            worker = None
        if worker is None or worker.is_over:
            worker = self._worker = _Worker(self._forks, self._limits, self._memory)
            self._files = files
        if self._idle is not None:
            self._idle.cancel()
        self._idle = asyncio.get_running_loop().call_later(WORKER_IDLE_TIMEOUT_SECONDS, self._release)
        return worker

    def _release(self) -> None:
        if self._worker is not None:
            self._worker.close_when_idle()
            self._worker = None


class _Worker:
    """The channel to one worker process, and the probes that have no answer yet."""

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
        self._closes_when_idle = False
        self._sending = asyncio.Lock()
        self._reading = asyncio.create_task(self._read(), name="probes")
        self.asked = 0
        self.is_over = False

    async def ask(self, task: Task[Any, Any]) -> dict[str, Any]:
        """The answer. Raises OSError when the worker ended before it, ValueError when it sent something else."""
        self.asked += 1
        number, loop = self.asked, asyncio.get_running_loop()
        answer: asyncio.Future[dict[str, Any]] = loop.create_future()
        self._open[number] = answer
        message = {"id": number, "function": task.job.function, "request": codec.encode(task.request)}
        try:
            # A cancellation does not cut it short: half a message would spoil the channel for all others.
            await asyncio.shield(loop.create_task(self._send(orjson.dumps(message) + b"\n")))
            return await answer
        finally:
            del self._open[number]
            if self._closes_when_idle and not self._open:
                self.close()

    def close_when_idle(self) -> None:
        """Close the channel as soon as every probe has its answer."""
        self._closes_when_idle = True
        if not self._open:
            self.close()

    def close(self) -> None:
        """The worker ends."""
        self.is_over = True
        self._reading.cancel()

    async def ended(self) -> None:
        """Wait until the channel is closed."""
        await asyncio.wait([self._reading])

    async def _send(self, line: bytes) -> None:
        async with self._sending:
            await asyncio.get_running_loop().sock_sendall(self._channel, line)

    def _on_line(self, line: bytes) -> None:
        message = orjson.loads(line)
        answer = self._open.get(message["id"])
        if answer is not None and not answer.done():
            answer.set_result(message)

    async def _read(self) -> None:
        """Pass answers on until the worker ends or sends something else."""
        error: Exception = ConnectionResetError("the worker ended")
        try:
            await protocol.read_lines(self._channel, self._on_line, is_each=True)
        except (OSError, ValueError, TypeError, KeyError) as unreadable:
            error = unreadable if isinstance(unreadable, OSError) else ValueError(str(unreadable))
        finally:
            self.is_over = True
            self._channel.close()
            self._forks.kill(self._number)  # a probe may hang
            self._memory.release(self._size)
            for answer in self._open.values():
                if not answer.done():
                    answer.set_exception(error)
