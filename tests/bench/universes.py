"""Universes for the rows of solving, made by a seeded generator: each version needs others, each in a random version range."""

from __future__ import annotations

import random
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass, field

from operator_controller.resolve.solver.solver_problem import Asked, Exclusion, Goal, Requirement, VersionSet

Table = dict[str, list[list[Requirement]]]
"""The requirements of each version of each package."""


@dataclass
class TableUniverse:
    """A universe of requirements alone."""

    table: Table
    places: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self.places = {package: place for place, package in enumerate(sorted(self.table))}

    def size(self, package: str) -> int:
        """The number of versions."""
        return len(self.table.get(package, ()))

    def requirements(self, package: str, index: int) -> Sequence[Requirement]:
        """Those of the table."""
        return self.table[package][index]

    def exclusions(self, package: str, index: int) -> Sequence[Exclusion]:
        """None."""
        return ()

    def owned(self, package: str, index: int) -> Collection[Hashable]:
        """Nothing."""
        return ()

    def shares(self, package: str, index: int, other: str, other_index: int) -> bool:
        """Nothing is owned."""
        return False

    def preference(self, package: str) -> Sequence[object]:
        """By name."""
        return (self.places[package],)


def random_table(packages: int, versions: int, counts: Sequence[int], alternatives: int, seed: int) -> Table:
    """Each version has a number of requirements that is drawn from `counts`, each on so many packages in a random range."""
    generator = random.Random(seed)
    names = [f"package-{number:04}" for number in range(packages)]
    return {name: random_versions(name, names, versions, counts, alternatives, generator) for name in names}


def random_versions(
    name: str, names: list[str], versions: int, counts: Sequence[int], alternatives: int, generator: random.Random
) -> list[list[Requirement]]:
    """The versions of one package."""
    return [
        [_requirement(name, names, versions, alternatives, generator) for _ in range(generator.choice(counts))]
        for _ in range(versions)
    ]


def _requirement(
    name: str, names: list[str], versions: int, alternatives: int, generator: random.Random
) -> Requirement:
    others: list[str] = []
    while len(others) < alternatives:
        other = generator.choice(names)
        if other != name and other not in others:
            others.append(other)
    ranges = [sorted((generator.randrange(versions), generator.randrange(versions))) for _ in others]
    return Requirement(
        tuple(VersionSet(other, ((low, high),)) for other, (low, high) in zip(others, ranges, strict=True))
    )


def random_goal(table: Table, asked: int, seed: int) -> Goal:
    """So many packages of the table, in random order."""
    return Goal(tuple(Asked(package) for package in random.Random(seed).sample(sorted(table), asked)))
