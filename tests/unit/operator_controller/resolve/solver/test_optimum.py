"""The best solution of a problem: all five levels against brute force, the same in any order, after a change, within a budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operator_controller.resolve.solver.budget import Budget
from operator_controller.resolve.solver.optimum import ContradictoryGoal, Optimizer, solve
from operator_controller.resolve.solver.solver_problem import Asked, Exclusion, Goal, Requirement
from tests.bench.universes import TableUniverse, random_goal, random_table
from tests.examples import example_count
from tests.unit.operator_controller.resolve.solver.small_universes import (
    SmallUniverse,
    Version,
    asked,
    best,
    problems,
    requires,
    shuffled,
    versions,
)

EXAMPLES = example_count(100)


@settings(max_examples=EXAMPLES, deadline=None)
@given(problems())
def test_the_solution_is_the_best_of_all_selections(problem: tuple[SmallUniverse, Goal]) -> None:
    universe, goal = problem
    expected = best(universe, goal)
    if expected is None:
        with pytest.raises(ContradictoryGoal):
            solve(universe, goal)
        return
    solution = solve(universe, goal)
    assert solution.selected == expected
    assert solution.is_proved
    satisfied = [one.package for one in goal.asked if expected.get(one.package, -1) >= one.first]
    assert list(solution.satisfied) == satisfied
    assert list(solution.refused) == [one.package for one in goal.asked if one.package not in satisfied]


@settings(max_examples=EXAMPLES // 3, deadline=None)
@given(problems(), st.integers(0, 1000))
def test_the_solution_is_the_same_in_any_order(problem: tuple[SmallUniverse, Goal], seed: int) -> None:
    universe, goal = problem
    if best(universe, goal) is not None:
        assert solve(*shuffled(universe, goal, seed)) == solve(universe, goal)


@settings(max_examples=EXAMPLES // 3, deadline=None)
@given(st.lists(problems(), min_size=2, max_size=4))
def test_after_a_change_the_solution_is_that_of_a_cold_solve(sequence: list[tuple[SmallUniverse, Goal]]) -> None:
    optimizer = Optimizer()
    for universe, goal in sequence:
        if best(universe, goal) is not None:
            assert optimizer.solve(universe, goal) == solve(universe, goal)


def universe(**packages: Sequence[Sequence[Requirement] | Version]) -> SmallUniverse:
    return SmallUniverse(
        {
            name: tuple(one if isinstance(one, Version) else Version(tuple(one)) for one in table)
            for name, table in packages.items()
        }
    )


NEVER = requires()
A_OR_B = requires(versions("a", (0, 0)), versions("b", (0, 0)))
CASES = [
    pytest.param(
        universe(a=[[], []], b=[[]]),
        Goal(asked("a")),
        {"a": 1},
        id="the greatest version, and nothing that nobody needs",
    ),
    pytest.param(
        universe(a=[[requires(versions("b", (0, 1)))]], b=[[], [], []]),
        Goal(asked("a")),
        {"a": 0, "b": 1},
        id="the greatest version of a dependency within its interval",
    ),
    pytest.param(
        universe(a=[[requires(versions("b", (0, 0), (2, 2)))]], b=[[], [], [NEVER]]),
        Goal(asked("a")),
        {"a": 0, "b": 0},
        id="a version set with a gap",
    ),
    pytest.param(
        universe(a=[[], [NEVER]]),
        Goal(asked("a")),
        {"a": 0},
        id="a version whose requirement nothing satisfies is not selected",
    ),
    pytest.param(
        universe(a=[[], [requires(versions("unknown", (0, 9)))]]),
        Goal(asked("a")),
        {"a": 0},
        id="a package that is not known",
    ),
    pytest.param(universe(), Goal(asked("a")), {}, id="an asked package that is not known"),
    pytest.param(universe(a=[[]]), Goal(()), {}, id="nothing is asked for"),
    pytest.param(
        universe(a=[[requires(versions("b", (0, 0)))]], b=[[requires(versions("a", (0, 0)))]]),
        Goal(asked("a")),
        {"a": 0, "b": 0},
        id="a cycle",
    ),
    pytest.param(
        universe(a=[[requires(versions("a", (0, 0)), versions("b", (0, 0)))]], b=[[]]),
        Goal(asked("a")),
        {"a": 0},
        id="a version satisfies its own requirement",
    ),
    pytest.param(
        universe(c=[[A_OR_B]], a=[[requires(versions("d", (0, 0)))]], b=[[]], d=[[]]),
        Goal(asked("c")),
        {"c": 0, "b": 0},
        id="of two alternatives the one that needs fewer packages",
    ),
    pytest.param(
        universe(c=[[A_OR_B]], a=[[]], b=[[]]),
        Goal(asked("c")),
        {"c": 0, "a": 0},
        id="of two alternatives that need equally many the preferred one",
    ),
    pytest.param(
        universe(c=[[A_OR_B]], a=[[]], b=[[]]),
        Goal(asked("c"), kept=("b",)),
        {"c": 0, "b": 0},
        id="of two alternatives the one that is kept",
    ),
    pytest.param(
        universe(a=[[requires(versions("c", (0, 0)))]], b=[[requires(versions("c", (1, 1)))]], c=[[], []]),
        Goal(asked("b", "a")),
        {"b": 0, "c": 1},
        id="of two that conflict the first one asked for",
    ),
    pytest.param(
        universe(a=[[], [requires(versions("c", (0, 0)))]], b=[[], [requires(versions("c", (1, 1)))]], c=[[], []]),
        Goal(asked("a", "b")),
        {"a": 1, "b": 0, "c": 0},
        id="both are satisfied before either has its greatest version",
    ),
    pytest.param(
        universe(a=[[], [NEVER]], b=[[requires(versions("a", (0, 0)))]]),
        Goal((Asked("a", 1), Asked("b")), present=("a",)),
        {"a": 0, "b": 0},
        id="a present package that is not satisfied stays",
    ),
    pytest.param(
        universe(a=[[], Version(exclusions=(Exclusion((versions("b", (1, 1)), versions("a", (0, 1)))),))], b=[[], []]),
        Goal(asked("a", "b")),
        {"a": 1, "b": 0},
        id="an excluded version is not selected, and a version does not exclude itself",
    ),
    pytest.param(
        universe(a=[Version(owned=("k",))], b=[Version(), Version(owned=("k", "l"))]),
        Goal(asked("a", "b")),
        {"a": 0, "b": 0},
        id="one version owns each key",
    ),
    pytest.param(
        SmallUniverse(
            {"a": (Version(owned=("k",)), Version(owned=("k",))), "b": (Version(owned=("k",)),)},
            frozenset([frozenset([("a", 0), ("b", 0)])]),
        ),
        Goal(asked("a", "b"), present=("a", "b")),
        {"a": 0, "b": 0},
        id="two versions that share a key stay",
    ),
    pytest.param(
        universe(a=[[]], e=[[], [requires(versions("d", (0, 0)))]], d=[[NEVER]]),
        Goal(asked("a"), kept=("e",)),
        {"a": 0, "e": 0},
        id="a kept package has its greatest possible version",
    ),
    pytest.param(
        universe(a=[Version(exclusions=(Exclusion((versions("e", (0, 0)),)),))], e=[[]]),
        Goal(asked("a"), kept=("e",)),
        {"a": 0},
        id="a kept package that keeps an asked one out goes",
    ),
]


@pytest.mark.parametrize(("problem", "goal", "expected"), CASES)
def test_the_solution_of(problem: SmallUniverse, goal: Goal, expected: dict[str, int]) -> None:
    assert best(problem, goal) == expected
    solution = solve(problem, goal)
    assert solution.selected == expected
    assert solution.is_proved


def test_equal_requirements_of_neighbours_are_encoded_once() -> None:
    requirement = requires(versions("b", (0, 0)), source="b 1")
    chain = [[requirement]] * 30
    same = solve(universe(a=chain, b=[[NEVER]]), Goal(asked("a")))
    one = solve(universe(a=[[requirement]], b=[[NEVER]]), Goal(asked("a")))
    assert same.refused == one.refused == ("a",)
    assert same.statistics.clauses <= one.statistics.clauses + 4
    assert same.statistics.calls == one.statistics.calls


def test_only_versions_that_a_model_selects_are_read() -> None:
    large = universe(a=[[requires(versions("b", (0, 49)))]], b=[[]] * 50, c=[[requires(versions("d", (0, 0)))]] * 50)
    solve(large, Goal(asked("a")))
    assert {package for package, _ in large.counted} == {"a", "b"}
    assert len(set(large.counted)) < 10


def test_one_of_thousands_of_providers_is_proved_to_be_enough() -> None:
    names = [f"b{number}" for number in range(2000)]
    one_of_them = requires(*(versions(name, (0, 0)) for name in names))
    problem = replace(universe(a=[[one_of_them]], **{name: [[]] for name in names}), order=("a", *names))
    solution = solve(problem, Goal(asked("a")))
    assert solution.is_proved
    assert len(solution.selected) == 2
    assert solution.statistics.clauses < 20 * len(names)


def test_many_packages_of_one_conflict_are_proved_to_be_the_fewest() -> None:
    names = ["b", "c", "d", "e", "f", "g"]
    pairs = [requires(versions(one, (0, 0)), versions(other, (0, 0))) for one, other in combinations(names, 2)]
    problem = replace(universe(a=[pairs], **{name: [[]] for name in names}), order=("a", *names))
    solution = solve(problem, Goal(asked("a")))
    assert solution.is_proved
    assert sorted(solution.selected) == ["a", "b", "c", "d", "e", "f"]


def test_present_packages_that_exclude_each_other_are_an_error() -> None:
    exclusive = universe(a=[Version(owned=("k",))], b=[Version(owned=("k",))])
    with pytest.raises(ContradictoryGoal, match="no selection contains all of a, b"):
        solve(exclusive, Goal((), present=("a", "b")))


# --- budgets


def hard_problem() -> tuple[TableUniverse, Goal]:
    table = random_table(60, 10, (1, 2, 3), 2, seed=1)
    return TableUniverse(table), random_goal(table, 20, seed=1)


@pytest.mark.parametrize(
    "budget",
    [
        pytest.param(Budget(conflicts=1), id="conflicts"),
        pytest.param(Budget(propagations=500), id="propagations"),
        pytest.param(Budget(calls=10), id="calls"),
        pytest.param(Budget(rounds=5), id="rounds"),
        pytest.param(Budget(clauses=200), id="clauses"),
        pytest.param(Budget(0, 0, 0, 0, 0), id="nothing"),
    ],
)
def test_when_a_budget_is_used_up_the_solution_says_so_and_claims_nothing_more(budget: Budget) -> None:
    table, goal = hard_problem()
    proved, solution = solve(table, goal), solve(table, goal, budget)
    assert proved.is_proved
    assert not solution.is_proved
    assert solution.exhausted is not None
    assert set(solution.satisfied) <= set(proved.satisfied)
    assert set(solution.refused) <= set(proved.refused)
    assert solve(table, goal, budget) == solution


def test_after_a_solution_that_is_not_proved_an_optimizer_solves_anew() -> None:
    table, goal = hard_problem()
    optimizer = Optimizer(Budget(calls=10))
    assert optimizer.solve(table, goal) == optimizer.solve(table, goal)
    small = universe(a=[[]])
    assert optimizer.solve(small, Goal(asked("a"))).selected == {"a": 0}
    assert not optimizer.solve(table, goal).is_proved


def test_an_optimizer_needs_fewer_rounds_after_a_small_change() -> None:
    table, goal = hard_problem()
    optimizer = Optimizer()
    cold = optimizer.solve(table, goal)
    again = optimizer.solve(table, goal)
    assert again == cold
    assert again.statistics.rounds < cold.statistics.rounds / 2
