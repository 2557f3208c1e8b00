"""The function of the solver process: applies what has changed to its Snapshot, and solves.

Imported by child processes only. The process keeps the Snapshot, its answers, and what the solver has parsed; a process that
replaces it starts without them. Reads the contents of catalogs from disk, and never writes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from olmkit.jobs import JobContext, implement
from operator_controller.catalog_content.content import ContentDocuments
from operator_controller.resolve.answer import Answer
from operator_controller.resolve.cluster_facts import ClusterFacts
from operator_controller.resolve.cluster_snapshot import ClusterSnapshot, OperatorRequest
from operator_controller.resolve.component_solver import SolverMemory, solve_components
from operator_controller.resolve.documents import ContentMissing, Documents
from operator_controller.resolver.solve_request import SOLVE, SolveRequest, SolveResult


@dataclass
class _State:
    """What the process keeps from one solve to the next."""

    folder: Path
    documents: ContentDocuments
    number: int = 0
    operators: dict[str, OperatorRequest] = field(default_factory=dict)
    facts: ClusterFacts = field(default_factory=ClusterFacts)
    answers: dict[str, Answer] = field(default_factory=dict)
    memory: SolverMemory = field(default_factory=SolverMemory)


_kept: list[_State] = []
"""The state of this process; empty before its first solve."""


def solve(request: SolveRequest, context: JobContext) -> SolveResult:
    """The answers to a Snapshot that differ from those to the previous one."""
    state = _state_for(request)
    if state is None:
        return SolveResult(is_previous_missing=True)
    for name in request.removed:
        state.operators.pop(name, None)
    state.operators.update((operator.name, operator) for operator in request.operators)
    state.facts = request.facts if request.facts is not None else state.facts
    state.number = 0  # until it is solved: a solve that fails leaves neither this Snapshot nor the previous one
    state.documents.retain_only({source.content for source in request.catalogs})
    snapshot = ClusterSnapshot(tuple(state.operators.values()), request.catalogs, state.facts, request.taken_names)
    documents = _NotedDocuments(state.documents)
    answers = {answer.operator: answer for answer in solve_components(snapshot, documents, state.memory)}
    if documents.unreadable:
        state.memory = SolverMemory()  # the same Snapshot has other answers once the content can be read
    known, state.answers, state.number = state.answers, answers, request.number
    changed = tuple(answer for name, answer in answers.items() if known.get(name) != answer)
    return SolveResult(changed, tuple(sorted(known.keys() - answers.keys())), tuple(sorted(documents.unreadable)))


def _state_for(request: SolveRequest) -> _State | None:
    """The state of the previous Snapshot; None if this process does not have it."""
    if request.previous == 0:
        memory = _kept[0].memory if _kept else SolverMemory()
        _kept[:] = [_State(request.folder, ContentDocuments(request.folder), memory=memory)]
        return _kept[0]
    return _kept[0] if _kept and _kept[0].number == request.previous else None


class _NotedDocuments:
    """Documents that notes the contents that could not be read."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self.unreadable: set[str] = set()

    def digests(self, content: str) -> Mapping[str, str]:
        """As Documents.digests()."""
        with self._noting(content):
            return self._documents.digests(content)

    def read(self, content: str, package: str) -> Any:
        """As Documents.read()."""
        with self._noting(content):
            return self._documents.read(content, package)

    @contextmanager
    def _noting(self, content: str) -> Iterator[None]:
        try:
            yield
        except ContentMissing:
            self.unreadable.add(content)
            raise


implement(SOLVE, solve)
