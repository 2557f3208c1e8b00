"""The best solution of a problem: all five levels against brute force, the same in any order, after a change, within a budget."""

from __future__ import annotations

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operator_controller.resolve.optimum import ContradictoryGoal, Optimizer, solve
from operator_controller.resolve.problem import Goal
from tests.unit.operator_controller.resolve.small_universes import SmallUniverse, best, problems, shuffled

EXAMPLES = int(os.environ.get("OPTIMUM_EXAMPLES", "150"))


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
