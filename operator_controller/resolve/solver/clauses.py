"""The clauses of a conflict, as values: what is asked for, what runs, and what versions require, exclude and own.

All indices are those of the universe. Pure.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass

from operator_controller.resolve.solver.solver_problem import Exclusion, Interval, Requirement, VersionSet


@dataclass(frozen=True, slots=True)
class AskedClause:
    """The package is asked for: one of these versions is selected."""

    package: str
    interval: Interval


@dataclass(frozen=True, slots=True)
class PresentClause:
    """The package runs: some version of it is selected."""

    package: str


@dataclass(frozen=True, slots=True)
class KeptClause:
    """The package runs although nobody asked for it, and is kept: some version of it is selected."""

    package: str


@dataclass(frozen=True, slots=True)
class SelectedClause:
    """The version of the package is already decided, because the package is more important."""

    package: str
    index: int


@dataclass(frozen=True, slots=True)
class AbsentClause:
    """The package is not selected, because everything else needs as few other packages as possible."""

    package: str


@dataclass(frozen=True, slots=True)
class VersionsClause:
    """The package has this number of versions and no others: 0 if it is not known."""

    package: str
    size: int


@dataclass(frozen=True, slots=True)
class RequirementClause:
    """Each version of the interval has this requirement."""

    package: str
    interval: Interval
    requirement: Requirement


@dataclass(frozen=True, slots=True)
class ExclusionClause:
    """Each version of the interval has this exclusion."""

    package: str
    interval: Interval
    exclusion: Exclusion


@dataclass(frozen=True, slots=True)
class OwnershipClause:
    """Each version of both sets owns `key`, so no two of different packages are selected together."""

    key: Hashable
    first: VersionSet
    second: VersionSet


Clause = (
    AskedClause
    | PresentClause
    | KeptClause
    | SelectedClause
    | AbsentClause
    | VersionsClause
    | RequirementClause
    | ExclusionClause
    | OwnershipClause
)


def intervals_of(clause: Clause) -> list[tuple[str, Interval]]:
    """The packages and versions that a clause rules something out for."""
    match clause:
        case RequirementClause(package=package, interval=interval):
            return [(package, interval)]
        case ExclusionClause(package=package, interval=interval, exclusion=exclusion):
            return [(package, interval), *_all_intervals(exclusion.excluded)]
        case OwnershipClause(first=first, second=second):
            return _all_intervals((first, second))
    return []


def _all_intervals(sets: Iterable[VersionSet]) -> list[tuple[str, Interval]]:
    return [(each.package, interval) for each in sets for interval in each.intervals]
