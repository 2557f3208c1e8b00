"""Universes of a few packages as tables, random ones by hypothesis, and their best solution by trying all selections."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from random import Random
from typing import TypeVar

from hypothesis import strategies as st

from operator_controller.resolve.solver.solver_problem import Asked, Exclusion, Goal, Requirement, VersionSet

PACKAGES = ("a", "b", "c", "d", "e")
KEYS = (("example.com", "K"), ("example.com", "L"))
T = TypeVar("T")
Selection = Mapping[str, int]
Shared = frozenset[frozenset[tuple[str, int]]]


@dataclass(frozen=True)
class Version:
    """What one version requires, excludes and owns."""

    requirements: tuple[Requirement, ...] = ()
    exclusions: tuple[Exclusion, ...] = ()
    owned: tuple[Hashable, ...] = ()


@dataclass(frozen=True)
class SmallUniverse:
    """A universe as a table. `shared`: pairs of versions that may be selected although both own the same."""

    versions: Mapping[str, tuple[Version, ...]]
    shared: Shared = frozenset()
    order: tuple[str, ...] = PACKAGES
    counted: list[tuple[str, int]] = field(default_factory=list, compare=False)

    def size(self, package: str) -> int:
        return len(self.versions.get(package, ()))

    def requirements(self, package: str, index: int) -> Sequence[Requirement]:
        self.counted.append((package, index))
        return self.versions[package][index].requirements

    def exclusions(self, package: str, index: int) -> Sequence[Exclusion]:
        return self.versions[package][index].exclusions

    def owned(self, package: str, index: int) -> Collection[Hashable]:
        return self.versions[package][index].owned

    def shares(self, package: str, index: int, other: str, other_index: int) -> bool:
        return frozenset(((package, index), (other, other_index))) in self.shared

    def preference(self, package: str) -> Sequence[object]:
        return (self.order.index(package),)


def versions(package: str, *intervals: tuple[int, int]) -> VersionSet:
    return VersionSet(package, intervals)


def requires(*alternatives: VersionSet, source: Hashable = None) -> Requirement:
    return Requirement(alternatives, source)


def asked(*packages: str) -> tuple[Asked, ...]:
    return tuple(Asked(package) for package in packages)


# --- brute force


def includes(selection: Selection, wanted: VersionSet) -> bool:
    index = selection.get(wanted.package)
    return index is not None and any(low <= index <= high for low, high in wanted.intervals)


def is_legal(universe: SmallUniverse, selection: Selection) -> bool:
    """Whether the selected versions satisfy each other."""
    owners: list[tuple[Hashable, str, int]] = []
    for package, index in selection.items():
        version = universe.versions[package][index]
        if not all(any(includes(selection, each) for each in one.alternatives) for one in version.requirements):
            return False
        for exclusion in version.exclusions:
            if any(includes(selection, each) for each in exclusion.excluded if each.package != package):
                return False
        for key in version.owned:
            for other_key, other, other_index in owners:
                if key == other_key and other != package and not universe.shares(package, index, other, other_index):
                    return False
            owners.append((key, package, index))
    return True


def selections(universe: SmallUniverse) -> Iterator[dict[str, int]]:
    """All, legal or not."""
    packages = sorted(universe.versions)
    for indices in product(*(range(-1, universe.size(package)) for package in packages)):
        yield {package: index for package, index in zip(packages, indices, strict=True) if index >= 0}


def rank(universe: SmallUniverse, goal: Goal, selection: Selection) -> tuple[object, ...]:
    """The levels of the optimum; the greatest is the best."""
    satisfied = [selection.get(one.package, -1) >= one.first for one in goal.asked]
    kept = [package in selection for package in goal.kept]
    settled = {one.package for one, is_satisfied in zip(goal.asked, satisfied, strict=True) if is_satisfied}
    present = set(goal.present)
    asked_versions = [
        selection.get(one.package, -1) for one in goal.asked if one.package in settled or one.package in present
    ]
    others = set(selection) - settled - present - set(goal.kept)
    rest = [
        selection.get(package, -1)
        for package in sorted(universe.versions, key=lambda package: tuple(universe.preference(package)))
    ]
    return satisfied, kept, asked_versions, -len(others), rest


def best(universe: SmallUniverse, goal: Goal) -> dict[str, int] | None:
    """The best solution; None if there is none."""
    found = [
        one for one in selections(universe) if all(name in one for name in goal.present) and is_legal(universe, one)
    ]
    return max(found, key=lambda one: rank(universe, goal, one)) if found else None


# --- random universes


@st.composite
def version_sets(draw: st.DrawFn, sizes: Mapping[str, int]) -> VersionSet:
    """One or two intervals of one package, at times of one that has no versions, or beyond the last version."""
    package = draw(st.sampled_from(sorted(sizes)))
    points = sorted(draw(st.sets(st.integers(0, 4), min_size=1, max_size=4)))
    if len(points) == 4 and points[1] + 1 < points[2]:
        return VersionSet(package, ((points[0], points[1]), (points[2], points[3])))
    return VersionSet(package, ((points[0], points[-1]),))


@st.composite
def problems(draw: st.DrawFn) -> tuple[SmallUniverse, Goal]:
    """A universe of at most five packages with at most four versions, and a goal."""
    sizes = {
        package: draw(st.integers(0 if package == "e" else 1, 4)) for package in PACKAGES[: draw(st.integers(2, 5))]
    }
    sets = version_sets(sizes)
    requirement = st.builds(Requirement, st.lists(sets, max_size=3, unique_by=lambda one: one.package).map(tuple))
    exclusion = st.builds(Exclusion, st.lists(sets, min_size=1, max_size=2).map(tuple))
    version = st.builds(
        Version,
        st.one_of(st.just(()), st.lists(requirement, max_size=3).map(tuple)),
        st.one_of(st.just(()), st.just(()), st.lists(exclusion, max_size=2).map(tuple)),
        st.one_of(st.just(()), st.lists(st.sampled_from(KEYS), max_size=2, unique=True).map(tuple)),
    )
    table = {package: tuple(draw(st.lists(version, min_size=size, max_size=size))) for package, size in sizes.items()}
    pairs = [
        frozenset(((package, draw(st.integers(0, 3))), (other, draw(st.integers(0, 3)))))
        for package, other in draw(st.lists(st.tuples(*[st.sampled_from(PACKAGES)] * 2), max_size=3))
    ]
    order = tuple(draw(st.permutations(PACKAGES)))
    return SmallUniverse(table, frozenset(pairs), order), draw(goals(sizes))


@st.composite
def goals(draw: st.DrawFn, sizes: Mapping[str, int]) -> Goal:
    """A role for each package: asked, kept, or none; and whether it is present."""
    roles = {package: draw(st.sampled_from(("asked", "asked", "kept", "none", "none"))) for package in sizes}
    order = draw(st.permutations(sorted(sizes)))
    return Goal(
        asked=tuple(Asked(package, draw(st.integers(0, 2))) for package in order if roles[package] == "asked"),
        present=tuple(package for package in order if sizes[package] and draw(st.integers(0, 4)) == 0),
        kept=tuple(package for package in order if roles[package] == "kept"),
    )


def shuffled(universe: SmallUniverse, goal: Goal, seed: int) -> tuple[SmallUniverse, Goal]:
    """The same problem; everything whose order does not matter is in another order."""
    random = Random(seed)

    def mixed(values: Sequence[T]) -> tuple[T, ...]:
        return tuple(random.sample(values, len(values)))

    def mixed_version(version: Version) -> Version:
        return Version(
            mixed([Requirement(mixed(one.alternatives), one.source) for one in version.requirements]),
            mixed([Exclusion(mixed(one.excluded), one.source) for one in version.exclusions]),
            mixed(version.owned),
        )

    table = {
        package: tuple(map(mixed_version, universe.versions[package])) for package in mixed(list(universe.versions))
    }
    return SmallUniverse(table, universe.shared, universe.order), Goal(goal.asked, mixed(goal.present), goal.kept)
