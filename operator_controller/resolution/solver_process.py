"""Sends Snapshots to the solver process as differences, and keeps the answers to the last one.

The process may end at any time: then the whole Snapshot is sent to the next one, and its components are solved one by one. A
component that exceeds the limits of a process is answered without being solved, until its part of the Snapshot changes: its
digest is another one then.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

from prometheus_client import Counter

from olmkit.errors import Blocked, OlmError, Waiting
from olmkit.jobs.job import JobReason, Task
from olmkit.jobs.worker import Worker
from operator_controller.resolution.solve_request import SOLVE, SolveRequest, SolveResult
from operator_controller.resolve.answers.answer import Answer
from operator_controller.resolve.requirements.cluster_facts import ClusterFacts
from operator_controller.resolve.snapshot.cluster_snapshot import CatalogSource, OperatorRequest

WORKER_RESTARTS = Counter(
    "resolution_worker_restarts_total", "Processes that resolve and were started in place of one that ended."
)

RETRY_DELAY = timedelta(hours=1)
"""Time until a component is solved again that ended its process for a reason that may be the machine's, if it does not change."""
MAX_EXCEEDED = 1_000
"""Components that are remembered; the oldest are forgotten."""

Progress = Callable[[Mapping[str, Answer]], bool]
"""Gets answers to a Snapshot, by Operator, while others are still to be found. Returns whether to find them: False if there is
another Snapshot."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class NumberedSnapshot:
    """Everything that the answers depend on, under a number that grows."""

    number: int
    operators: Mapping[str, OperatorRequest]
    catalogs: tuple[CatalogSource, ...]
    facts: ClusterFacts
    taken_names: tuple[tuple[str, str], ...] = ()
    """As in ClusterSnapshot."""

    def has_same_inputs(self, other: NumberedSnapshot | None) -> bool:
        """Report whether both have the same answers."""
        mine = (self.operators, self.catalogs, self.facts, self.taken_names)
        return other is not None and mine == (other.operators, other.catalogs, other.facts, other.taken_names)


@dataclass(frozen=True)
class Solution:
    """The answers to a Snapshot, by Operator, and the digests of the contents that the process could not read."""

    answers: Mapping[str, Answer]
    unreadable: frozenset[str] = frozenset()
    retry_after: timedelta | None = None
    """The delay until a component is tried again that the machine, and not its content, may have kept from being solved."""
    is_complete: bool = True
    """True if all components are solved; otherwise `progress` ended it, and the answers are those that it got."""


@dataclass(frozen=True)
class _Exceeded:
    """A component that ended the process that solved it, and when it is solved again: None if not before it changes."""

    reason: str
    retry_at: float | None

    def is_due(self, now: float) -> bool:
        """Report whether it has to be solved again. `now`: time.monotonic(), as `retry_at`."""
        return self.retry_at is not None and now >= self.retry_at


class _Superseded(Exception):
    """There is another Snapshot. Raised and caught here."""


class SolverProcess:
    """One process at a time. All calls from one event loop, one after the other. `directory` has the contents of catalogs."""

    def __init__(self, worker: Worker, directory: Path) -> None:
        self._worker = worker
        self._directory = directory
        self._last: NumberedSnapshot | None = None
        self._answers: dict[str, Answer] = {}
        self._progress: Progress = lambda answers: True
        self._answered: dict[str, Answer] = {}
        """The answers to the present Snapshot that were passed on."""
        self._exceeded: dict[str, _Exceeded] = {}
        """By the digests of the components, the oldest first."""

    async def solve(self, snapshot: NumberedSnapshot, progress: Progress = lambda answers: True) -> Solution:
        """The answers to the Snapshot. Raises OlmError; then, and if cancelled, the next Snapshot is sent whole.

        A component that ends the process is answered without being solved; all others are solved. `progress` gets the answers
        of each task but the last one.
        """
        self._progress, self._answered = progress, {}
        last, self._last = self._last, None
        started, now = self._worker.started, time.monotonic()
        self._exceeded = {digest: each for digest, each in self._exceeded.items() if not each.is_due(now)}
        try:
            try:
                unreadable = await self._solve_together(snapshot, last)
                self._last = snapshot
            except OlmError as error:
                log.warning("components are resolved one by one", extra={"error": error.message})
                unreadable = await self._solve_apart(snapshot)
        except _Superseded:
            self._last = snapshot
            return Solution(self._answered, is_complete=False)
        finally:
            WORKER_RESTARTS.inc(max(0, self._worker.started - max(started, 1)))
        return Solution(dict(self._answers), frozenset(unreadable), self._retry_after())

    def stop(self) -> None:
        """End the process and forget its answers."""
        self._last = None
        self._worker.stop()

    async def _solve_together(self, snapshot: NumberedSnapshot, last: NumberedSnapshot | None) -> Collection[str]:
        """Solve what has changed since `last`. Returns the contents that cannot be read."""
        result = await self._run(self._request(snapshot, last))
        if result.is_previous_missing:
            last, result = None, await self._run(self._request(snapshot, None))
        if last is None:
            self._answers = {}
        self._keep(result)
        while result.next_component:
            result = await self._run(self._continued(snapshot))
            self._keep(result)
        return result.unreadable

    async def _solve_apart(self, snapshot: NumberedSnapshot) -> Collection[str]:
        """Solve one component per task. One that ends a process in which no other was solved exceeds the limits."""
        self._answers = {}
        while True:
            self._worker.stop()
            settled = sorted({answer.digest for answer in self._answers.values()})
            request = replace(self._request(snapshot, None), components=0, settled=tuple(settled))
            result = await self._run(request)
            self._keep(result)
            is_first = True
            while component := result.next_component:
                try:
                    result = await self._run(replace(self._continued(snapshot), components=1))
                except OlmError as error:
                    # Time is limited for each task, memory for a process, in which others may have been solved before.
                    if is_first or error.reason == JobReason.TOO_LONG:
                        self._exceed(component, error)
                    break
                self._keep(result)
                is_first = False
            else:
                return result.unreadable

    def _exceed(self, component: str, error: OlmError) -> None:
        log.warning("a component is not resolved", extra={"component": component, "error": error.message})
        retry_at = None if isinstance(error, Blocked) else time.monotonic() + RETRY_DELAY.total_seconds()
        self._exceeded[component] = _Exceeded(error.message, retry_at)
        while len(self._exceeded) > MAX_EXCEEDED:
            del self._exceeded[next(iter(self._exceeded))]

    def _retry_after(self) -> timedelta | None:
        times = [each.retry_at for each in self._exceeded.values() if each.retry_at is not None]
        return timedelta(seconds=max(0.0, min(times) - time.monotonic())) if times else None

    async def _run(self, request: SolveRequest) -> SolveResult:
        """Raises OlmError, also if a process that was started since does not have the Snapshot that is continued."""
        result = await self._worker.run(Task(SOLVE, request))
        if result.is_previous_missing and request.previous == request.number:
            raise Waiting(JobReason.UNEXPECTED, "the process that resolves was replaced", timedelta(0))
        return result

    def _keep(self, result: SolveResult) -> None:
        members = dict(result.members)
        for name in result.removed:
            self._answers.pop(name, None)
        self._answers.update(
            (answer.operator, answer if answer.members else replace(answer, members=members[answer.digest]))
            for answer in result.answers
        )
        if result.next_component:
            found = {name: self._answers[name] for name in result.answered}
            self._answered.update(found)
            if not self._progress(found):
                raise _Superseded

    def _request(self, snapshot: NumberedSnapshot, last: NumberedSnapshot | None) -> SolveRequest:
        """The Snapshot as the difference to `last`."""
        known = last.operators if last is not None else {}
        changed = (
            each for name, each in snapshot.operators.items() if known.get(name) is not each and known.get(name) != each
        )
        return SolveRequest(
            directory=self._directory,
            number=snapshot.number,
            previous=last.number if last is not None else 0,
            operators=tuple(changed),
            removed=tuple(sorted(known.keys() - snapshot.operators.keys())),
            catalogs=snapshot.catalogs,
            taken_names=snapshot.taken_names,
            facts=None if last is not None and last.facts == snapshot.facts else snapshot.facts,
            exceeded=tuple((digest, each.reason) for digest, each in self._exceeded.items()),
        )

    def _continued(self, snapshot: NumberedSnapshot) -> SolveRequest:
        """The next components of a Snapshot that the process has."""
        return SolveRequest(self._directory, snapshot.number, snapshot.number, (), (), ())
