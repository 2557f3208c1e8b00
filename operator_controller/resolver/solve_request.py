"""The job of the solver process: a numbered ClusterSnapshot in, the answers that have changed out.

Read by resolver.py and by solve_job.py, which implements it. Only what changed between two Snapshots crosses the pipe.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from olmkit.jobs import Job, Limits
from operator_controller.resolve.answer import Answer
from operator_controller.resolve.cluster_facts import ClusterFacts
from operator_controller.resolve.cluster_snapshot import CatalogSource, OperatorRequest


@dataclass(frozen=True)
class SolveRequest:
    """A Snapshot as its difference to the one with the number `previous`; 0 is the empty Snapshot."""

    folder: Path
    """The folder with the contents of catalogs."""
    number: int
    previous: int
    operators: tuple[OperatorRequest, ...]
    """The Operators that were added or have changed."""
    removed: tuple[str, ...]
    """The names of the Operators that are gone."""
    catalogs: tuple[CatalogSource, ...]
    taken_names: tuple[tuple[str, str], ...] = ()
    """As in ClusterSnapshot."""
    facts: ClusterFacts | None = None
    """None: as in `previous`."""


@dataclass(frozen=True)
class SolveResult:
    """The answers as their difference to those of `previous`."""

    answers: tuple[Answer, ...] = ()
    removed: tuple[str, ...] = ()
    """The names of the Operators that have no answer any more."""
    unreadable: tuple[str, ...] = ()
    """The digests of contents that could not be read from the disk."""
    is_previous_missing: bool = False
    """Whether the process does not have the Snapshot `previous`: nothing was resolved, and the whole Snapshot is needed."""


SOLVE = Job("operator_controller.resolver.solve_job:solve", SolveRequest, SolveResult)
SOLVE_LIMITS = Limits(memory_bytes=512 * 1024 * 1024, cpu_seconds=60, timeout=timedelta(minutes=2))
"""The limits of one solve. Each component has a smaller budget of its own, which is deterministic (resolve.solver)."""
