"""The order in which the clauses of a conflict are read: a chain from the package in question to what it conflicts with. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from operator_controller.resolve.solver.clauses import (
    AbsentClause,
    AskedClause,
    Clause,
    ExclusionClause,
    KeptClause,
    OwnershipClause,
    PresentClause,
    RequirementClause,
    SelectedClause,
    VersionsClause,
)
from operator_controller.resolve.solver.solver_problem import Goal, Universe, VersionSet

KINDS = (
    AskedClause,
    SelectedClause,
    PresentClause,
    KeptClause,
    RequirementClause,
    ExclusionClause,
    OwnershipClause,
    AbsentClause,
)
"""Of the clauses about one package, those of the first kinds come first."""


def order_clauses(start: AskedClause, clauses: Iterable[Clause], universe: Universe, goal: Goal) -> tuple[Clause, ...]:
    """`start`, then what is about a package that a clause before names, the newest versions first; then the rest in the same way.

    A VersionsClause follows the first clause that needs a version of a package without such versions.
    """
    places = {asked.package: place for place, asked in enumerate(goal.asked)}
    others = sorted((one for one in clauses if one != start), key=lambda one: _key(one, places))
    ordered: list[Clause] = [start, *dict.fromkeys(others)]
    about: dict[str, list[int]] = {}  # the positions of the clauses about each package
    for position, clause in enumerate(ordered):
        for package in _subjects(clause):
            about.setdefault(package, []).append(position)
    is_found = [False] * len(ordered)
    found: dict[Clause, None] = {}
    for first in range(len(ordered)):
        pending = [first]
        while pending:
            position = pending.pop()
            if is_found[position]:
                continue
            is_found[position] = True
            clause = ordered[position]
            found |= dict.fromkeys([clause, *_missing_versions(clause, universe)])
            for named in (_subjects(clause), _objects(clause)):  # the end of `pending` comes first
                positions = {one for package in named for one in about.get(package, ()) if not is_found[one]}
                pending += sorted(positions, reverse=True)
    return tuple(found)


def _subjects(clause: Clause) -> tuple[str, ...]:
    """The packages that the clause is about."""
    return (clause.first.package, clause.second.package) if isinstance(clause, OwnershipClause) else (clause.package,)


def _objects(clause: Clause) -> tuple[str, ...]:
    """The packages that it also names."""
    if isinstance(clause, RequirementClause):
        return tuple(one.package for one in clause.requirement.alternatives)
    return tuple(one.package for one in clause.exclusion.excluded) if isinstance(clause, ExclusionClause) else ()


def _key(clause: Clause, places: dict[str, int]) -> tuple[object, ...]:
    place = min(places.get(package, len(places)) for package in _subjects(clause))
    newest = 0
    rest: tuple[object, ...] = ()
    if isinstance(clause, RequirementClause):
        newest, rest = clause.interval[1], _sets_key(clause.requirement.alternatives, clause.requirement.source)
    elif isinstance(clause, ExclusionClause):
        newest, rest = clause.interval[1], _sets_key(clause.exclusion.excluded, clause.exclusion.source)
    elif isinstance(clause, OwnershipClause):
        rest = (repr(clause.key), *_sets_key((clause.first, clause.second), None))
    return KINDS.index(type(clause)), place, _subjects(clause), -newest, rest


def _sets_key(sets: Iterable[VersionSet], source: object) -> tuple[object, ...]:
    return sorted((one.package, one.intervals) for one in sets), repr(source)


def _missing_versions(clause: Clause, universe: Universe) -> Iterator[VersionsClause]:
    if isinstance(clause, AskedClause) and clause.interval[0] >= universe.size(clause.package):
        yield VersionsClause(clause.package, universe.size(clause.package))
    if isinstance(clause, RequirementClause):
        alternatives = clause.requirement.alternatives
        if all(one.intervals[0][0] >= universe.size(one.package) for one in alternatives):
            for one in alternatives:
                yield VersionsClause(one.package, universe.size(one.package))
