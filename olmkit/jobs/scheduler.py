"""Which jobs run, wait, have ended: the state that a controller's World shows.

One Jobs per process, shared by its controllers. Everything is called from the event loop and returns at once. Never decides what
to run: that is a Plan.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, TypeAlias

import orjson

from olmkit.errors import Blocked, OlmError, Waiting
from olmkit.jobs import protocol, staging
from olmkit.jobs.fork_client import ForkServerClient, ForkServerLost
from olmkit.jobs.job import JobReason, Limits, Task
from olmkit.jobs.memory_budget import MemoryBudget
from olmkit.jobs.probe_pool import ProbePool
from olmkit.jobs.sandbox import Sandbox

log = logging.getLogger(__name__)

FIRST_RETRY_DELAY = timedelta(seconds=5)
MAX_RETRY_DELAY = timedelta(minutes=5)
PROBE_TIMEOUT = timedelta(minutes=2)
"""For a look and its turn; then the job is run as if it had none."""
SLOT_HOLD_TIME = timedelta(seconds=30)
OVERTIME_SLOTS_PER_SLOT = 3
"""Jobs that have given their turn away and still run, for each turn there is."""
WAITING = "waiting for its turn"
"""The progress of a job that is not run yet."""
WAITING_FOR_MEMORY = "waiting for memory to read it with"
"""The progress of a job that has fetched what it needs."""
NO_FILES = Sandbox()
"""The sandbox of jobs that read and write no files of ours."""


@dataclass(frozen=True)
class Running:
    """It runs, or waits for its turn; `progress` is its last line for people."""

    identity: str
    progress: str = ""


@dataclass(frozen=True)
class Finished:
    """`result` is what the function returned."""

    identity: str
    result: dict[str, Any]


@dataclass(frozen=True)
class Failed:
    """Blocked: nothing is tried again under this identity. Waiting: `ensure` starts it again once `error.after` has passed.

    `error.after` doubles with each attempt, up to 5 minutes. `finished_at` is time.monotonic().
    """

    identity: str
    error: OlmError
    finished_at: float
    attempts: int

    def due(self, now: float) -> bool:
        """Whether it may be tried again at `now` (time.monotonic())."""
        return isinstance(self.error, Waiting) and now >= self.finished_at + self.error.after.total_seconds()


JobState: TypeAlias = Running | Finished | Failed


@dataclass(eq=False)
class _Job:
    """`run` is its asyncio task; a job that has lost its key to another identity no longer writes state.

    What it is to do is not kept here: arguments may hold logins, which are dropped when the job ends.
    """

    key: str
    state: JobState
    attempts: int = 1
    run: asyncio.Task[None] | None = field(default=None)


class Jobs:
    """`ended(key)` is called from the event loop when a job finished or failed, never when it was cancelled.

    At most `concurrent` children run at a time, in the order asked for, and beside them some that have run for `patience`.
    `preload` names modules the fork server loads once, so that children start with them. `sandbox` is what all jobs may reach,
    `memory` what they have together with those of other Jobs of this process. Raises OlmError when that is too little for one.
    """

    def __init__(  # noqa: PLR0913 what jobs are given has this many parts
        self,
        ended: Callable[[str], None],
        *,
        concurrent: int = 4,
        limits: Limits | None = None,
        preload: Sequence[str] = (),
        patience: timedelta = SLOT_HOLD_TIME,
        sandbox: Sandbox = NO_FILES,
        memory: MemoryBudget | None = None,
    ) -> None:
        self._ended = ended
        self._limits = limits or Limits()
        self._turns = _Slots(concurrent, patience.total_seconds())
        self._forks = ForkServerClient(preload, sandbox)
        self._memory = memory or MemoryBudget()
        self._memory.require(self._limits.fetch_memory_bytes, self._limits.parser_memory)
        self._lookout = ProbePool(self._forks, self._limits, sandbox, self._memory)
        self._jobs: dict[str, _Job] = {}
        self._runs: set[asyncio.Task[None]] = set()

    def warm_up(self) -> None:
        """Start what forks the children now, so that the first job need not wait for its imports. Needs a running loop."""
        self._forks.warm_up()

    def state(self, key: str) -> JobState | None:
        """What is known of the key's job; None before it was asked for and after it was forgotten."""
        job = self._jobs.get(key)
        if job is None:
            return None
        if isinstance(job.state, Failed):
            # It is raised once per pass; frames of passes long gone must not pile up on it.
            job.state.error.__traceback__ = None
        return job.state

    def ensure(self, key: str, identity: str, task: Task) -> JobState:
        """Start the job or keep it, and say how it stands.

        Another identity cancels the one before. A failure that is due (see Failed) is started again; any other end is kept.
        """
        state, attempts = self.state(key), 1
        if state is not None and state.identity == identity:
            if not (isinstance(state, Failed) and state.due(time.monotonic())):
                return state
            attempts = state.attempts + 1
        self._memory.require(self._limits.first_process_memory(task), 0)
        self.cancel(key)
        job = self._jobs[key] = _Job(key, Running(identity, WAITING), attempts)
        job.run = asyncio.create_task(self._run(job, task), name=f"job {key}")
        self._runs.add(job.run)
        job.run.add_done_callback(self._runs.discard)
        return job.state

    def cancel(self, key: str) -> None:
        """Kill the key's job if it runs, and forget it."""
        job = self._jobs.pop(key, None)
        if job is not None and job.run is not None:
            job.run.cancel()

    def cancel_all(self) -> None:
        """Kill all jobs, and forget them and every end that was noted."""
        for key in list(self._jobs):
            self.cancel(key)

    def forget(self, key: str) -> None:
        """Drop an end that was noted; a job that runs goes on."""
        if not isinstance(self.state(key), Running):
            self._jobs.pop(key, None)

    async def close(self) -> None:
        """Kill all jobs and the fork server, and wait until they are gone."""
        self.cancel_all()
        if self._runs:
            await asyncio.wait(self._runs)
        await self._lookout.close()
        await self._forks.close()

    async def _run(self, job: _Job, task: Task) -> None:
        identity = job.state.identity
        try:
            outcome: dict[str, Any] | OlmError | None = await self._look(job, task)
        except OlmError as error:
            outcome = error.with_traceback(None)  # its frames hold the task
        if outcome is None:
            async with self._turns.one(), self._memory.hold(self._limits.first_process_memory(task)):
                outcome = await self._staged(job, task, identity)
        job.state = _state(identity, outcome, job.attempts)
        self._ended(job.key)

    async def _look(self, job: _Job, task: Task) -> dict[str, Any] | None:
        """The result, if a look is enough for it; None: the job is to be run. Raises OlmError."""
        if not task.look:
            return None
        job.state = Running(job.state.identity)
        try:
            async with asyncio.timeout(PROBE_TIMEOUT.total_seconds()):
                result = await self._lookout.ask(task)
        except TimeoutError:
            self._lookout.drop()  # one look may keep all others from being answered
            result = None
        job.state = Running(job.state.identity, WAITING)
        return result

    async def _staged(self, job: _Job, task: Task, identity: str) -> dict[str, Any] | OlmError:
        """Run it with the folder it asks for; what it left there is taken over when its process is gone."""
        stage = task.staging
        if stage is None:
            return await self._outcome(job, task, identity)
        try:
            async with staging.open_folder(stage) as folder:
                outcome = await self._outcome(job, task.at(folder), identity)
                if isinstance(outcome, OlmError):
                    return outcome
                return await staging.run_in_thread(lambda: stage.finish(folder, outcome))
        except OlmError as error:
            return error.with_traceback(None)
        except (OSError, ValueError, KeyError, TypeError, RuntimeError, MemoryError) as error:
            log.warning("what job %s left cannot be used: %r", job.key, error)
            return Waiting(
                JobReason.UNEXPECTED, "what the process that did the work left cannot be used", FIRST_RETRY_DELAY
            )

    async def _outcome(self, job: _Job, task: Task, identity: str) -> dict[str, Any] | OlmError:
        """Run it in a child of its own."""
        job.state = Running(identity)
        said = _Answer(lambda line: setattr(job, "state", Running(identity, line)))
        try:
            async with asyncio.timeout(self._limits.timeout.total_seconds()) as clock:
                status = await (
                    self._run_both(task, said, clock) if task.parses else self._forks.run(task, self._limits, said)
                )
            return said.outcome if said.outcome is not None else _death(status, self._limits)
        except TimeoutError:
            text = f"it took longer than {_seconds(self._limits.timeout.total_seconds())} and was ended"
            return Waiting(JobReason.TOO_LONG, text, MAX_RETRY_DELAY)
        except (ForkServerLost, OSError, ValueError) as error:
            log.warning("job %s was lost: %r", job.key, error)
            return Waiting(JobReason.UNEXPECTED, "the process that did the work was lost", FIRST_RETRY_DELAY)

    async def _run_both(self, task: Task, said: _Answer, clock: asyncio.Timeout) -> int:
        """Run it in a child, with another that parses for it from the moment the first asks for one. The status that tells."""
        ours, theirs = socket.socketpair()
        parsing: list[asyncio.Task[int]] = []

        def parse() -> None:
            if not parsing:
                parsing.append(asyncio.create_task(self._parse(task, theirs, said, clock)))

        said.parse = parse
        try:
            status = await self._forks.run(task, self._limits, said, ours)
            return await parsing[0] if said.lost and parsing else status
        finally:
            theirs.close()
            for each in parsing:
                each.cancel()
                await asyncio.wait([each])
                if not each.cancelled():
                    each.exception()  # the job has an end of its own by now

    async def _parse(self, task: Task, channel: socket.socket, said: _Answer, clock: asyncio.Timeout) -> int:
        """The wait status of the process that parses. To wait for memory costs the job none of its time."""
        loop = asyncio.get_running_loop()
        left = (clock.when() or loop.time()) - loop.time()
        clock.reschedule(None)
        said.progress(WAITING_FOR_MEMORY)
        try:
            async with self._memory.hold(self._limits.parser_memory, parser=True):
                clock.reschedule(loop.time() + left)
                return await self._forks.parse(task, self._limits, channel)
        finally:
            channel.close()


class _Slots:
    """Whose turn it is. A job that takes long gives its own away and goes on beside, as far as there is place: those that wait
    for slow servers must not keep the others from theirs."""

    def __init__(self, count: int, patience: float) -> None:
        self._free = asyncio.Semaphore(count)
        self._patience = patience
        self._places_beside = asyncio.Semaphore(OVERTIME_SLOTS_PER_SLOT * count)

    @asynccontextmanager
    async def one(self) -> AsyncIterator[None]:
        """Wait for a turn, and have it."""
        async with AsyncExitStack() as stack:
            await self._free.acquire()
            giving = asyncio.create_task(self._give_away(stack))
            stack.callback(self._free.release)
            stack.callback(giving.cancel)
            yield

    async def _give_away(self, held: AsyncExitStack) -> None:
        await asyncio.sleep(self._patience)
        await self._places_beside.acquire()
        held.pop_all()
        held.callback(self._places_beside.release)
        self._free.release()


class _Answer:
    """What a child said so far: the last progress line is handed on, the answer is kept."""

    def __init__(self, progress: Callable[[str], None]) -> None:
        self.progress = progress
        self.parse: Callable[[], None] | None = None
        """Called when the child asks for a process that parses."""
        self.lost = False
        """Whether that process ended without an answer."""
        self.outcome: dict[str, Any] | OlmError | None = None

    def __call__(self, line: bytes) -> None:
        """Raises ValueError for what is no frame of wire.py."""
        match orjson.loads(line):
            case {"progress": str(text)}:
                self.progress(text)
            case {"parse": True} if self.parse is not None:
                self.parse()
            case {"lost": True}:
                self.lost = True
            case {"result": dict(result)}:
                self.outcome = result
            case {"error": dict(error)}:
                self.outcome = protocol.error_from_json(error)
            case {"memory": True}:
                self.outcome = Blocked(JobReason.OUT_OF_MEMORY, "it needs more memory than one piece of work may use")
            case {"unexpected": str(text)}:
                self.outcome = Waiting(JobReason.UNEXPECTED, f"unexpected error: {text}", FIRST_RETRY_DELAY)
            case _:
                raise ValueError("the job's answer cannot be read")


def _death(status: int, limits: Limits) -> OlmError:
    """Why a child ended without an answer. What its input surely did is Blocked, what the machine may have done is Waiting."""
    number = status & 0x7F
    if number == signal.SIGXCPU:
        return Blocked(JobReason.TOO_LONG, f"it needs more than {_seconds(limits.cpu_seconds)} of CPU time")
    if number == signal.SIGKILL:
        text = "the process that did the work was killed, most likely because the machine is short of memory"
        return Waiting(JobReason.OUT_OF_MEMORY, text, FIRST_RETRY_DELAY)
    if number:
        return Blocked(JobReason.CRASHED, f"the process that did the work crashed ({signal.Signals(number).name})")
    return Waiting(JobReason.UNEXPECTED, "the process that did the work ended without an answer", FIRST_RETRY_DELAY)


def _state(identity: str, outcome: dict[str, Any] | OlmError, attempts: int) -> Finished | Failed:
    if not isinstance(outcome, OlmError):
        return Finished(identity, outcome)
    if isinstance(outcome, Waiting):
        outcome.after = min(outcome.after * 2 ** min(attempts - 1, 16), max(MAX_RETRY_DELAY, outcome.after))
    return Failed(identity, outcome, time.monotonic(), attempts)


def _seconds(value: float) -> str:
    return f"{value:g} s"
