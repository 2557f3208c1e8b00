"""The problem that the solver solves: packages, their versions in order of preference and what each requires; what is asked for.

universe.py makes it from the component of a Snapshot, tests/bench/universes.py from random numbers. Nothing here knows semantic
versions, catalogs or Kubernetes: a version is its index; the greater index is preferred. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from typing import Protocol

Interval = tuple[int, int]
"""The first and the last index of consecutive versions, both included."""


@dataclass(frozen=True, slots=True)
class VersionSet:
    """Versions of one package: intervals of indices, ascending, with a gap between each two of them. Never empty."""

    package: str
    intervals: tuple[Interval, ...]


@dataclass(frozen=True, slots=True)
class Requirement:
    """A version that has it is selected only together with a version of one of the alternatives. Without any: never.

    `source` identifies what it was made from, for explanations. Equal requirements of neighbouring versions are merged, so
    `source` is equal if the sentence about them is.
    """

    alternatives: tuple[VersionSet, ...]
    source: Hashable = None


@dataclass(frozen=True, slots=True)
class Exclusion:
    """A version that has it is never selected together with a version of `excluded`, except with itself."""

    excluded: tuple[VersionSet, ...]
    source: Hashable = None


class Universe(Protocol):
    """All packages that may matter. Methods are called only for what a model touches, so they may compute lazily.

    A package that is not known has size 0. The answers never change during the life of the object.
    """

    def size(self, package: str) -> int:
        """The number of versions: indices 0 to size - 1."""
        ...

    def requirements(self, package: str, index: int) -> Sequence[Requirement]:
        """The requirements of this version."""
        ...

    def exclusions(self, package: str, index: int) -> Sequence[Exclusion]:
        """The exclusions of this version."""
        ...

    def owned(self, package: str, index: int) -> Collection[Hashable]:
        """The kinds and other values that this version owns: of the selected versions, at most one owns each. Of different values
        repr() differs too."""
        ...

    def shares(self, package: str, index: int, other: str, other_index: int) -> bool:
        """Report whether both versions may be selected although both own the same: they run side by side already."""
        ...

    def preference(self, package: str) -> Sequence[object]:
        """The place of the package among those whose version nobody asked for: the least is preferred. Comparable, all different.

        Called for selected packages of `kept` and `present`, and for those that nobody asked for and that something may need.
        """
        ...


@dataclass(frozen=True, slots=True)
class Asked:
    """A package that is asked for. It is satisfied by a version with index `first` or greater.

    Of a package that runs, the versions below `first` are what runs and does not satisfy the request.
    """

    package: str
    first: int = 0


@dataclass(frozen=True, slots=True)
class Goal:
    """The selection that is asked for. All tuples are in the order of their importance, the most important first.

    `present` are selected in any case, whatever version: they run. The caller guarantees that their versions of index 0
    satisfy each other, so there always is a solution. `kept` are selected if that costs none of `asked`: they run, and
    nobody asked for them. A package is in `asked` and `kept` together at most once.
    """

    asked: tuple[Asked, ...]
    present: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
