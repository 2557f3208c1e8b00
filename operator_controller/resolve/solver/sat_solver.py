"""The SAT solver: the one home of python-sat, with types and with limits that are counted instead of timed.

Its calls belong in a child process: each holds the GIL until it ends. The same calls in the same order give the same models and
cores, whether they are paused (pausable_call.py) or not. Knows nothing of packages.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum

from pysat.solvers import Minisat22

from operator_controller.resolve.solver.pausable_call import may_pause

PROPAGATIONS_PER_STEP = 500_000
"""Propagations of one step of a call: about 0.15 s. MiniSat keeps what it has learned for the next step."""


class Outcome(Enum):
    """The result of one call of the solver."""

    SATISFIABLE = "satisfiable"
    UNSATISFIABLE = "unsatisfiable"
    EXHAUSTED = "exhausted"
    """A limit was reached before the call was decided."""


class SatSolver:
    """One incremental instance of MiniSat 2.2, whose limits on conflicts and propagations are exact.

    A literal is the number of a variable, negative for its negation.
    """

    def __init__(self) -> None:
        self._minisat = Minisat22()
        self._model: list[int] = []
        self._core: tuple[int, ...] = ()
        self._unused_phases: list[int] = []
        self.variables = 0
        self.clauses = 0
        self.conflicts = 0
        self.propagations = 0

    def new_variable(self, phase: bool = False) -> int:
        """A new variable; `phase` is the value that decisions give it, whatever it had in an earlier model."""
        self.variables += 1
        self._unused_phases.append(self.variables if phase else -self.variables)
        return self.variables

    def add_clause(self, literals: Sequence[int]) -> None:
        """At least one of the literals is true. An empty clause makes the formula unsatisfiable."""
        self.clauses += 1
        if literals:
            self._minisat.add_clause(literals)
        else:
            impossible = self.new_variable()
            self._minisat.add_clause([impossible])
            self._minisat.add_clause([-impossible])

    def solve(self, assumptions: Iterable[int], conflicts: int, propagations: int) -> Outcome:
        """Decide the clauses together with the assumptions. The limits hold for this call; MiniSat forgets them after each."""
        if self._unused_phases:
            self._minisat.set_phases(self._unused_phases)
            self._unused_phases = []
        self._model, self._core = [], ()
        last_conflict, last_propagation = self.conflicts + conflicts, self.propagations + propagations
        assumed, result = list(assumptions), None
        while result is None:
            may_pause()
            conflicts, propagations = last_conflict - self.conflicts, last_propagation - self.propagations
            if conflicts <= 0 or propagations <= 0:  # to MiniSat 0 means no limit
                return Outcome.EXHAUSTED
            self._minisat.conf_budget(conflicts)
            self._minisat.prop_budget(min(propagations, PROPAGATIONS_PER_STEP))
            result = self._minisat.solve_limited(assumptions=assumed)
            counts = self._minisat.accum_stats()
            self.conflicts, self.propagations = counts["conflicts"], counts["propagations"]
        if not result:
            self._core = tuple(self._minisat.get_core() or ())  # None if no assumption is needed
            return Outcome.UNSATISFIABLE
        self._model = self._minisat.get_model() or []
        # MiniSat knows only variables of clauses, phases and assumptions. The others may have any value.
        self._model.extend(-variable for variable in range(len(self._model) + 1, self.variables + 1))
        return Outcome.SATISFIABLE

    def is_refuted(self, assumptions: Sequence[int]) -> bool:
        """Report whether unit propagation alone shows that the assumptions conflict with the clauses. Costs a fraction of
        solve()."""
        return not self._minisat.propagate(assumptions)[0]

    @property
    def model(self) -> Sequence[int]:
        """The true literals of the last satisfiable call: the one of variable v at v - 1. Empty after any other call."""
        return self._model

    @property
    def core(self) -> tuple[int, ...]:
        """Assumptions of the last unsatisfiable call that cannot hold together, not necessarily the fewest."""
        return self._core

    def close(self) -> None:
        """Free the memory of the instance at once. It cannot be used afterwards."""
        self._minisat.delete()
