"""Probes, which may spare a job: they share one child process, because a fork costs several times what a probe does, and a job
that waits for a server holds memory that others need.

A probe that gets no answer from the worker, for whatever reason, decides nothing: the job itself runs then, in a child of its
own, and reports what is wrong. The worker is replaced after a number of probes and ends when none has run for a while.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any, TypeVar

import orjson

from olmkit.errors import OlmError
from olmkit.jobs import codec
from olmkit.jobs.fork_client import ForkServerClient
from olmkit.jobs.job import Limits, Role, Task
from olmkit.jobs.memory_budget import MemoryBudget, Turn
from olmkit.jobs.outcome import outcome_of
from olmkit.jobs.sandbox import Sandbox
from olmkit.jobs.worker_process import WorkerProcess

Result = TypeVar("Result")

PROBES_PER_WORKER = 500
"""The limit of probes of one worker, which bounds what may leak and the CPU time that it uses."""
WORKER_IDLE_TIMEOUT_SECONDS = 5.0
PROBE_TIMEOUT = timedelta(minutes=2)
"""The timeout of a probe; then the job runs as if it had no probe."""
MAX_CONCURRENT_PROBES = 32
"""Probes of sources that have answered, at a time; as many are retries of others."""
MAX_CONCURRENT_FIRST_PROBES = 64
"""Probes of sources that are not known to answer, at a time, of jobs that have not failed yet."""


class ProbePool:
    """All calls from one event loop."""

    def __init__(
        self, forks: ForkServerClient, limits: Limits, sandbox: Sandbox, memory: MemoryBudget, max_turn: timedelta
    ) -> None:
        """`max_turn`: how long the worker keeps its memory from a job that waits for it."""
        self._forks = forks
        self._limits = replace(limits, memory_bytes=limits.fetch_memory_bytes)
        self._sandbox = sandbox
        self._memory = memory
        self._turn_seconds = max_turn.total_seconds()
        self._files: tuple[tuple[int, int] | None, ...] = ()
        self._known, self._retries = (asyncio.Semaphore(MAX_CONCURRENT_PROBES) for _ in range(2))
        self._first = asyncio.Semaphore(MAX_CONCURRENT_FIRST_PROBES)
        self._starting = asyncio.Lock()
        self._worker: WorkerProcess | None = None
        self._running = 0
        """Probes that have no answer yet: the worker is idle without any."""
        self._idle: asyncio.TimerHandle | None = None

    def place(self, *, is_known: bool, is_retry: bool) -> asyncio.Semaphore:
        """The places of probes of one kind: sources that have answered (`is_known`), others, and retries of others. Each probe
        runs in a place, so that those which wait for servers that never answer do not keep others waiting."""
        return self._known if is_known else self._retries if is_retry else self._first

    async def run(self, task: Task[Any, Result]) -> Result | None:
        """Run the probe and return its result; None: the job itself is to run. Raises the OlmError of the probe."""
        self._begin()
        try:
            async with asyncio.timeout(PROBE_TIMEOUT.total_seconds()):
                answer = await self._ask(task.job.function, codec.to_json(task.request))
            if "result" in answer and answer["result"] is None:
                return None
            outcome = outcome_of(task.job, answer)
        except TimeoutError:
            self._release()  # one probe may block the answers of all others; the next one gets another worker
            return None
        except (OSError, ValueError):
            return None
        finally:
            self._end()
        if isinstance(outcome, OlmError):
            raise outcome
        return outcome

    async def close(self) -> None:
        """End the worker for good."""
        if self._idle is not None:
            self._idle.cancel()
        if (worker := self._worker) is not None:
            self._worker = None
            worker.close()
            await worker.ended()

    async def _ask(self, function: str, request: bytes) -> dict[str, Any]:
        async with self._starting:
            worker = await self._available_worker()
        answer: dict[str, Any] = orjson.loads(await worker.ask(function, request))
        return answer

    async def _available_worker(self) -> WorkerProcess:
        """Waits until there is memory for it. Raises OSError when there cannot be one."""
        worker, files = self._worker, self._sandbox.file_identities()
        if worker is not None and not worker.is_over and worker.asked < PROBES_PER_WORKER and files == self._files:
            return worker
        self._release()  # the files that it may read may have been replaced
        turn = Turn(self._turn_seconds)
        release = await self._memory.acquire(self._limits.memory_bytes, turn)
        turn.begin(self._release)
        self._worker, self._files = WorkerProcess(self._forks, Role.PROBE, self._limits, release), files
        return self._worker

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
