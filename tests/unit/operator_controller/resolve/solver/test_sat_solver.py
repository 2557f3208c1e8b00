"""The solver's models, cores, phases and limits are what the modules above it rely on."""

from __future__ import annotations

from itertools import combinations

import pytest

from operator_controller.resolve.solver.sat_solver import Outcome, SatSolver

MANY = 1_000_000


def solve(solver: SatSolver, *assumptions: int) -> Outcome:
    return solver.solve(assumptions, MANY, MANY)


def pigeonhole(pigeons: int) -> SatSolver:
    """Each pigeon has a hole, no two have the same, and there is one hole too few."""
    solver = SatSolver()
    holes = [[solver.new_variable() for _ in range(pigeons - 1)] for _ in range(pigeons)]
    for row in holes:
        solver.add_clause(row)
    for hole in range(pigeons - 1):
        for one, other in combinations(holes, 2):
            solver.add_clause([-one[hole], -other[hole]])
    return solver


def test_a_model_has_a_literal_of_each_variable_also_of_those_without_clauses() -> None:
    solver = SatSolver()
    first, second, third = (solver.new_variable() for _ in range(3))
    solver.add_clause([first])
    assert solve(solver) is Outcome.SATISFIABLE
    assert solver.model == [first, -second, -third]
    fourth = solver.new_variable()
    assert solve(solver, third) is Outcome.SATISFIABLE
    assert solver.model == [first, -second, third, -fourth]


def test_without_variables_the_model_is_empty() -> None:
    solver = SatSolver()
    assert solve(solver) is Outcome.SATISFIABLE
    assert solver.model == []


def test_a_core_names_assumptions_that_conflict() -> None:
    solver = SatSolver()
    one, other, third = (solver.new_variable() for _ in range(3))
    solver.add_clause([-one, -other])
    assert solve(solver, third, one, other) is Outcome.UNSATISFIABLE
    assert set(solver.core) == {one, other}
    assert solver.model == []


@pytest.mark.parametrize(
    "clauses", [pytest.param([[1], [-1]], id="two units"), pytest.param([[]], id="an empty clause")]
)
def test_the_core_is_empty_if_the_clauses_alone_conflict(clauses: list[list[int]]) -> None:
    solver = SatSolver()
    one = solver.new_variable()
    for clause in clauses:
        solver.add_clause(clause)
    assert solve(solver, one) is Outcome.UNSATISFIABLE
    assert solver.core == ()


def test_decisions_give_a_variable_its_phase() -> None:
    solver = SatSolver()
    positive, negative = solver.new_variable(phase=True), solver.new_variable()
    solver.add_clause([positive, negative])
    assert solve(solver) is Outcome.SATISFIABLE
    assert solver.model == [positive, -negative]


@pytest.mark.parametrize(
    ("conflicts", "propagations"),
    [
        pytest.param(10, MANY, id="conflicts"),
        pytest.param(MANY, 100, id="propagations"),
        pytest.param(0, MANY, id="no conflicts"),
        pytest.param(MANY, -1, id="no propagations"),
    ],
)
def test_a_limit_ends_a_call_and_not_the_next_one(conflicts: int, propagations: int) -> None:
    solver = pigeonhole(6)
    assert solver.solve((), conflicts, propagations) is Outcome.EXHAUSTED
    assert (solver.model, solver.core) == ([], ())
    assert solve(solver) is Outcome.UNSATISFIABLE


def test_conflicts_are_counted_exactly_and_the_same_in_each_run() -> None:
    counts = []
    for _ in range(2):
        solver = pigeonhole(7)
        assert solver.solve((), 10, MANY) is Outcome.EXHAUSTED
        assert solver.conflicts == 10
        assert solve(solver) is Outcome.UNSATISFIABLE
        counts.append((solver.conflicts, solver.propagations, solver.variables, solver.clauses))
    assert counts[0] == counts[1]


def test_unit_propagation_refutes_some_assumptions_and_leaves_the_solver_as_it_was() -> None:
    solver = SatSolver()
    one, other, third = (solver.new_variable() for _ in range(3))
    solver.add_clause([-one, other])
    solver.add_clause([-other, -third])
    assert solver.is_refuted([one, third])
    assert not solver.is_refuted([one])
    assert not pigeonhole(4).is_refuted([])
    assert solve(solver, one) is Outcome.SATISFIABLE
    assert solver.model == [one, other, -third]
    assert solve(solver, third) is Outcome.SATISFIABLE
    assert solver.model == [-one, -other, third]
