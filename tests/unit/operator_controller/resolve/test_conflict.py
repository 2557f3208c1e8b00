"""A conflict is a minimal set of clauses that exclude each other, in an order that reads as a chain, within its budget."""

from __future__ import annotations

import os
from collections.abc import Iterable

from hypothesis import given, settings

from operator_controller.resolve.clauses import (
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
from operator_controller.resolve.conflict import ConflictFinder
from operator_controller.resolve.optimum import solve
from operator_controller.resolve.problem import Goal
from tests.unit.operator_controller.resolve.small_universes import (
    Selection,
    SmallUniverse,
    best,
    includes,
    problems,
    selections,
)

EXAMPLES = int(os.environ.get("CONFLICT_EXAMPLES", "100"))


def holds(clause: Clause, selection: Selection) -> bool:
    match clause:
        case AskedClause(package, (low, high)):
            return low <= selection.get(package, -1) <= high
        case PresentClause(package) | KeptClause(package):
            return package in selection
        case SelectedClause(package, index):
            return selection.get(package) == index
        case AbsentClause(package):
            return package not in selection
        case RequirementClause(package, (low, high), requirement):
            is_selected = low <= selection.get(package, -1) <= high
            return not is_selected or any(includes(selection, one) for one in requirement.alternatives)
        case ExclusionClause(package, (low, high), exclusion):
            excluded = [one for one in exclusion.excluded if one.package != package]
            is_selected = low <= selection.get(package, -1) <= high
            return not is_selected or not any(includes(selection, one) for one in excluded)
        case OwnershipClause(_, first, second):
            return not (includes(selection, first) and includes(selection, second))
        case VersionsClause():
            return True


def can_hold(universe: SmallUniverse, clauses: Iterable[Clause]) -> bool:
    needed = tuple(clauses)
    return any(all(holds(clause, one) for clause in needed) for one in selections(universe))


def is_true(universe: SmallUniverse, clause: Clause) -> bool:
    """Whether what the clause says about versions stands in the universe."""
    match clause:
        case RequirementClause(package, (low, high), requirement):
            return all(requirement in universe.requirements(package, index) for index in range(low, high + 1))
        case ExclusionClause(package, (low, high), exclusion):
            return all(exclusion in universe.exclusions(package, index) for index in range(low, high + 1))
        case OwnershipClause(key, first, second):
            pairs = [
                (index, other)
                for (low, high) in first.intervals
                for index in range(low, high + 1)
                for (other_low, other_high) in second.intervals
                for other in range(other_low, other_high + 1)
            ]
            return all(
                key in universe.owned(first.package, index)
                and key in universe.owned(second.package, other)
                and not universe.shares(first.package, index, second.package, other)
                for index, other in pairs
            )
        case VersionsClause(package, size):
            return universe.size(package) == size
    return True


@settings(max_examples=EXAMPLES, deadline=None)
@given(problems())
def test_a_conflict_is_a_minimal_set_of_true_clauses_that_exclude_each_other(
    problem: tuple[SmallUniverse, Goal],
) -> None:
    universe, goal = problem
    if best(universe, goal) is None:
        return
    solution = solve(universe, goal)
    finder = ConflictFinder(universe, goal, solution)
    for package in dict.fromkeys((*solution.refused, *universe.versions)):
        conflict = finder.find(package)
        if conflict is None:
            assert solution.selected.get(package, -1) == universe.size(package) - 1
            continue
        assert conflict.is_minimal
        assert isinstance(conflict.clauses[0], AskedClause)
        assert conflict.clauses[0].package == package
        assert len(set(conflict.clauses)) == len(conflict.clauses)
        assert all(is_true(universe, clause) for clause in conflict.clauses)
        assert not can_hold(universe, conflict.clauses)
        for left_out in conflict.clauses:
            if not isinstance(left_out, VersionsClause):
                assert can_hold(universe, (one for one in conflict.clauses if one != left_out))
