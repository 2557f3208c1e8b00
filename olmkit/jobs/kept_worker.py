"""One child process that is kept between tasks, for a function whose state is worth keeping: parsed files, earlier answers.

Tasks run one after the other. A task that exceeds its limits, and one that is cancelled, ends the process; the next task gets
another one, which starts without state. So it does if a file or directory that the process may read was replaced. Never retries.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, TypeVar

from olmkit.errors import OlmError
from olmkit.jobs import codec
from olmkit.jobs.fork_client import ForkServerClient
from olmkit.jobs.job import Limits, Role, Task
from olmkit.jobs.memory_budget import MemoryBudget
from olmkit.jobs.outcome import error_of_exit, lost_error, outcome_of_line, timeout_error
from olmkit.jobs.sandbox import Sandbox
from olmkit.jobs.statistics import JobRecord
from olmkit.jobs.worker_process import WorkerLost, WorkerProcess
from olmkit.store.disk_errors import JOB_FILES, disk_error

Result = TypeVar("Result")

TASKS_PER_PROCESS = 10_000
"""The number of tasks after which a process is replaced, which bounds what may leak."""
MAX_ANSWER_BYTES = 64 * 1024 * 1024
"""The limit of one answer."""


class KeptWorker:
    """All calls from one event loop. `limits` are those of each task, except that of memory, which is that of the process.

    `preload` names the modules that the process starts with; `sandbox` is what it may reach.
    """

    def __init__(
        self,
        *,
        limits: Limits | None = None,
        preload: Sequence[str] = (),
        sandbox: Sandbox | None = None,
        memory: MemoryBudget | None = None,
        tasks_per_process: int = TASKS_PER_PROCESS,
    ) -> None:
        self._limits = limits or Limits()
        self._sandbox = sandbox or Sandbox()
        self._forks = ForkServerClient(preload, self._sandbox)
        self._memory = memory or MemoryBudget()
        self._memory.require(self._limits.memory_bytes, 0)
        self._tasks_per_process = tasks_per_process
        self._process: WorkerProcess | None = None
        self._files = self._sandbox.file_identities()
        """Those that the process may read."""
        self._turn = asyncio.Lock()
        self.started = 0
        """The number of processes that were started."""

    def warm_up(self) -> None:
        """Start the fork server, so that the first task does not wait for its imports. Needs a running event loop."""
        self._forks.warm_up()

    async def run(self, task: Task[Any, Result]) -> Result:
        """The result of a task. Raises the OlmError of its function, or one with a JobReason: Blocked if the task surely
        caused the end of the process, Waiting if the machine may have. Cancelling it ends the process.
        """
        with JobRecord(task.job) as record:
            async with self._turn:
                try:
                    outcome = await self._outcome(task, record)
                except BaseException:
                    self.stop()
                    raise
            record.end(outcome)
        if isinstance(outcome, OlmError):
            raise outcome
        return outcome

    def stop(self) -> None:
        """End the process, and with it the task that it runs. The next task gets another one."""
        if self._process is not None:
            self._process.close()
            self._process = None

    async def close(self) -> None:
        """End the process and the fork server, and wait until they are gone."""
        process = self._process
        self.stop()
        if process is not None:
            await process.ended()
        await self._forks.close()

    async def _outcome(self, task: Task[Any, Result], record: JobRecord) -> Result | OlmError:
        # Requests and answers may be large, and the event loop must not wait for them.
        request = await asyncio.to_thread(codec.to_json, task.request)
        try:
            process = await self._available_process()
            record.run()
            async with asyncio.timeout(self._limits.timeout.total_seconds()):
                answer = await process.ask(task.job.function, request)
            return await asyncio.to_thread(outcome_of_line, task.job, answer)
        except TimeoutError:
            self.stop()
            return timeout_error(self._limits)
        except WorkerLost as lost:
            return lost_error(lost.failure) if lost.status is None else error_of_exit(lost.status, self._limits)
        except (OSError, ValueError) as error:
            self.stop()
            return disk_error(error, JOB_FILES) or lost_error()

    async def _available_process(self) -> WorkerProcess:
        """Waits until there is memory for it. Raises OSError when there cannot be one."""
        process, files = self._process, self._sandbox.file_identities()
        is_usable = process is not None and not process.is_over and process.asked < self._tasks_per_process
        if process is not None and is_usable and files == self._files:
            return process
        self.stop()
        release = await self._memory.acquire(self._limits.memory_bytes)
        self._files = files
        self._process = WorkerProcess(self._forks, Role.KEEP, self._limits, release, MAX_ANSWER_BYTES)
        self.started += 1
        return self._process
