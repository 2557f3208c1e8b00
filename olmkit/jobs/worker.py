"""A child process that answers many requests: started when it is needed, replaced when it is used up, ended when it is idle.

For functions whose state is worth keeping (parsed files, earlier answers), and for probes, which cost less than a fork. Requests
and answers are JSON lines: {"id", "function", "request"} to the child, {"id", ...} with the keys of outcome.py from it. Never
retries.
"""

from __future__ import annotations

import asyncio
import math
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar

import msgspec

from olmkit.errors import OlmError
from olmkit.jobs import codec, protocol
from olmkit.jobs.fork_client import ForkServerClient, ForkServerLost
from olmkit.jobs.job import JobReason, Limits, Role, Task
from olmkit.jobs.memory_budget import MemoryBudget, Turn
from olmkit.jobs.metrics import JobRecord
from olmkit.jobs.outcome import error_of_exit, lost_error, outcome_of_line, timeout_error
from olmkit.store.disk_errors import JOB_FILES, disk_error

Result = TypeVar("Result")

REQUESTS_PER_PROCESS = 10_000
"""The number of requests after which a process is replaced, which bounds what may leak."""
MAX_ANSWER_BYTES = 64 * 1024 * 1024
"""The limit of one answer."""


class WorkerLost(ConnectionResetError):
    """The process ended before it answered. `status` is its wait status, None if that is not known; `failure` is then why no
    process can be started, empty if that is not known either."""

    def __init__(self, status: int | None, failure: str = "") -> None:
        super().__init__("the worker ended")
        self.status = status
        self.failure = failure


class Worker:
    """One process at a time, a child of the fork server of `forks`. All calls from one event loop.

    `run` has tasks run one after the other, each within `limits`; `ask` passes on requests at once. The process holds
    `limits.memory_bytes` of `memory`, for at least `max_turn_seconds`, after which it gives way to jobs that wait for memory. It
    is replaced after `requests_per_process`, and when a file or directory that it may read was replaced, and ends when it has
    had no request for `idle_seconds`. The process that replaces it starts without its state.
    """

    def __init__(  # noqa: PLR0913 limits and options of the process
        self,
        forks: ForkServerClient,
        *,
        limits: Limits | None = None,
        memory: MemoryBudget | None = None,
        role: Role = Role.KEEP,
        requests_per_process: int = REQUESTS_PER_PROCESS,
        max_answer_bytes: int = MAX_ANSWER_BYTES,
        idle_seconds: float = math.inf,
        max_turn_seconds: float = math.inf,
    ) -> None:
        """Raises OlmError if `memory` is too small for the process."""
        self._forks = forks
        self._limits = limits or Limits()
        self._memory = memory or MemoryBudget()
        self._memory.require(self._limits.memory_bytes, 0)
        self._role = role
        self._requests_per_process = requests_per_process
        self._max_answer_bytes = max_answer_bytes
        self._idle_seconds = idle_seconds
        self._max_turn_seconds = max_turn_seconds
        self._process: _Process | None = None
        self._files = forks.sandbox.file_identities()
        """Those that the process may read."""
        self._turn, self._starting = asyncio.Lock(), asyncio.Lock()
        self._users = 0
        """Requests that have no answer yet: the process is idle without any."""
        self._idle: asyncio.TimerHandle | None = None
        self.started = 0
        """The number of processes that were started."""

    def warm_up(self) -> None:
        """Start the fork server, so that the first task does not wait for its imports. Needs a running event loop."""
        self._forks.warm_up()

    async def run(self, task: Task[Any, Result]) -> Result:
        """The result of a task, which has the process to itself.

        Raises the OlmError of its function, or one with a JobReason: Blocked if the task surely caused the end of the process,
        Waiting if the machine may have. A task that exceeds its limits, and one that is cancelled, ends the process.
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

    async def ask(self, function: str, request: bytes) -> bytes:
        """The answer, a JSON object. `request` is JSON. Raises WorkerLost, OSError when no process can be started, and
        ValueError when the child sent something else.
        """
        async with self._available() as process:
            return await process.ask(function, request)

    def retire(self) -> None:
        """The next request gets another process; this one ends as soon as every request has its answer."""
        if self._process is not None:
            self._process.close_when_idle()
            self._process = None

    def stop(self) -> None:
        """End the process, and with it what it runs. The next request gets another one."""
        if self._process is not None:
            self._process.close()
            self._process = None

    async def close(self) -> None:
        """End the process and the fork server, and wait until they are gone."""
        if self._idle is not None:
            self._idle.cancel()
        process = self._process
        self.stop()
        if process is not None:
            await process.ended()
        await self._forks.close()

    async def _outcome(self, task: Task[Any, Result], record: JobRecord) -> Result | OlmError:
        # Requests and answers may be large, and the event loop must not wait for them.
        request = await asyncio.to_thread(codec.to_json, task.request)
        try:
            async with self._available() as process:
                record.run()
                async with asyncio.timeout(self._limits.timeout.total_seconds()):
                    answer = await process.ask(task.job.function, request)
            outcome = await asyncio.to_thread(outcome_of_line, task.job, answer)
            if isinstance(outcome, OlmError) and outcome.reason == JobReason.OUT_OF_MEMORY:
                self.stop()  # the child ends after that answer: it must not get the next task before
            return outcome
        except TimeoutError:
            self.stop()
            return timeout_error(self._limits)
        except WorkerLost as lost:
            return lost_error(lost.failure) if lost.status is None else error_of_exit(lost.status, self._limits)
        except (OSError, ValueError) as error:
            self.stop()
            return disk_error(error, JOB_FILES) or lost_error()

    @asynccontextmanager
    async def _available(self) -> AsyncIterator[_Process]:
        """The process, which is not idle meanwhile. Waits until there is memory for it. Raises OSError when there cannot be
        one."""
        self._users += 1
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None
        try:
            async with self._starting:
                process = await self._usable_process()
            yield process
        finally:
            self._users -= 1
            if self._users == 0 and math.isfinite(self._idle_seconds):
                self._idle = asyncio.get_running_loop().call_later(self._idle_seconds, self.retire)

    async def _usable_process(self) -> _Process:
        process, files = self._process, self._forks.sandbox.file_identities()
        is_usable = process is not None and not process.is_over and process.asked < self._requests_per_process
        if process is not None and is_usable and files == self._files:
            return process
        self.retire()
        turn = Turn(self._max_turn_seconds)
        release = await self._memory.acquire(self._limits.memory_bytes, turn)
        turn.begin(self.retire)
        self._files = files
        self._process = _Process(self._forks, self._role, self._limits, release, self._max_answer_bytes)
        self.started += 1
        return self._process


class _Process:
    """One process, and its requests that have no answer yet.

    It has acquired memory, which `release` returns, until it has ended.
    """

    def __init__(
        self, forks: ForkServerClient, role: Role, limits: Limits, release: Callable[[], None], max_answer_bytes: int
    ) -> None:
        """Raises OSError; the memory is released then."""
        self._release = release
        self._max_answer_bytes = max_answer_bytes
        try:
            self._child = forks.open(role, limits)
        except BaseException:
            release()
            raise
        self._open: dict[int, asyncio.Future[bytes]] = {}
        self._closes_when_idle = False
        self._sending = asyncio.Lock()
        self._reading = asyncio.create_task(self._read(), name=f"{role} worker")
        self.asked = 0
        """The number of requests."""
        self.is_over = False
        """True if it answers no more requests."""

    async def ask(self, function: str, request: bytes) -> bytes:
        """As Worker.ask."""
        self.asked += 1
        number, loop = self.asked, asyncio.get_running_loop()
        answer: asyncio.Future[bytes] = loop.create_future()
        self._open[number] = answer
        line = codec.to_json(protocol.WorkerRequest(number, function, msgspec.Raw(request))) + b"\n"
        try:
            # A cancellation does not cut it short: half a message would spoil the channel for all others.
            await asyncio.shield(loop.create_task(self._send(line)))
            return await answer
        finally:
            del self._open[number]
            if self._closes_when_idle and not self._open:
                self.close()

    def close_when_idle(self) -> None:
        """Close the channel as soon as every request has its answer."""
        self._closes_when_idle = True
        if not self._open:
            self.close()

    def close(self) -> None:
        """The process ends, and requests without an answer fail."""
        self.is_over = True
        with suppress(OSError):  # it may be closed already
            self._child.channel.shutdown(socket.SHUT_RDWR)  # _read() reads the end, and kills the process

    async def ended(self) -> None:
        """Wait until the channel is closed."""
        await asyncio.wait([self._reading])

    async def _send(self, line: bytes) -> None:
        async with self._sending:
            try:
                await asyncio.get_running_loop().sock_sendall(self._child.channel, line)
            except OSError:
                self.is_over = True  # why it ended, _read() finds out

    def _on_line(self, line: bytes) -> None:
        answer = self._open.get(msgspec.json.decode(line, type=_Head).id)
        if answer is not None and not answer.done():
            answer.set_result(line)

    async def _read(self) -> None:
        """Pass answers on until the process ends or sends something else."""
        error: Exception | None = None
        try:
            await protocol.read_lines(self._child.channel, self._on_line, self._max_answer_bytes, is_each=True)
        except (OSError, ValueError) as unreadable:
            error = unreadable
        finally:
            self.is_over = True
            try:
                lost: Exception = WorkerLost(await self._exit_status())
            except ForkServerLost as server:
                lost = WorkerLost(None, str(server))
            except OSError as not_started:
                lost = not_started
            self._release()
            for answer in self._open.values():
                if not answer.done():
                    answer.set_exception(error if isinstance(error, ValueError) else lost)

    async def _exit_status(self) -> int:
        """Close the channel, kill the process, which may hang, and wait for its end. Raises OSError if it was not started, and
        ForkServerLost."""
        self._child.channel.close()
        return await self._child.end()


class _Head(msgspec.Struct):
    """The part of an answer that names its request."""

    id: int
