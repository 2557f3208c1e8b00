"""Broken rules for people: the same change in many fields of a schema is one entry.

A CustomResourceDefinition often has one structure in dozens of places, and in each of its versions. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from olmkit.crd_safety.problem import Problem

SEPARATOR = "."
"""Between the parts of a path."""


@dataclass(frozen=True)
class ProblemGroup:
    """One rule, broken by the same change in the same versions, in at least one field; several have a name in common."""

    versions: tuple[str, ...]
    paths: tuple[str, ...]
    rule: str
    change: str

    def __str__(self) -> str:
        """As a Problem: `v1, v2: spec.size and 3 more fields that end with size: type-changed: integer -> string`."""
        return ": ".join(filter(None, (", ".join(filter(None, self.versions)), self._fields, self.rule, self.change)))

    @property
    def _fields(self) -> str:
        """The shortest path, and how many more there are."""
        first, more = min(self.paths, key=lambda path: (len(path), path)), len(self.paths) - 1
        if not more:
            return first
        return (
            f"{first} and {more} more field{' that ends' if more == 1 else 's that end'} with {_common_end(self.paths)}"
        )


def problem_groups(problems: Iterable[Problem]) -> list[ProblemGroup]:
    """The groups of these problems, in the order of their first ones; no problem is left out."""
    versions: dict[tuple[str, str, str], list[str]] = {}
    for each in problems:
        versions.setdefault((each.path, each.rule.value, each.change), []).append(each.version)
    paths: dict[tuple[tuple[str, ...], str, str, str], list[str]] = {}
    for (path, rule, change), found in versions.items():
        paths.setdefault((tuple(found), path.rpartition(SEPARATOR)[2], rule, change), []).append(path)
    return [ProblemGroup(known, tuple(found), rule, change) for (known, _, rule, change), found in paths.items()]


def _common_end(paths: Sequence[str]) -> str:
    """The last parts of a path that all paths have."""
    shared: list[str] = []
    for parts in zip(*(reversed(path.split(SEPARATOR)) for path in paths), strict=False):
        if len(set(parts)) > 1:
            break
        shared.insert(0, parts[0])
    return SEPARATOR.join(shared)
