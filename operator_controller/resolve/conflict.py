"""Why a package is refused, or why not a greater version of it is selected: a minimal set of clauses that exclude each other.

Called in the solver child and by `olm resolve`, after optimum.py, by what explains answers. A solver of its own encodes the
problem once more, each group of clauses under a selector, and only as far as the questions need it. So the conflicts do not
depend on how the solution was found: the same questions in the same order have the same answers. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from operator_controller.resolve.budget import EXPLANATION_BUDGET, EXPLANATIONS_BUDGET, Budget, BudgetExhausted
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
)
from operator_controller.resolve.conflict_order import order_clauses
from operator_controller.resolve.lazy_encoding import LazyEncoding
from operator_controller.resolve.optimum import Solution
from operator_controller.resolve.problem import Goal, Interval, Universe

REMOVAL_ORDER = (
    AbsentClause,
    SelectedClause,
    AskedClause,
    KeptClause,
    PresentClause,
    OwnershipClause,
    ExclusionClause,
    RequirementClause,
)
"""Where a conflict can do without one clause or another, clauses of the first kinds are left out first."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """Clauses that cannot hold together."""

    clauses: tuple[Clause, ...]
    """The first is the AskedClause of the versions in question; each other is about a package that one before it names, as far
    as possible."""
    is_minimal: bool
    """Whether the clauses can hold together without any one of them. False if the budget was used up before that was known."""


class ConflictFinder:
    """Answers questions about one proved solution.

    `budget`: the limits of each question; `total`: those of all of them together; both are by default those of budget.py.
    """

    def __init__(
        self,
        universe: Universe,
        goal: Goal,
        solution: Solution,
        budget: Budget = EXPLANATION_BUDGET,
        total: Budget = EXPLANATIONS_BUDGET,
    ) -> None:
        self._universe, self._goal, self._solution = universe, goal, solution
        self._budget, self._total = budget, total
        self._encoding = LazyEncoding(universe, {}, with_selectors=True)
        self._literals: dict[Clause, int] = {}

    def find(self, package: str, interval: Interval | None = None) -> Conflict | None:
        """Why the package is not selected with a version of the interval.

        By default the interval is that of all versions that satisfy the request if the package is asked for and not satisfied,
        and else that of all versions greater than the selected one. None if no conflict is found within the budget, or if there
        is none.
        """
        low, high = interval or self._versions_in_question(package)
        if low > high and package in self._solution.selected and package not in self._solution.refused:
            return None
        self._encoding.allow(self._budget.at_most(self._total.less(self._encoding.used)))
        wanted = AskedClause(package, (low, max(low, high)))
        try:
            named = self._conflicting(wanted)
        except BudgetExhausted:
            return None
        if named is None:
            return None
        core, is_minimal = self._shrink(wanted, named)
        return Conflict(order_clauses(wanted, core, self._universe, self._goal), is_minimal)

    def _versions_in_question(self, package: str) -> Interval:
        first = next((asked.first for asked in self._goal.asked if asked.package == package), 0)
        if package in self._solution.selected:
            selected = self._solution.selected[package]
            first = selected + 1 if selected >= first else first
        return first, self._encoding.size(package) - 1

    # --- what holds beside the wanted versions

    def _decided(self, package: str) -> Iterator[Clause]:
        """What is more important than the version of this package."""
        goal, solution = self._goal, self._solution
        asked = {one.package: one.first for one in goal.asked}
        for name in solution.satisfied if package not in solution.refused else self._satisfied_before(package):
            if name != package:
                yield self._asked(name, asked[name])
        if package in solution.refused:
            return
        for name in goal.kept:
            if name == package and name not in solution.selected:
                return
            if name != package and name in solution.selected:
                yield KeptClause(name)
        for name in self._decided_before(package):
            yield SelectedClause(name, solution.selected[name])

    def _asked(self, package: str, first: int) -> AskedClause:
        return AskedClause(package, (first, max(first, self._encoding.size(package) - 1)))

    def _satisfied_before(self, package: str) -> Iterator[str]:
        for asked in self._goal.asked:
            if asked.package == package:
                return
            if asked.package in self._solution.satisfied:
                yield asked.package

    def _decided_before(self, package: str) -> Iterator[str]:
        """The selected packages whose versions are decided before that of this one."""
        selected = self._solution.selected
        asked = [one.package for one in self._goal.asked if one.package in selected]
        others = sorted(selected.keys() - set(asked), key=lambda name: tuple(self._universe.preference(name)))
        for name in (*asked, *others):
            if name == package:
                return
            yield name

    def _absent(self, package: str) -> list[Clause]:
        """If the version of the package is decided last: no package is selected that is not in the solution."""
        selected, goal = self._solution.selected, self._goal
        if any(asked.package == package for asked in goal.asked) or (package in goal.kept and package not in selected):
            return []
        return [AbsentClause(name) for name in self._encoding.packages() if name not in selected]

    # --- the conflict

    def _conflicting(self, wanted: AskedClause) -> dict[int, Clause] | None:
        """Assumptions that cannot hold together, with what they mean; None if there are none."""
        encoding = self._encoding
        clauses: list[Clause] = [wanted, *(PresentClause(name) for name in self._goal.present)]
        if encoding.solve([self._literal(clause) for clause in clauses]):
            clauses += self._decided(wanted.package)
            count = -1
            while encoding.solve([self._literal(clause) for clause in clauses]):
                absent = self._absent(wanted.package)
                if len(absent) == count:
                    return None
                count = len(absent)
                clauses = [*(clause for clause in clauses if not isinstance(clause, AbsentClause)), *absent]
        named: Mapping[int, Clause] = {self._literal(clause): clause for clause in reversed(clauses)}
        return {literal: named.get(literal) or encoding.selectors[literal] for literal in encoding.solver.core}

    def _literal(self, clause: Clause) -> int:
        """A literal whose assumption makes the clause hold."""
        found = self._literals.get(clause)
        if found is None:
            found = self._literals[clause] = self._new_literal(clause)
        return found

    def _new_literal(self, clause: Clause) -> int:
        encoding = self._encoding
        if isinstance(clause, PresentClause | KeptClause):
            return encoding.literal(clause.package, 0)
        if isinstance(clause, AbsentClause):
            return -encoding.literal(clause.package, 0)
        assert isinstance(clause, AskedClause | SelectedClause)
        low, high = clause.interval if isinstance(clause, AskedClause) else (clause.index, clause.index)
        selector = encoding.solver.new_variable()
        encoding.solver.add_clause([-selector, encoding.literal(clause.package, low)])
        encoding.solver.add_clause([-selector, -encoding.literal(clause.package, high + 1)])
        return selector

    def _shrink(self, wanted: AskedClause, named: dict[int, Clause]) -> tuple[list[Clause], bool]:
        """Leave out one clause after the other without which the others still conflict. Whether all were tried."""
        core = sorted(named, key=lambda literal: (REMOVAL_ORDER.index(type(named[literal])), -abs(literal)))
        try:
            for literal in tuple(core):
                if literal in core and named[literal] != wanted:
                    rest = [each for each in core if each != literal]
                    if not self._encoding.call(rest):
                        smaller = set(self._encoding.solver.core)
                        core = [each for each in rest if each in smaller]
        except BudgetExhausted:
            return [named[literal] for literal in core], False
        return [named[literal] for literal in core], True
