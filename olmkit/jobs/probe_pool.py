"""Probes, which may spare a job: they share one child process, because a fork costs several times what a probe does.

A probe that gets no answer, for whatever reason, decides nothing: the job itself runs then, in a child of its own, and reports
what is wrong. The worker is replaced after a number of probes and ends when none has run for a while.
"""

from __future__ import annotations

import asyncio
import errno
from dataclasses import replace
from typing import Any, TypeVar

import orjson

from olmkit.errors import OlmError
from olmkit.jobs import codec
from olmkit.jobs.fork_client import ForkServerClient
from olmkit.jobs.job import Limits, Role, Task
from olmkit.jobs.memory_budget import MemoryBudget
from olmkit.jobs.outcome import outcome_of
from olmkit.jobs.sandbox import Sandbox
from olmkit.jobs.worker_process import WorkerProcess

Result = TypeVar("Result")

PROBES_PER_WORKER = 500
"""The limit of probes of one worker, which bounds what may leak and the CPU time that it uses."""
WORKER_IDLE_TIMEOUT_SECONDS = 5.0
MAX_CONCURRENT_PROBES = 16


class ProbePool:
    """All calls from one event loop."""

    def __init__(self, forks: ForkServerClient, limits: Limits, sandbox: Sandbox, memory: MemoryBudget) -> None:
        self._forks = forks
        self._limits = replace(limits, memory_bytes=limits.fetch_memory_bytes)
        self._sandbox = sandbox
        self._memory = memory
        self._files: tuple[tuple[int, int] | None, ...] = ()
        self._free = asyncio.Semaphore(MAX_CONCURRENT_PROBES)
        self._worker: WorkerProcess | None = None
        self._running = 0
        """Probes that have no answer yet: the worker is idle without any."""
        self._idle: asyncio.TimerHandle | None = None

    async def run(self, task: Task[Any, Result]) -> Result | None:
        """What the probe returned; None: the job itself is to run. Raises the OlmError of the probe."""
        async with self._free:
            self._begin()
            try:
                request = codec.to_json(task.request)
                answer = orjson.loads(await self._available_worker().ask(task.job.function, request))
                if "result" in answer and answer["result"] is None:
                    return None
                outcome = outcome_of(task.job, answer)
            except (OSError, ValueError):
                return None
            finally:
                self._end()
        if isinstance(outcome, OlmError):
            raise outcome
        return outcome

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

    def _available_worker(self) -> WorkerProcess:
        """Raises OSError when there cannot be one."""
        worker, files = self._worker, self._sandbox.file_identities()
        if worker is not None and not worker.is_over and (worker.asked >= PROBES_PER_WORKER or files != self._files):
            worker.close_when_idle()  # the files that it may read may have been replaced
            worker = None
        if worker is None or worker.is_over:
            if not self._memory.try_acquire(self._limits.memory_bytes):
                raise OSError(errno.ENOMEM, "all memory for jobs is in use")
            worker = self._worker = WorkerProcess(self._forks, Role.PROBE, self._limits, self._memory)
            self._files = files
        return worker

    def _begin(self) -> None:
        self._running += 1
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None

    def _end(self) -> None:
        self._running -= 1
        if self._running == 0 and self._worker is not None:
            self._idle = asyncio.get_running_loop().call_later(WORKER_IDLE_TIMEOUT_SECONDS, self._release)

    def _release(self) -> None:
        if self._worker is not None:
            self._worker.close_when_idle()
            self._worker = None
