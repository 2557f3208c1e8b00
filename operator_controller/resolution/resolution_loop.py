"""The Resolver: resolves all Operators together whenever something that resolution depends on has changed.

It runs while this process leads. Informers and catalog reads mark it dirty; it then makes one numbered Snapshot of everything,
once no informer is stale, has it solved in a child process that is kept (solve_job.py), and wakes the Operators whose answer has
changed. While a Snapshot is solved, changes accumulate for the next one. Operators ask it in `observe` for the answer to their
present request. It writes nothing to the API server, and decides nothing about an installation.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime

from prometheus_client import Counter, Histogram

from olmkit.errors import OlmError
from olmkit.runtime.backoff import Backoff
from olmkit.runtime.freshness import Freshness
from olmkit.runtime.informer import Change, Informer
from operator_controller.catalog_cache.client import CatalogClient
from operator_controller.resolution.held_answers import HeldAnswer, HeldAnswers
from operator_controller.resolution.snapshot_inputs import (
    CATALOG_RETRY_DELAY,
    CatalogRead,
    CatalogReads,
    ClusterFactsReader,
    is_outdated,
    resolution_inputs,
)
from operator_controller.resolution.solver_process import NumberedSnapshot, Progress, Solution, SolverProcess
from operator_controller.resolve.answers.answer import Answer, AnswerState
from operator_controller.resolve.answers.deletion_answers import deletion_answers
from operator_controller.resolve.snapshot.cluster_snapshot import OperatorRequest

RESOLUTION_TIME = Histogram(
    "resolution_duration_seconds",
    "Duration of resolving all Operators, from the Snapshot to the answers.",
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120),
)
RESOLUTIONS = Counter(
    "resolution_total", "Times that Operators were resolved, by result: success or error.", ["result"]
)
RESOLUTION_BACKOFF = Backoff(first=1.0, cap=300.0)
"""Time until a Snapshot that could not be solved is solved again, if nothing changes."""
MAX_SUPERSEDED_SECONDS = 2.0
"""Time after which a task goes on with a costly component though there is another Snapshot, one for each such time."""
REQUESTS_PER_TURN = 10
"""Operators that are read before other tasks of the event loop get their turn."""

MapFunc = Callable[[Change], Iterable[str]]
"""From a change to the names of the Operators whose requests it may change."""
ReadRequest = Callable[[str], OperatorRequest | None]
"""The request of an Operator, by its name; None if it does not take part in resolution."""
ReadTakenNames = Callable[[], tuple[tuple[str, str], ...]]
"""The names under which no dependency can be created: ClusterSnapshot.taken_names."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Failure:
    """A Snapshot that could not be solved, how often in a row one could not, and when it is solved again (time.monotonic())."""

    snapshot: NumberedSnapshot
    error: OlmError
    count: int
    retry_at: float

    def is_due(self, snapshot: NumberedSnapshot) -> bool:
        """Report whether another Snapshot, or this one, may be solved now."""
        return time.monotonic() >= self.retry_at or not snapshot.has_same_inputs(self.snapshot)


class Resolver:
    """All calls from one event loop. Answers are valid for one term of the lease: run() begins without any."""

    def __init__(
        self, solver: SolverProcess, client: CatalogClient, catalogs: Informer, facts: ClusterFactsReader
    ) -> None:
        self._solver = solver
        self._client = client
        self._catalogs = catalogs
        self._facts = facts
        self._reads = CatalogReads(client.content, self.mark_dirty)
        self._read_request: ReadRequest = lambda name: None
        self._read_taken_names: ReadTakenNames = tuple
        self._wake: Callable[[str], None] = lambda name: None
        self._watched: list[tuple[Informer, MapFunc]] = []
        self._freshness = Freshness("resolver", catalogs, facts.definitions)
        self._dirty = asyncio.Event()
        self._to_read: set[str] = set()
        """The Operators whose requests may have changed."""
        self._requests: dict[str, OperatorRequest] = {}
        self._held = HeldAnswers()
        self._deletions = HeldAnswers()
        """The answers to Operators that are being deleted, while Snapshots cannot be solved."""
        self._held_number = 0
        self._awaited: dict[str, datetime] = {}
        """Since when an Operator has waited for the answer to its present request."""
        self._waiting_catalogs: set[str] = set()
        """Those that serve content while they wait for other content."""
        self._number = 0
        self._continued_at = 0.0
        """The time when a task for costly components began last (time.monotonic())."""
        self._solved: tuple[NumberedSnapshot, Solution] | None = None
        self._failure: _Failure | None = None

    def connect(self, read_request: ReadRequest, read_taken_names: ReadTakenNames, wake: Callable[[str], None]) -> None:
        """Set the source of the requests, and the function that is called with the name of an Operator whose answer has changed.
        Before run()."""
        self._read_request, self._read_taken_names, self._wake = read_request, read_taken_names, wake

    def watch(self, informer: Informer, operators: MapFunc) -> None:
        """A change in `informer` may change the requests of these Operators. Before run()."""
        self._watched.append((informer, operators))
        self._freshness.add(informer)

    def answer_to(self, request: OperatorRequest) -> AnswerState:
        """The answer to the present request of an Operator, which is woken when there is another one."""
        held = self._present(request.name)
        if held is not None and held.request == request:
            return AnswerState(held.answer, held.needs_recheck, held.is_component_settled, held.outdated_catalogs)
        failure = self._failure
        is_concerned = failure is not None and failure.snapshot.operators.get(request.name) == request
        since = self._awaited.get(request.name) or datetime.now(UTC)
        return AnswerState(error=failure.error if failure and is_concerned else None, since=since, request=request)

    def expect(self, state: AnswerState) -> None:
        """A pass has ended without an answer to the request of this state, if it has one."""
        request = state.request
        if request is None or ((held := self._present(request.name)) is not None and held.request == request):
            return
        if self._requests.get(request.name) != request:  # its event has not been handled yet
            self._read_again([request.name])
        self._awaited.setdefault(request.name, state.since or datetime.now(UTC))

    @property
    def answers(self) -> Mapping[str, Answer]:
        """All answers of the last Snapshot that was solved, by Operator. One that was not resolved has none."""
        return {name: held.solved for name, held in self._held.items() if held.solved is not None}

    @property
    def snapshot_number(self) -> int:
        """The number of that Snapshot; 0 while none was solved since this process leads."""
        return self._held_number

    def related_operators(self, package: str) -> frozenset[str]:
        """The Operators that require the package, or that it requires: they observe its Operator."""
        return frozenset(self._held.related_operators(package)).union(self._deletions.related_operators(package))

    def mark_dirty(self) -> None:
        """Something that resolution depends on may have changed."""
        self._dirty.set()

    def clear(self) -> None:
        """Forget all answers: another process may have led since."""
        self._held, self._deletions = HeldAnswers(), HeldAnswers()
        self._requests.clear()
        self._awaited.clear()
        self._waiting_catalogs.clear()
        self._held_number = 0
        self._solved = self._failure = None
        self._solver.stop()

    async def run(self) -> None:
        """Resolve after each change, until cancelled."""
        handlers: list[tuple[Informer, Callable[[Change], None]]] = [
            (self._catalogs, self._on_catalog),
            (self._facts.definitions, self._on_definition),
        ]
        handlers += [(informer, self._handler(operators)) for informer, operators in self._watched]
        await self._freshness.wait()
        self.clear()
        await self._facts.read()
        try:
            async with AsyncExitStack() as stack, asyncio.TaskGroup() as group:
                stack.push_async_callback(self._reads.close)
                for informer, handle in handlers:
                    informer.subscribe(handle)
                    stack.callback(informer.unsubscribe, handle)
                group.create_task(self._facts.keep_reading(self.mark_dirty), name="facts of the cluster")
                while True:
                    await self._dirty.wait()
                    await self._freshness.wait()
                    self._dirty.clear()
                    await self._resolve()
        finally:
            self.clear()

    async def _resolve(self) -> None:
        """One Snapshot, unless it is the same as the last one."""
        await self._read_requests()
        await self._reads.first_reads()
        reads = self._reads.reads
        sources = tuple(read.source for read in reads)
        facts, taken_names = self._facts.facts, self._read_taken_names()
        snapshot = NumberedSnapshot(self._number + 1, dict(self._requests), sources, facts, taken_names)
        if self._solved is not None and snapshot.has_same_inputs(self._solved[0]):
            self._hold(*self._solved, reads)
            return
        if self._failure is not None and not self._failure.is_due(snapshot):
            return
        self._number, started = snapshot.number, time.monotonic()
        try:
            solution = await self._solver.solve(snapshot, self._holder(snapshot, reads))
        except OlmError as error:
            await self._hold_deletions(snapshot)
            self._on_failure(snapshot, error)
            return
        if not solution.is_complete:
            return  # what has changed is in the next Snapshot, which the solver goes on with
        RESOLUTIONS.labels("success").inc()
        RESOLUTION_TIME.observe(time.monotonic() - started)
        self._solved, self._failure = (snapshot, solution), None
        self._hold(snapshot, solution, reads)
        if solution.unreadable:
            await self._repair(solution.unreadable)
        if solution.retry_after is not None:
            asyncio.get_running_loop().call_later(solution.retry_after.total_seconds(), self._solve_anew)

    async def _read_requests(self) -> None:
        """Read the requests that may have changed."""
        names, self._to_read = sorted(self._to_read), set()
        for number, name in enumerate(names, 1):
            try:
                request = self._read_request(name)
            except Exception as error:  # one Operator must not keep the others from being resolved
                log.error("the request of an Operator cannot be read", extra={"operator": name}, exc_info=error)
                request = None
            if request is None:
                self._requests.pop(name, None)
            elif request != self._requests.get(name):  # equal ones stay the same object
                self._requests[name] = request
            if number % REQUESTS_PER_TURN == 0:
                await asyncio.sleep(0)

    def _holder(self, snapshot: NumberedSnapshot, reads: Sequence[CatalogRead]) -> Progress:
        """Keeps answers while others are to be found. An answer that concerns a package of an Operator that still has an answer
        to an earlier Snapshot is kept together with the answer to that Operator."""
        found: dict[str, Answer] = {}

        def keep(answers: Mapping[str, Answer]) -> None:
            found.update(answers)
            independent = self._held.independent(found, snapshot.operators)
            requests = {name: snapshot.operators[name] for name in independent}
            unsettled = {read.source.name for read in reads if read.needs_recheck}
            for name in self._held.update(requests, independent, unsettled, self._outdated(snapshot)):
                self._awaited.pop(name, None)
                self._wake(name)

        def hold(answers: Mapping[str, Answer]) -> bool:
            if answers:  # none while a component is paused
                keep(answers)
            now = time.monotonic()
            if self._dirty.is_set() and now < self._continued_at + MAX_SUPERSEDED_SECONDS:
                return False
            self._continued_at = now
            return True

        return hold

    def _hold(self, snapshot: NumberedSnapshot, solution: Solution, reads: Sequence[CatalogRead]) -> None:
        """Keep the answers, and wake the Operators for which something has changed."""
        unsettled = {read.source.name for read in reads if read.needs_recheck}
        self._held_number = snapshot.number
        replaced = [name for name in self._deletions if name in snapshot.operators]
        self._deletions = HeldAnswers()
        changed = self._held.replace(snapshot.operators, solution.answers, unsettled, self._outdated(snapshot))
        for name in dict.fromkeys([*replaced, *changed]):
            self._awaited.pop(name, None)
            self._wake(name)
        for name in self._awaited.keys() - self._requests.keys():
            del self._awaited[name]

    def _outdated(self, snapshot: NumberedSnapshot) -> Set[str]:
        """The Catalogs that wait for other content than the Snapshot has of them."""
        solved = {source.name: source for source in snapshot.catalogs}
        replaced = {read.source.name for read in self._reads.reads if read.source != solved.get(read.source.name)}
        return self._waiting_catalogs | replaced | self._reads.outdated

    def _on_failure(self, snapshot: NumberedSnapshot, error: OlmError) -> None:
        """Keep the answers that are known, and try again later."""
        RESOLUTIONS.labels("error").inc()
        count = self._failure.count + 1 if self._failure is not None else 1
        delay = RESOLUTION_BACKOFF.delay(count)
        log.warning("Operators cannot be resolved, trying again", extra={"failures": count, "error": error.message})
        self._failure = _Failure(snapshot, error, count, time.monotonic() + delay)
        asyncio.get_running_loop().call_later(delay, self.mark_dirty)
        for name, request in snapshot.operators.items():
            if (held := self._present(name)) is None or held.request != request:
                self._wake(name)

    def _present(self, name: str) -> HeldAnswer | None:
        """The answer that counts for the Operator at present."""
        return self._deletions.get(name) or self._held.get(name)

    async def _hold_deletions(self, snapshot: NumberedSnapshot) -> None:
        """Answer the Operators that are being deleted from what runs, so that no deletion depends on the solver."""
        requests = snapshot.operators
        selected = {
            name: {one.package for one in held.answer.dependencies}
            for name, held in self._held.items()
            if held.answer is not None and name in requests and requests[name].uid == held.request.uid
        }
        answers = await asyncio.to_thread(deletion_answers, list(requests.values()), selected)
        found = {answer.operator: answer for answer in answers if not self._permits_deletion(requests[answer.operator])}
        changed = self._deletions.replace({name: requests[name] for name in found}, found, is_solved=False)
        for name in changed:
            self._awaited.pop(name, None)
            self._wake(name)

    def _permits_deletion(self, request: OperatorRequest) -> bool:
        """Report whether the answer to the present request is known, and nothing requires what runs."""
        held = self._held.get(request.name)
        return held is not None and held.request == request and held.permits_deletion

    async def _repair(self, digests: frozenset[str]) -> None:
        """Request contents again that the solver could not read, and solve again then."""
        for digest in digests:
            await self._client.report_damage(digest)
        catalogs = {raw["metadata"]["name"]: raw for raw in self._catalogs.objects.values()}
        self._reads.read_again(digests, catalogs)
        asyncio.get_running_loop().call_later(CATALOG_RETRY_DELAY.total_seconds(), self._solve_anew)

    def _solve_anew(self) -> None:
        self._solved = None
        self.mark_dirty()

    # --- changes

    def _read_again(self, operators: Iterable[str]) -> None:
        self._to_read.update(operators)
        if self._to_read:
            self.mark_dirty()

    def _handler(self, operators: MapFunc) -> Callable[[Change], None]:
        def handle(change: Change) -> None:
            try:
                self._read_again(operators(change))
            except Exception as error:  # an object that cannot be read must not end the informer
                log.error("a change cannot be mapped to Operators", extra={"error": str(error)}, exc_info=error)

        return handle

    def _on_definition(self, change: Change) -> None:
        if self._facts.on_change(change):
            self.mark_dirty()

    def _on_catalog(self, change: Change) -> None:
        try:
            is_waiting_changed = self._record_waiting(change)
            if resolution_inputs(change.old) == resolution_inputs(change.new):
                if is_waiting_changed:
                    self.mark_dirty()
                return
            if change.new is not None:
                self._reads.update(change.new)
            elif change.old is not None:
                self._reads.remove(change.old["metadata"]["name"])
        except Exception as error:  # as above
            log.error("a Catalog cannot be read", extra={"error": str(error)}, exc_info=error)
        self._read_again(name for name, request in self._requests.items() if request.catalogs is not None)
        self.mark_dirty()

    def _record_waiting(self, change: Change) -> bool:
        """Record whether the Catalog waits for other content, and report whether that has changed."""
        name = (change.new or change.old or {})["metadata"]["name"]
        before = name in self._waiting_catalogs
        (self._waiting_catalogs.add if is_outdated(change.new) else self._waiting_catalogs.discard)(name)
        return before != (name in self._waiting_catalogs)
