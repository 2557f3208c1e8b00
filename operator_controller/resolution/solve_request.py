"""The job of the solver process: a numbered ClusterSnapshot in, the answers that have changed out.

Only what changed between two Snapshots crosses the pipe. One task solves some of the components of a Snapshot and names the next
one, so that its limits are those of a few components, and the one that exceeds them is known.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from olmkit.jobs.job import Job, Limits
from operator_controller.resolve.answers.answer import Answer, Member
from operator_controller.resolve.requirements.cluster_facts import ClusterFacts
from operator_controller.resolve.snapshot.cluster_snapshot import CatalogSource, OperatorRequest


@dataclass(frozen=True)
class SolveRequest:
    """A Snapshot as its difference to the one with the number `previous`; 0 is the empty Snapshot.

    With `previous` the same as `number` it continues with the next components of the Snapshot.
    """

    directory: Path
    """The directory with the contents of catalogs."""
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
    components: int | None = None
    """The number of components to solve whole; None: as many as take SLICE_CPU_TIME, a costly one in parts."""
    exceeded: tuple[tuple[str, str], ...] = ()
    """The components that are not solved, by their digests, and the limits that they exceed."""
    settled: tuple[str, ...] = ()
    """The digests of components whose answers the caller has already."""


@dataclass(frozen=True)
class SolveResult:
    """The answers of this task as their difference to those of `previous`."""

    answers: tuple[Answer, ...] = ()
    removed: tuple[str, ...] = ()
    """The names of the Operators that have no answer any more; known when all components are solved."""
    members: tuple[tuple[str, tuple[Member, ...]], ...] = ()
    """The `members` of the answers that have none here, by the digest of their component."""
    answered: tuple[str, ...] = ()
    """The Operators with an answer to this Snapshot that the tasks before had not answered, whether it has changed or not; not
    listed if all components are solved."""
    next_component: str = ""
    """The digest of the next component to solve; "" if all are solved."""
    unreadable: tuple[str, ...] = ()
    """The digests of contents that could not be read from the disk."""
    is_previous_missing: bool = False
    """True if the process does not have the Snapshot `previous`: nothing was resolved, and the whole Snapshot is needed."""


SOLVE = Job("operator_controller.resolution.solve_job:solve", SolveRequest, SolveResult)
SOLVE_LIMITS = Limits(memory_bytes=512 * 1024 * 1024, cpu_seconds=60, timeout=timedelta(minutes=2))
"""The limits of one task. Each component has a smaller budget of its own, which is deterministic (resolve/solver/budget.py)."""
SLICE_CPU_TIME = timedelta(seconds=0.5)
"""CPU time after which a task begins no other component, and pauses the one that it solves. Nearly all Snapshots are one task. A
component that costs more than a first attempt has tasks of its own, so that the answers to all others leave before."""
