"""Queues jobs, runs them and keeps those that have ended: the state that a controller's World shows.

One Jobs per process, shared by its controllers. Everything is called from the event loop and returns at once. Never decides
what to run: that is a Plan.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

import orjson

from olmkit.errors import OlmError, Waiting
from olmkit.jobs import staging
from olmkit.jobs.fork_client import ForkServerClient, ForkServerLost
from olmkit.jobs.job import Job, JobReason, Limits, Progress, Task
from olmkit.jobs.memory_budget import MemoryBudget, Turn
from olmkit.jobs.metrics import JobRecord
from olmkit.jobs.outcome import (
    FIRST_RETRY_DELAY,
    MAX_RETRY_DELAY,
    error_of_exit,
    lost_error,
    outcome_of,
    timeout_error,
)
from olmkit.jobs.probe_pool import ProbePool
from olmkit.jobs.sandbox import Sandbox
from olmkit.jobs.state import Failed, Finished, JobState, Queued, Running
from olmkit.store.disk_errors import JOB_FILES, disk_error

log = logging.getLogger(__name__)

Result = TypeVar("Result")

MAX_SLOT_TIME = timedelta(seconds=30)
"""The time after which a job leaves its slot to the next one, and its memory to a job that has had none."""
WAITING_FOR_ANSWER = "waiting for the server to answer"
"""The progress of a job whose source is asked whether it answers."""
WAITING_FOR_MEMORY = "waiting for memory"
"""The progress of a job that has fetched what it is to parse."""
NO_FILES_SANDBOX = Sandbox()
"""The sandbox of jobs that need no files of the controller."""


@dataclass(eq=False)
class _Entry(Generic[Result]):
    """A job under its key. `run` is its asyncio task; when the key has passed to another identity it no longer writes state.

    The task is not kept here: requests may hold logins, which are dropped when the job ends.
    """

    key: str
    state: JobState[Result]
    attempts: int = 1
    turn: Turn = field(default_factory=Turn)
    run: asyncio.Task[None] | None = field(default=None)


class Jobs(Generic[Result]):
    """Jobs whose results are `Result`. `ended(key)` is called from the event loop when a job finished or failed, never when it
    was cancelled.

    At most `max_concurrent` children run at a time, in the order asked for, and in addition those that have run for
    `max_slot_time`, as far as there is memory: such a job is ended and queued again when another one needs its memory, unless
    it is the eldest (docs/decisions/0063). `preload` names modules that the fork server loads once, so that children start with
    them. `sandbox` is what all jobs may reach, `memory` the budget that they share with other Jobs of this process. Raises
    OlmError if the budget is too small for one job.
    """

    def __init__(  # noqa: PLR0913 limits and options of all jobs
        self,
        ended: Callable[[str], None],
        *,
        max_concurrent: int = 4,
        limits: Limits | None = None,
        preload: Sequence[str] = (),
        max_slot_time: timedelta = MAX_SLOT_TIME,
        sandbox: Sandbox = NO_FILES_SANDBOX,
        memory: MemoryBudget | None = None,
    ) -> None:
        self._ended = ended
        self._limits = limits or Limits()
        self._memory = memory or MemoryBudget()
        self._slots = _Slots(max_concurrent, max_slot_time.total_seconds(), self._memory)
        self._forks = ForkServerClient(preload, sandbox)
        self._memory.require(self._limits.fetch_memory_bytes, self._limits.parser_memory_bytes)
        self._probes = ProbePool(self._forks, self._limits, self._memory, max_slot_time)
        self._entries: dict[str, _Entry[Result]] = {}
        self._runs: set[asyncio.Task[None]] = set()

    def warm_up(self) -> None:
        """Start the fork server, so that the first job does not wait for its imports. Needs a running event loop."""
        self._forks.warm_up()

    def state(self, key: str) -> JobState[Result] | None:
        """The state of the key's job; None before `ensure` and after `forget`."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        if isinstance(entry.state, Failed):
            # It is raised once per pass: the frames of earlier passes must not accumulate in its traceback.
            entry.state.error.__traceback__ = None
        return entry.state

    def ensure(self, key: str, identity: str, task: Task[Any, Result]) -> JobState[Result]:
        """Start the job or keep it; returns its state.

        A job of another identity under the same key is cancelled. A failure that is due (see Failed) is retried; any other end
        is kept.
        """
        state, attempts = self.state(key), 1
        if state is not None and state.identity == identity:
            if not (isinstance(state, Failed) and state.is_due(time.monotonic())):
                return state
            attempts = state.attempts + 1
        self._memory.require(task.job.first_process_memory(self._limits), 0)
        self.cancel(key)
        entry = self._entries[key] = _Entry[Result](key, Queued(identity), attempts)
        entry.run = asyncio.create_task(self._run(entry, task), name=f"job {key}")
        self._runs.add(entry.run)
        entry.run.add_done_callback(self._runs.discard)
        return entry.state

    def cancel(self, key: str) -> None:
        """Kill the key's job if it runs, and forget it."""
        entry = self._entries.pop(key, None)
        if entry is not None and entry.run is not None:
            entry.run.cancel()

    def cancel_all(self) -> None:
        """Kill all jobs, and forget them and every one that has ended."""
        for key in list(self._entries):
            self.cancel(key)

    def forget(self, key: str) -> None:
        """Forget a job that has ended; one that is queued or runs continues."""
        if not isinstance(self.state(key), Queued | Running):
            self._entries.pop(key, None)

    @property
    def is_idle(self) -> bool:
        """True if no job is queued or runs, not even one that was cancelled and has not ended yet."""
        return not self._runs

    async def idle(self) -> None:
        """Wait until is_idle."""
        while self._runs:
            await asyncio.wait(self._runs)

    async def close(self) -> None:
        """Kill all jobs and the fork server, and wait until they are gone."""
        self.cancel_all()
        await self.idle()
        await self._probes.close()

    async def _run(self, entry: _Entry[Result], task: Task[Any, Result]) -> None:
        identity = entry.state.identity
        outcome: Result | OlmError | None
        try:
            outcome = await self._probe(entry, task)
            if outcome is None:
                outcome = await self._recorded(entry, task)
                self._note(task.source, outcome)
        except OlmError as error:
            outcome = error.with_traceback(None)  # its frames hold the task
        except Exception as error:  # whatever it is, a job that stays Running would never be retried
            log.error("job %s failed unexpectedly: %r", entry.key, error)
            outcome = lost_error()
        entry.state = _end_state(identity, outcome, entry.attempts)
        self._ended(entry.key)

    async def _probe(self, entry: _Entry[Result], task: Task[Any, Result]) -> Result | None:
        """The result, if the probe has it; None: the job itself is to run. Raises OlmError, also if the source does not
        answer."""
        sources, source = self._memory.sources, task.source
        if not task.probe and sources.answers(source):
            return None
        async with self._probes.place(is_known=sources.answers(source), is_retry=entry.attempts > 1):
            if not task.probe and sources.answers(source):
                return None  # another job has got an answer meanwhile
            entry.state = Running(entry.state.identity, "" if task.probe else WAITING_FOR_ANSWER)
            try:
                result = await self._probes.run(task)
            except OlmError:
                sources.failed(source)
                raise
            sources.answered(source)
            entry.state = Queued(entry.state.identity)
            return result

    def _note(self, source: str, outcome: Result | OlmError) -> None:
        if isinstance(outcome, Waiting):
            self._memory.sources.failed(source)
        elif not isinstance(outcome, OlmError):
            self._memory.sources.delivered(source)

    async def _recorded(self, entry: _Entry[Result], task: Task[Any, Result]) -> Result | OlmError:
        """Run it when there is a slot and memory, and record that for the metrics."""
        with JobRecord(task.job) as record:
            entry.turn = Turn(self._slots.max_seconds, task.source, is_retry=entry.attempts > 1)
            while (outcome := await self._one_turn(entry, task, record)) is None:
                entry.state = Queued(entry.state.identity, gave_way=True)
                record.wait()
            record.end(outcome)
        return outcome

    async def _one_turn(
        self, entry: _Entry[Result], task: Task[Any, Result], record: JobRecord
    ) -> Result | OlmError | None:
        """Run it from the start; None if it gave way to another job."""
        size, turn = task.job.first_process_memory(self._limits), entry.turn
        async with self._memory.hold(size, turn=turn), self._slots.one(turn):
            try:
                async with asyncio.timeout(None) as interruption:
                    turn.begin(partial(_expire, interruption))
                    record.run()
                    return await self._staged(entry, task, record)
            except TimeoutError:
                if not interruption.expired():
                    raise
                return None

    async def _staged(self, entry: _Entry[Result], task: Task[Any, Result], record: JobRecord) -> Result | OlmError:
        """Run it with the directory of its Staging, which is finished when its process is gone."""
        stage = task.staging
        if stage is None:
            return await self._outcome(entry, task, None, record)
        try:
            async with staging.open_directory(stage) as directory:
                outcome = await self._outcome(entry, task, directory, record)
                entry.turn.keep()
                if not isinstance(outcome, OlmError):
                    result: Result = outcome
                    await staging.run_in_thread(lambda: stage.finish(directory, result))
                return outcome
        except OlmError as error:
            return error.with_traceback(None)
        except (OSError, ValueError, KeyError, TypeError, RuntimeError, MemoryError) as error:
            if (waiting := disk_error(error)) is not None:
                return waiting
            log.warning("the content that job %s left cannot be used: %r", entry.key, error)
            return Waiting(JobReason.UNEXPECTED, "the content that the job left cannot be used", FIRST_RETRY_DELAY)

    async def _outcome(
        self, entry: _Entry[Result], task: Task[Any, Result], directory: Path | None, record: JobRecord
    ) -> Result | OlmError:
        """Run it in a child of its own."""
        identity = entry.state.identity
        entry.state = Running(identity)
        answer = _Answer(task.job, lambda line: setattr(entry, "state", Running(identity, line)), record, entry.turn)
        try:
            async with asyncio.timeout(self._limits.timeout.total_seconds()) as clock:
                if task.job.parses:
                    status = await self._run_with_parser(task, directory, answer, clock)
                else:
                    status = await self._forks.run(task, self._limits, directory, answer)
            return answer.outcome if answer.outcome is not None else error_of_exit(status, self._limits)
        except TimeoutError:
            return timeout_error(self._limits)
        except (ForkServerLost, OSError, ValueError) as error:
            if (waiting := disk_error(error, JOB_FILES)) is not None:
                return waiting
            log.warning("job %s was lost: %r", entry.key, error)
            return lost_error(str(error) if isinstance(error, ForkServerLost) else "")

    async def _run_with_parser(
        self, task: Task[Any, Result], directory: Path | None, answer: _Answer[Result], clock: asyncio.Timeout
    ) -> int:
        """Run it in a child, and a parser from the moment the child asks for one. Returns the exit status that explains the
        end."""
        ours, theirs = socket.socketpair()
        parsing: list[asyncio.Task[int]] = []

        def start_parser() -> None:
            if not parsing:
                parsing.append(asyncio.create_task(self._parse(directory, theirs, answer, clock)))

        answer.start_parser = start_parser
        try:
            status = await self._forks.run(task, self._limits, directory, answer, ours)
            return await parsing[0] if answer.parser_lost and parsing else status
        finally:
            theirs.close()
            for each in parsing:
                each.cancel()
                await asyncio.wait([each])
                if not each.cancelled():
                    each.exception()  # retrieved, or asyncio logs it; the job has its own outcome

    async def _parse(
        self, directory: Path | None, channel: socket.socket, answer: _Answer[Result], clock: asyncio.Timeout
    ) -> int:
        """The exit status of the parser. The wait for memory does not count towards the job's timeout."""
        loop = asyncio.get_running_loop()
        left = (clock.when() or loop.time()) - loop.time()
        clock.reschedule(None)
        answer.turn.keep()
        turn = answer.turn.for_parser()
        answer.progress(WAITING_FOR_MEMORY)
        answer.record.wait()
        try:
            async with self._memory.hold(self._limits.parser_memory_bytes, parser=True, turn=turn):
                turn.begin(answer.turn.ask)
                answer.record.run()
                clock.reschedule(loop.time() + left)
                return await self._forks.parse(self._limits, directory, channel)
        finally:
            channel.close()


def _expire(timeout: asyncio.Timeout) -> None:
    timeout.reschedule(asyncio.get_running_loop().time())


class _Slots:
    """Limits how many jobs begin. A job that takes long gives up its slot and continues: jobs that wait for slow servers must not
    keep the others in the queue. How many run in all, their memory limits; which one is next, the rank that `memory` has for it.
    """

    def __init__(self, count: int, max_seconds: float, memory: MemoryBudget) -> None:
        self._free = count
        self._memory = memory
        self._waiting: list[tuple[Turn, asyncio.Future[None]]] = []
        self.max_seconds = max_seconds

    @asynccontextmanager
    async def one(self, turn: Turn) -> AsyncIterator[None]:
        """Wait for a slot, and hold it."""
        async with AsyncExitStack() as stack:
            await self._acquire(turn)
            giving_up = asyncio.create_task(self._give_up(stack))
            stack.callback(self._release)
            stack.callback(giving_up.cancel)
            yield

    async def _acquire(self, turn: Turn) -> None:
        granted = asyncio.get_running_loop().create_future()
        self._waiting.append((turn, granted))
        self._grant()
        try:
            await granted
        except asyncio.CancelledError:
            if granted.done() and not granted.cancelled():
                self._release()  # it was granted at the same moment
            raise

    def _release(self) -> None:
        self._free += 1
        self._grant()

    def _grant(self) -> None:
        self._waiting = [(turn, granted) for turn, granted in self._waiting if not granted.done()]
        if self._free and self._waiting:
            rank = self._memory.rank()
            first = min(self._waiting, key=lambda one: rank(one[0]))
            self._waiting.remove(first)
            self._free -= 1
            first[1].set_result(None)

    async def _give_up(self, held: AsyncExitStack) -> None:
        await asyncio.sleep(self.max_seconds)
        held.pop_all()
        self._release()


class _Answer(Generic[Result]):
    """The messages that a child has sent so far: progress lines are passed on, the outcome is kept."""

    def __init__(self, job: Job[Any, Result], progress: Progress, record: JobRecord, turn: Turn) -> None:
        self.progress = progress
        self.record = record
        self.turn = turn
        self.start_parser: Callable[[], None] | None = None
        """Called when the child asks for a parser."""
        self.parser_lost = False
        """True if the parser ended without an answer."""
        self.outcome: Result | OlmError | None = None
        self._job = job

    def __call__(self, line: bytes) -> None:
        """Raises ValueError for what is not a frame of protocol.py."""
        match orjson.loads(line):
            case {"progress": str(text)}:
                self.progress(text)
            case {"parse": True} if self.start_parser is not None:
                self.start_parser()
            case {"lost": True}:
                self.parser_lost = True
            case message:
                self.outcome = outcome_of(self._job, message)


def _end_state(identity: str, outcome: Result | OlmError, attempts: int) -> Finished[Result] | Failed:
    if not isinstance(outcome, OlmError):
        return Finished(identity, outcome)
    if isinstance(outcome, Waiting):
        outcome.after = min(outcome.after * 2 ** min(attempts - 1, 16), max(MAX_RETRY_DELAY, outcome.after))
    return Failed(identity, outcome, time.monotonic(), attempts)
