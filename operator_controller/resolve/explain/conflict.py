"""Finds why a package is refused, or a greater version of it not selected: a minimal set of clauses that exclude each other.

A solver of its own encodes the problem once more for each question, each group of clauses under a selector, and only as far as
the question needs it. So the conflicts do not depend on how the solution was found, nor on other questions as long as the common
budget suffices. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, partial

from operator_controller.resolve.explain.conflict_order import order_clauses
from operator_controller.resolve.explain.conflict_scope import ConflictScope
from operator_controller.resolve.solver.budget import (
    EXPLANATION_BUDGET,
    EXPLANATIONS_BUDGET,
    Budget,
    BudgetExhausted,
    Statistics,
)
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
)
from operator_controller.resolve.solver.lazy_encoding import LazyEncoding
from operator_controller.resolve.solver.optimum import Solution
from operator_controller.resolve.solver.solver_problem import Goal, Interval, Universe

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
"""The order of removal: where a conflict can do without one clause or another, clauses of the first kinds are left out first."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """Clauses that cannot hold together."""

    clauses: tuple[Clause, ...]
    """The first is the AskedClause of the versions in question; each other is about a package that one before it names, as far
    as possible."""
    is_minimal: bool
    """True if the clauses can hold together without any one of them. False if the budget was used up before that was known."""


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
        self._budget, self._left = budget, total
        self._asked_from = {asked.package: asked.first for asked in goal.asked}
        self._scope = ConflictScope(universe, solution.selected)

    def find(self, package: str, interval: Interval | None = None) -> Conflict | None:
        """Find the reasons why the package is not selected with a version of the interval.

        By default the interval is that of all versions that satisfy the request if the package is asked for and not satisfied,
        and else that of all versions greater than the selected one. None if no conflict is found within the budget, or if there
        is none.
        """
        low, high = interval or self._versions_in_question(package)
        if low > high and package in self._solution.selected and package not in self._solution.refused:
            return None
        wanted = AskedClause(package, (low, max(low, high)))
        question = _Question(self._universe, self._scope, self._budget.at_most(self._left))
        known = (self._present, partial(self._decided, package))
        core = question.conflict(wanted, known, may_be_absent=self._is_decided_last(package))
        self._left = self._left.less(question.close())
        if core is None:
            return None
        return Conflict(order_clauses(wanted, core, self._universe, self._goal), question.is_minimal)

    def _versions_in_question(self, package: str) -> Interval:
        first = self._asked_from.get(package, 0)
        if package in self._solution.selected:
            selected = self._solution.selected[package]
            first = selected + 1 if selected >= first else first
        return first, self._universe.size(package) - 1

    # --- what holds beside the wanted versions

    def _present(self, package: str) -> list[Clause]:
        """The clauses about a package that hold in any case."""
        return [PresentClause(package)] if package in self._goal_present else []

    def _decided(self, wanted: str, package: str) -> list[Clause]:
        """The clauses about a package that are more important than the version of `wanted`."""
        selected, found = self._solution.selected, self._present(package)
        if package == wanted or package not in selected:
            return found
        is_refused = wanted in self._solution.refused
        if package in self._satisfied and not (is_refused and self._asked_places[wanted] < self._asked_places[package]):
            first = self._asked_from[package]
            found.append(AskedClause(package, (first, max(first, self._universe.size(package) - 1))))
        if is_refused:
            return found
        if package in self._goal.kept and not self._is_kept_before(wanted, package):
            found.append(KeptClause(package))
        if not self._is_to_be_kept(wanted) and self._places[package] < self._places.get(wanted, len(self._places)):
            found.append(SelectedClause(package, selected[package]))
        return found

    def _is_to_be_kept(self, package: str) -> bool:
        return package in self._goal.kept and package not in self._solution.selected

    def _is_kept_before(self, wanted: str, package: str) -> bool:
        """Report whether `wanted` is to be kept rather than the package."""
        kept = self._goal.kept
        return self._is_to_be_kept(wanted) and kept.index(wanted) < kept.index(package)

    def _is_decided_last(self, package: str) -> bool:
        """Report whether its version is decided after all else: then no package is selected that is not in the solution."""
        return package not in self._asked_from and not self._is_to_be_kept(package)

    @cached_property
    def _asked_places(self) -> dict[str, int]:
        return {asked.package: place for place, asked in enumerate(self._goal.asked)}

    @cached_property
    def _goal_present(self) -> frozenset[str]:
        return frozenset(self._goal.present)

    @cached_property
    def _satisfied(self) -> frozenset[str]:
        return frozenset(self._solution.satisfied)

    @cached_property
    def _places(self) -> dict[str, int]:
        """The order in which the versions of the selected packages are decided."""
        selected = self._solution.selected
        asked = [one.package for one in self._goal.asked if one.package in selected]
        others = sorted(selected.keys() - set(asked), key=lambda name: tuple(self._universe.preference(name)))
        return {package: place for place, package in enumerate([*asked, *others])}


Known = Callable[[str], Iterable[Clause]]
"""The clauses that hold about a package."""


class _Question:
    """One question, with a solver of its own, so that its answer depends on no other.

    Assumed is only what is about packages that the solver's selection is incompatible with: most conflicts are among few.
    """

    def __init__(self, universe: Universe, scope: ConflictScope, budget: Budget) -> None:
        self._encoding = LazyEncoding(universe, {}, with_selectors=True)
        self._encoding.allow(budget)
        self._scope = scope
        self._assumed: dict[Clause, int] = {}
        self.is_minimal = False
        """True if the conflict that was found can do without none of its clauses."""

    def close(self) -> Statistics:
        """Free the solver. What was used."""
        used = self._encoding.used
        self._encoding.solver.close()
        return used

    def conflict(self, wanted: AskedClause, known: Iterable[Known], *, may_be_absent: bool) -> list[Clause] | None:
        """Clauses that exclude each other, one of them `wanted`; None if there are none, or if the budget is used up.

        The others are from the first of `known` that has a conflict. `may_be_absent`: also that packages are not selected which
        are not in the solution, if nothing else conflicts.
        """
        try:
            named = self._conflicting(wanted, known, may_be_absent=may_be_absent)
        except BudgetExhausted:
            return None
        return self._shrink(wanted, named) if named is not None else None

    def _conflicting(
        self, wanted: AskedClause, known: Iterable[Known], *, may_be_absent: bool
    ) -> dict[int, Clause] | None:
        """Assumptions that cannot hold together, with what they mean; None if there are none."""
        encoding, following = self._encoding, iter(known)
        clauses_about = next(following)
        self._assume(wanted)
        while encoding.solve(list(self._assumed.values())):
            new = self._new(clauses_about)
            while not new and (other := next(following, None)):
                clauses_about = other
                new = self._new(clauses_about)
            if not new and may_be_absent:
                new = [AbsentClause(name) for name in self._scope.added(encoding.selection)]
            if not new:
                return None
            for clause in new:
                self._assume(clause)
        named = {literal: clause for clause, literal in reversed(self._assumed.items())}
        return {literal: named.get(literal) or encoding.selectors[literal] for literal in encoding.solver.core}

    def _new(self, clauses_about: Known) -> list[Clause]:
        """The clauses that are not assumed yet, about packages that the selection is incompatible with."""
        selection, found = self._encoding.selection, dict[Clause, None]()
        for package, index in sorted(selection.items()):
            found |= dict.fromkeys(each for each in clauses_about(package) if not _is_true(each, index))
        pending = self._scope.incompatible(selection)
        known = set(pending)
        for package in pending:  # the loop body appends to the list
            clauses = clauses_about(package)
            found |= dict.fromkeys(clauses)
            if not clauses:
                new = [each for each in self._scope.requiring(package) if each not in known and each not in selection]
                known.update(new)
                pending += new
        return [each for each in found if each not in self._assumed]

    def _assume(self, clause: Clause) -> None:
        """Assume a literal that makes the clause hold."""
        encoding = self._encoding
        if isinstance(clause, AbsentClause):
            self._assumed[clause] = -encoding.literal(clause.package, 0)
        elif isinstance(clause, AskedClause | SelectedClause):
            low, high = clause.interval if isinstance(clause, AskedClause) else (clause.index, clause.index)
            selector = self._assumed[clause] = encoding.solver.new_variable()
            encoding.solver.add_clause([-selector, encoding.literal(clause.package, low)])
            encoding.solver.add_clause([-selector, -encoding.literal(clause.package, high + 1)])
        else:
            assert isinstance(clause, PresentClause | KeptClause)
            self._assumed[clause] = encoding.literal(clause.package, 0)

    def _shrink(self, wanted: AskedClause, named: dict[int, Clause]) -> list[Clause]:
        """Leave out one clause after the other without which the others still conflict."""
        core = sorted(named, key=lambda literal: (REMOVAL_ORDER.index(type(named[literal])), -abs(literal)))
        try:
            for literal in tuple(core):
                if literal in core and named[literal] != wanted:
                    rest = [each for each in core if each != literal]
                    if not self._encoding.call(rest):
                        smaller = set(self._encoding.solver.core)
                        core = [each for each in rest if each in smaller]
            self.is_minimal = True
        except BudgetExhausted:
            pass
        return [named[literal] for literal in core]


def _is_true(clause: Clause, index: int) -> bool:
    """Report whether the clause about a package is true if this version of it is selected."""
    match clause:
        case AskedClause(interval=(low, high)):
            return low <= index <= high
        case SelectedClause(index=selected):
            return selected == index
    return True
