"""The function of the solver process: applies what has changed to its Snapshot, and solves.

Imported by child processes only. The process keeps the Snapshot, its answers, and what the solver has parsed; a process that
replaces it starts without them. Reads the contents of catalogs from disk, and never writes.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from olmkit.jobs.job import JobContext
from olmkit.jobs.job_functions import implement
from operator_controller.catalog_cache.stored_documents import ContentDocuments
from operator_controller.resolution.solve_request import SLICE_CPU_TIME, SOLVE, SolveRequest, SolveResult
from operator_controller.resolve.answers.answer import Answer
from operator_controller.resolve.answers.component_solver import PendingComponents, SolverMemory
from operator_controller.resolve.documents.catalog_documents import ContentMissing, Documents
from operator_controller.resolve.documents.document_reader import ReadDocument
from operator_controller.resolve.package.package_content import GroupKind
from operator_controller.resolve.requirements.cluster_facts import ClusterFacts
from operator_controller.resolve.snapshot.cluster_snapshot import ClusterSnapshot, OperatorRequest


@dataclass
class _Solving:
    """A Snapshot that is being solved. `names`: the Operators that were answered."""

    number: int
    pending: PendingComponents
    names: set[str] = field(default_factory=set)


@dataclass
class _State:
    """The state that the process keeps from one solve to the next."""

    directory: Path
    documents: ContentDocuments
    noted: _NotedDocuments
    number: int = 0
    operators: dict[str, OperatorRequest] = field(default_factory=dict)
    facts: ClusterFacts = field(default_factory=ClusterFacts)
    answers: dict[str, Answer] = field(default_factory=dict)
    memory: SolverMemory = field(default_factory=SolverMemory)
    solving: _Solving | None = None
    """None while no Snapshot is being solved."""


_kept: list[_State] = []
"""The state of this process; empty before its first solve."""


def solve(request: SolveRequest, context: JobContext) -> SolveResult:
    """The answers to components of a Snapshot that differ from those to the previous one."""
    state = _state_for(request)
    if state is None:
        return SolveResult(is_previous_missing=True)
    # Garbage collections would visit everything that is parsed, again and again: a third of the time of a load.
    gc.disable()
    try:
        return _solve(state, request)
    finally:
        gc.enable()
        state.documents.close_files()


def _solve(state: _State, request: SolveRequest) -> SolveResult:
    end, found = time.process_time() + SLICE_CPU_TIME.total_seconds(), list[Answer]()

    def is_over() -> bool:
        return time.process_time() >= end

    solving = state.solving
    if solving is None:
        solving = state.solving = _begin(state, request)
        found += solving.pending.known
    left = request.components
    while solving.pending.next_component and left != 0:
        if left is not None:
            found += solving.pending.solve_next()
            left -= 1
            continue
        if solving.pending.is_next_costly and found:
            break
        found += solving.pending.solve_next(is_over)
        if is_over():
            break
    return _result(state, solving, found)


def _begin(state: _State, request: SolveRequest) -> _Solving:
    """Apply what has changed to the Snapshot, and find its components."""
    for name in request.removed:
        state.operators.pop(name, None)
    state.operators.update((operator.name, operator) for operator in request.operators)
    state.facts = request.facts if request.facts is not None else state.facts
    state.number = 0  # until it is solved: a solve that fails leaves neither this Snapshot nor the previous one
    state.documents.retain_only({source.content for source in request.catalogs})
    snapshot = ClusterSnapshot(tuple(state.operators.values()), request.catalogs, state.facts, request.taken_names)
    if not state.memory.paused:  # what is paused may have noted some before
        state.noted.unreadable.clear()
    pending = PendingComponents(snapshot, state.noted, state.memory, dict(request.exceeded), set(request.settled))
    return _Solving(request.number, pending)


def _result(state: _State, solving: _Solving, found: Sequence[Answer]) -> SolveResult:
    """Return the answers that have changed; at the end of a Snapshot also the names of those that are gone."""
    before = state.answers
    changed = [one for one in found if before.get(one.operator) is not one and before.get(one.operator) != one]
    state.answers.update((answer.operator, answer) for answer in changed)
    solving.names.update(answer.operator for answer in found)
    removed: Sequence[str] = ()
    answered = sorted({answer.operator for answer in found}) if solving.pending.next_component else ()
    if not solving.pending.next_component:
        removed = sorted(state.answers.keys() - solving.names)
        for name in removed:
            del state.answers[name]
        if state.noted.unreadable:
            state.memory = SolverMemory()  # the same Snapshot has other answers once the content can be read
        state.number, state.solving = solving.number, None
    members = {answer.digest: answer.members for answer in changed}
    return SolveResult(
        tuple(replace(each, members=()) if each.members == members[each.digest] else each for each in changed),
        tuple(removed),
        tuple(members.items()),
        tuple(answered),
        solving.pending.next_component,
        tuple(sorted(state.noted.unreadable)),
    )


def _state_for(request: SolveRequest) -> _State | None:
    """The state of the previous Snapshot, or of this one if it is continued; None if this process does not have it."""
    if request.previous == 0:
        memory = _kept[0].memory if _kept else SolverMemory()
        memory.paused.clear()  # it reads the documents of the state before
        documents = ContentDocuments(request.directory)
        _kept[:] = [_State(request.directory, documents, _NotedDocuments(documents), memory=memory)]
        return _kept[0]
    state = _kept[0] if _kept else None
    if state is None:
        return None
    number = state.solving.number if state.solving is not None else state.number
    if request.number != number:
        state.solving = None  # its caller goes on with another Snapshot; the answers until now stay
    return state if number == request.previous else None


class _NotedDocuments:
    """Documents that notes the contents that could not be read."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self.unreadable: set[str] = set()

    def digests(self, content: str) -> Mapping[str, str]:
        """As Documents.digests()."""
        with self._noting(content):
            return self._documents.digests(content)

    def read(self, content: str, package: str) -> ReadDocument:
        """As Documents.read()."""
        with self._noting(content):
            return self._documents.read(content, package)

    def providers(self, content: str) -> Mapping[GroupKind, Collection[str]]:
        """As Documents.providers()."""
        with self._noting(content):
            return self._documents.providers(content)

    @contextmanager
    def _noting(self, content: str) -> Iterator[None]:
        try:
            yield
        except ContentMissing:
            self.unreadable.add(content)
            raise


implement(SOLVE, solve)
