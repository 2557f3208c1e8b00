"""Sends Snapshots to the solver process as differences, and keeps the answers to the last one.

Used by resolver.py. The process may end at any time: then the whole Snapshot is sent to the next one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from olmkit.jobs import KeptWorker, Task
from operator_controller.resolve.answer import Answer
from operator_controller.resolve.cluster_facts import ClusterFacts
from operator_controller.resolve.cluster_snapshot import CatalogSource, OperatorRequest
from operator_controller.resolver.metrics import WORKER_RESTARTS
from operator_controller.resolver.solve_request import SOLVE, SolveRequest


@dataclass(frozen=True)
class Snapshot:
    """Everything that the answers depend on, under a number that grows."""

    number: int
    operators: Mapping[str, OperatorRequest]
    catalogs: tuple[CatalogSource, ...]
    facts: ClusterFacts
    taken_names: tuple[tuple[str, str], ...] = ()
    """As in ClusterSnapshot."""

    def has_same_inputs(self, other: Snapshot | None) -> bool:
        """Whether both have the same answers."""
        mine = (self.operators, self.catalogs, self.facts, self.taken_names)
        return other is not None and mine == (other.operators, other.catalogs, other.facts, other.taken_names)


@dataclass(frozen=True)
class Solution:
    """The answers to a Snapshot, by Operator, and the digests of the contents that the process could not read."""

    answers: Mapping[str, Answer]
    unreadable: frozenset[str] = frozenset()


class SolverProcess:
    """One process at a time. All calls from one event loop, one after the other. `folder` has the contents of catalogs."""

    def __init__(self, worker: KeptWorker, folder: Path) -> None:
        self._worker = worker
        self._folder = folder
        self._last: Snapshot | None = None
        self._answers: dict[str, Answer] = {}

    async def solve(self, snapshot: Snapshot) -> Solution:
        """The answers to the Snapshot. Raises OlmError; then, and if cancelled, the next Snapshot is sent whole."""
        last, self._last = self._last, None
        started = self._worker.started
        try:
            result = await self._worker.run(Task(SOLVE, self._request(snapshot, last)))
            if result.is_previous_missing:
                last = None
                result = await self._worker.run(Task(SOLVE, self._request(snapshot, None)))
        finally:
            WORKER_RESTARTS.inc(max(0, self._worker.started - max(started, 1)))
        if last is None:
            self._answers = {}
        for name in result.removed:
            self._answers.pop(name, None)
        self._answers.update((answer.operator, answer) for answer in result.answers)
        self._last = snapshot
        return Solution(dict(self._answers), frozenset(result.unreadable))

    def stop(self) -> None:
        """End the process and forget its answers."""
        self._last = None
        self._worker.stop()

    def _request(self, snapshot: Snapshot, last: Snapshot | None) -> SolveRequest:
        """The Snapshot as the difference to `last`."""
        known = last.operators if last is not None else {}
        changed = (each for name, each in snapshot.operators.items() if known.get(name) != each)
        return SolveRequest(
            folder=self._folder,
            number=snapshot.number,
            previous=last.number if last is not None else 0,
            operators=tuple(changed),
            removed=tuple(sorted(known.keys() - snapshot.operators.keys())),
            catalogs=snapshot.catalogs,
            taken_names=snapshot.taken_names,
            facts=None if last is not None and last.facts == snapshot.facts else snapshot.facts,
        )
