"""A conflict is a minimal set of clauses that exclude each other, in an order that reads as a chain, within its budget."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import given, settings

from operator_controller.resolve.explain.conflict import ConflictFinder
from operator_controller.resolve.solver.budget import Budget
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
from operator_controller.resolve.solver.optimum import Optimizer, solve
from operator_controller.resolve.solver.solver_problem import Asked, Goal
from tests.bench.universes import TableUniverse, random_goal, random_table
from tests.examples import example_count
from tests.unit.operator_controller.resolve.solver.small_universes import (
    Selection,
    SmallUniverse,
    Version,
    asked,
    best,
    includes,
    problems,
    requires,
    selections,
    versions,
)

EXAMPLES = example_count(60)


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


def chain(universe: SmallUniverse, goal: Goal, package: str) -> tuple[Clause, ...]:
    conflict = ConflictFinder(universe, goal, solve(universe, goal)).find(package)
    assert conflict is not None
    return conflict.clauses


def needs(package: str, *intervals: tuple[int, int]) -> Version:
    return Version((requires(versions(package, *intervals)),))


def requirement(package: str, interval: tuple[int, int], needed: str, *intervals: tuple[int, int]) -> RequirementClause:
    return RequirementClause(package, interval, requires(versions(needed, *intervals)))


ANY = Version()


def test_two_that_need_different_versions_of_a_third_read_as_in_the_guide() -> None:
    guide = SmallUniverse({"a": (needs("c", (0, 0)),), "b": (needs("c", (1, 1)),), "c": (ANY, ANY)})
    assert chain(guide, Goal(asked("b", "a")), "a") == (
        AskedClause("a", (0, 0)),
        requirement("a", (0, 0), "c", (0, 0)),
        AskedClause("b", (0, 0)),
        requirement("b", (0, 0), "c", (1, 1)),
    )


def test_a_conflict_names_no_other_package_if_the_package_alone_is_impossible() -> None:
    universe = SmallUniverse({"a": (needs("c", (0, 0)),), "b": (needs("c", (1, 1)),), "c": (needs("d", (0, 0)), ANY)})
    assert chain(universe, Goal(asked("b", "a")), "a") == (
        AskedClause("a", (0, 0)),
        requirement("a", (0, 0), "c", (0, 0)),
        requirement("c", (0, 0), "d", (0, 0)),
        VersionsClause("d", 0),
    )


def test_neighbouring_versions_with_an_equal_requirement_are_one_clause_the_newest_first() -> None:
    old, new = needs("d", (0, 0)), needs("c", (0, 0))
    universe = SmallUniverse({"a": (old, old, new, new), "c": (Version((requires(),)),)})
    assert chain(universe, Goal(asked("a")), "a") == (
        AskedClause("a", (0, 3)),
        requirement("a", (2, 3), "c", (0, 0)),
        RequirementClause("c", (0, 0), requires()),
        requirement("a", (0, 1), "d", (0, 0)),
        VersionsClause("d", 0),
    )


def test_the_versions_of_a_package_are_named_once() -> None:
    universe = SmallUniverse({"a": (needs("d", (2, 2)), needs("c", (0, 0))), "c": (needs("d", (3, 3)),), "d": (ANY,)})
    assert chain(universe, Goal(asked("a")), "a") == (
        AskedClause("a", (0, 1)),
        requirement("a", (1, 1), "c", (0, 0)),
        requirement("c", (0, 0), "d", (3, 3)),
        VersionsClause("d", 1),
        requirement("a", (0, 0), "d", (2, 2)),
    )


def test_a_package_without_a_version_that_satisfies_the_request() -> None:
    universe = SmallUniverse({"a": (ANY,)})
    assert chain(universe, Goal((Asked("a", 1),), present=("a",)), "a") == (
        AskedClause("a", (1, 1)),
        VersionsClause("a", 1),
    )
    assert chain(universe, Goal(asked("b")), "b") == (AskedClause("b", (0, 0)), VersionsClause("b", 0))


def test_what_runs_keeps_a_newcomer_out() -> None:
    universe = SmallUniverse({"a": (Version(owned=("k",)),), "b": (Version(owned=("k",)),)})
    assert chain(universe, Goal(asked("b", "a"), present=("b",)), "a") == (
        AskedClause("a", (0, 0)),
        OwnershipClause("k", versions("a", (0, 0)), versions("b", (0, 0))),
        PresentClause("b"),
    )


def test_a_version_that_would_take_a_greater_one_from_a_more_important_package() -> None:
    universe = SmallUniverse({"a": (ANY, needs("b", (0, 0))), "b": (ANY, needs("a", (0, 0)))})
    assert chain(universe, Goal(asked("a", "b")), "b") == (
        AskedClause("b", (1, 1)),
        requirement("b", (1, 1), "a", (0, 0)),
        SelectedClause("a", 1),
    )


def test_a_version_that_needs_a_package_that_nothing_else_needs() -> None:
    universe = SmallUniverse({"a": (needs("b", (0, 1)),), "b": (ANY, needs("c", (0, 0))), "c": (ANY,)})
    assert chain(universe, Goal(asked("a")), "b") == (
        AskedClause("b", (1, 1)),
        requirement("b", (1, 1), "c", (0, 0)),
        AbsentClause("c"),
    )


def test_why_not_one_version_among_those_that_are_greater() -> None:
    universe = SmallUniverse({"a": (ANY, needs("c", (0, 0)), needs("d", (0, 0)))})
    goal = Goal(asked("a"))
    conflict = ConflictFinder(universe, goal, solve(universe, goal)).find("a", (1, 1))
    assert conflict is not None
    assert conflict.clauses == (
        AskedClause("a", (1, 1)),
        requirement("a", (1, 1), "c", (0, 0)),
        VersionsClause("c", 0),
    )


def test_the_greatest_version_has_no_conflict() -> None:
    universe = SmallUniverse({"a": (ANY, ANY)})
    goal = Goal(asked("a"))
    assert ConflictFinder(universe, goal, solve(universe, goal)).find("a") is None


def test_conflicts_do_not_depend_on_how_the_solution_was_found() -> None:
    table = random_table(60, 10, (1, 2, 3), 2, seed=1)
    goal = random_goal(table, 20, seed=1)
    optimizer = Optimizer()
    optimizer.solve(TableUniverse({**table, "package-0001": []}), goal)
    universe = TableUniverse(table)
    warm, cold = (ConflictFinder(universe, goal, each.solve(universe, goal)) for each in (optimizer, Optimizer()))
    for package in solve(universe, goal).selected:
        assert warm.find(package) == cold.find(package)


def test_conflicts_do_not_depend_on_the_questions_before() -> None:
    table = random_table(60, 10, (1, 2, 3), 2, seed=2)
    goal = random_goal(table, 20, seed=2)
    universe = TableUniverse(table)
    solution = solve(universe, goal)
    first, second = ConflictFinder(universe, goal, solution), ConflictFinder(universe, goal, solution)
    found = {package: first.find(package) for package in universe.table}
    assert {package: second.find(package) for package in reversed(list(universe.table))} == found


def test_a_conflict_among_few_packages_takes_few_clauses_however_many_are_installed() -> None:
    others = {f"z{number}": (needs(f"y{number}", (0, 0)),) for number in range(200)}
    needed = {f"y{number}": (ANY,) for number in range(200)}
    table = {"a": (needs("c", (0, 0)), needs("c", (1, 1))), "b": (needs("c", (0, 0)),), "c": (ANY, ANY)}
    universe = SmallUniverse({**table, **others, **needed}, order=(*table, *others, *needed))
    goal = Goal(asked("b", "a", *others))
    solution = solve(universe, goal)
    conflict = ConflictFinder(universe, goal, solution, Budget(clauses=30)).find("a")
    assert conflict is not None
    assert {clause.package for clause in conflict.clauses if not isinstance(clause, OwnershipClause)} == {"a", "b"}


def test_a_conflict_that_was_not_shrunk_within_the_budget_says_so() -> None:
    old, new = needs("d", (0, 0)), needs("c", (0, 0))
    universe = SmallUniverse({"a": (old, old, new, new), "c": (Version((requires(),)),)})
    goal = Goal(asked("a"))
    solution = solve(universe, goal)
    found = [ConflictFinder(universe, goal, solution, Budget(calls=calls)).find("a") for calls in range(12)]
    assert found[0] is None
    partial = [conflict for conflict in found if conflict is not None and not conflict.is_minimal]
    assert partial
    assert not any(can_hold(universe, conflict.clauses) for conflict in partial)
    assert found[-1] is not None
    assert found[-1].is_minimal


def test_the_explanations_of_one_solution_share_a_budget() -> None:
    universe = SmallUniverse({"a": (needs("x", (0, 0)),), "b": (needs("y", (0, 0)),)})
    goal = Goal(asked("a", "b"))
    solution = solve(universe, goal)
    found = []
    for calls in range(1, 20):
        finder = ConflictFinder(universe, goal, solution, total=Budget(calls=calls))
        found.append(tuple(finder.find(package) is not None for package in ("a", "b")))
    assert list(dict.fromkeys(found)) == [(False, False), (True, False), (True, True)]
