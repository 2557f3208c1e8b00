"""The best solution of a problem: `solve(universe, goal)`, or an Optimizer that is faster when little has changed.

The best solution is the first by these levels, each decided among the best of the levels before it, so it is unique:

1. which of `asked` are satisfied, by order;
2. which of `kept` are selected, by order;
3. of each satisfied package of `asked`, by order, the greatest index;
4. the fewest other packages;
5. of each other selected package, by Universe.preference, the greatest index; absent is less than any.

Packages of `present` are always selected. Their index belongs to level 3 if they are asked for, else to level 5. Pure: the same
problem has the same solution, in whatever order requirements and alternatives stand.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

from operator_controller.resolve.solver.budget import Budget, BudgetExhausted, Statistics
from operator_controller.resolve.solver.fewest_packages import FewestPackages
from operator_controller.resolve.solver.lazy_encoding import LazyEncoding, Selection
from operator_controller.resolve.solver.solver_problem import Asked, Goal, Universe

MAX_GROWTH = 2
"""An Optimizer starts anew when it has encoded this many times the versions of its last cold solve."""


class Level(IntEnum):
    """The levels of the optimum."""

    SATISFIED = 1
    KEPT = 2
    ASKED_VERSIONS = 3
    FEWEST = 4
    OTHER_VERSIONS = 5


class ContradictoryGoal(ValueError):
    """No selection has all packages of `present`: their versions of index 0 do not satisfy each other."""


@dataclass(frozen=True, slots=True)
class Solution:
    """The selection, and how far it is proved to be the best."""

    selected: Mapping[str, int]
    """The index of each selected package, by name. A solution of the problem, also if it is not proved to be the best."""
    satisfied: tuple[str, ...]
    """The packages of `asked` that are proved to be satisfied by the best solution, in their order."""
    refused: tuple[str, ...]
    """The packages of `asked` that are proved not to be, in their order. What is in neither is not decided."""
    exhausted: Level | None
    """The level whose budget was used up; the levels before it are proved. None if all are."""
    statistics: Statistics = field(compare=False)

    @property
    def is_proved(self) -> bool:
        """True if this is the best solution."""
        return self.exhausted is None


def solve(universe: Universe, goal: Goal, budget: Budget | None = None) -> Solution:
    """The best solution. `budget`: the limits of each level, by default those of budget.py. Raises ContradictoryGoal."""
    return Optimizer(budget).solve(universe, goal)


class Optimizer:
    """Solves problems that differ little from the one before: what that encoded is encoded at once, and its answer tried first.

    The solutions are those of solve(). Solves anew when in doubt: the first time, after and in place of a solution that is not
    proved, and when too much has been encoded that is not needed any more.
    """

    def __init__(self, budget: Budget | None = None) -> None:
        self.budget = budget or Budget()
        """The limits of each level of the next solve."""
        self._selected: Selection = {}
        self._activated: list[tuple[str, int]] = []
        self._thresholds: dict[str, list[int]] = {}
        self._cold_size = 0

    def solve(self, universe: Universe, goal: Goal) -> Solution:
        """The best solution of this problem, whatever was solved before. Raises ContradictoryGoal."""
        if self._activated and len(self._activated) <= MAX_GROWTH * self._cold_size:
            optimum = _Optimum(universe, goal, self.budget, self._selected, self._thresholds)
            solution = optimum.solve(self._activated)
            if solution.is_proved:
                self._remember(solution, optimum.encoding)
                return solution
        optimum = _Optimum(universe, goal, self.budget)
        solution = optimum.solve()
        self._remember(solution, optimum.encoding)
        self._cold_size = len(self._activated)
        return solution

    def _remember(self, solution: Solution, encoding: LazyEncoding) -> None:
        self._selected, self._thresholds = solution.selected, encoding.all_thresholds()
        self._activated = encoding.activated if solution.is_proved else []


class _Optimum:
    """One solve. `before` and `thresholds`: of a solve of nearly the same problem."""

    def __init__(
        self,
        universe: Universe,
        goal: Goal,
        budget: Budget,
        before: Selection | None = None,
        thresholds: Mapping[str, Sequence[int]] | None = None,
    ) -> None:
        self._universe, self._goal, self._budget = universe, goal, budget
        if before is None:
            packages = [*(asked.package for asked in goal.asked), *goal.present, *goal.kept]
            before = {package: universe.size(package) for package in packages}
        self.encoding = LazyEncoding(universe, before, thresholds)
        self._satisfied: list[Asked] = []
        self._refused: list[Asked] = []
        self._highest: dict[str, int] = {}  # upper bounds that the versions decided so far imply
        self._needed: set[str] = set()  # packages that those versions need
        self._decided: set[str] = set()

    def solve(self, activated: Iterable[tuple[str, int]] = ()) -> Solution:
        exhausted: Level | None = None
        level = Level.SATISFIED
        try:
            self._encode(activated)
            for level, decide in (  # noqa: B007 (the handler reads it)
                (Level.SATISFIED, self._satisfy),
                (Level.KEPT, self._keep),
                (Level.ASKED_VERSIONS, self._choose_asked_versions),
                (Level.FEWEST, self._minimise_others),
                (Level.OTHER_VERSIONS, self._choose_other_versions),
            ):
                self.encoding.allow(self._budget)
                decide()
        except BudgetExhausted:
            exhausted = level
        return self._solution(exhausted)

    def _solution(self, exhausted: Level | None) -> Solution:
        encoding = self.encoding
        statistics = encoding.used
        encoding.solver.close()
        return Solution(
            selected=dict(sorted(encoding.selection.items())),
            satisfied=tuple(asked.package for asked in self._satisfied),
            refused=tuple(asked.package for asked in self._refused),
            exhausted=exhausted,
            statistics=statistics,
        )

    def _encode(self, activated: Iterable[tuple[str, int]]) -> None:
        self.encoding.allow(self._budget)
        for package, index in activated:
            if index < self.encoding.size(package):
                self.encoding.activate(package, index)
        for package in self._goal.present:
            self._fix(self.encoding.literal(package, 0))

    def _fix(self, literal: int) -> None:
        self.encoding.solver.add_clause([literal])

    # --- levels 1 and 2

    def _satisfy(self) -> None:
        if not self.encoding.solve([]):
            raise ContradictoryGoal(f"no selection contains all of {', '.join(self._goal.present)}")
        for asked, is_taken in self._take(self._goal.asked):
            (self._satisfied if is_taken else self._refused).append(asked)

    def _keep(self) -> None:
        for _ in self._take([Asked(package) for package in self._goal.kept]):
            pass

    def _take(self, wanted: Sequence[Asked]) -> Iterator[tuple[Asked, bool]]:
        """Each of them by order, with whether it is satisfied; that is fixed."""
        encoding = self.encoding
        literals = [encoding.literal(asked.package, asked.first) for asked in wanted]
        encoding.solve(literals)
        for asked, literal in zip(wanted, literals, strict=True):
            is_taken = encoding.selection.get(asked.package, -1) >= asked.first or encoding.solve([literal])
            self._fix(literal if is_taken else -literal)
            yield asked, is_taken

    # --- levels 3 to 5

    def _choose_asked_versions(self) -> None:
        present = set(self._goal.present)
        satisfied = {asked.package for asked in self._satisfied}
        for asked in self._goal.asked:
            if asked.package in satisfied:
                self._choose_version(asked.package, self.encoding.size(asked.package) - 1)
            elif asked.package in present:
                self._choose_version(asked.package, min(asked.first, self.encoding.size(asked.package)) - 1)

    def _minimise_others(self) -> None:
        goal, selection = self._goal, self.encoding.selection
        kept = [package for package in goal.kept if package in selection]
        always = {*(asked.package for asked in self._satisfied), *goal.present, *kept, *self._needed}
        fewest = FewestPackages(self.encoding, always)
        fewest.minimise()
        self._open = (always | fewest.in_conflicts) - self._decided

    def _choose_other_versions(self) -> None:
        refused = {asked.package: asked.first for asked in self._refused}
        for package in sorted(self._open, key=lambda package: tuple(self._universe.preference(package))):
            size = self.encoding.size(package)
            self._choose_version(package, min(refused.get(package, size), size) - 1)

    def _choose_version(self, package: str, highest: int) -> None:
        """Fix the package to its greatest index that has a solution, or to absent."""
        encoding = self.encoding
        encoding.seek_greatest(package)
        low = encoding.selection.get(package, -1)
        high = min(highest, self._highest.get(package, highest))
        is_first = True
        while low < high:
            starts = encoding.thresholds(package, low + 1, high)
            start = 0 if low < 0 else starts[-1] if is_first else starts[len(starts) // 2]
            is_first = low < 0
            literal = encoding.literal(package, start)
            if encoding.solve([literal]):
                low = encoding.selection[package]
            else:
                self._fix(-literal)
                high = start - 1
        self._decide(package, low)

    def _decide(self, package: str, index: int) -> None:
        self._decided.add(package)
        self.encoding.settle(package, index)
        if index < 0:
            return
        for requirement in self.encoding.requirements(package, index):
            if len(requirement.alternatives) == 1:
                other, highest = requirement.alternatives[0].package, requirement.alternatives[0].intervals[-1][1]
                self._highest[other] = min(highest, self._highest.get(other, highest))
                self._needed.add(other)
