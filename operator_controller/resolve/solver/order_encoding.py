"""Variables for the versions of packages: x(p, i) means that package p is selected with index i or greater (order encoding).

The base of lazy_encoding.py. x(p, 0) means that p is selected. So at most one version of a package is selected, and an interval
of versions is two literals. Variables are made when a clause needs them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from operator import itemgetter

from operator_controller.resolve.solver.sat_solver import SatSolver
from operator_controller.resolve.solver.solver_problem import Interval, Universe, VersionSet


@dataclass(slots=True, eq=False)
class PackageVariables:
    """The variables of one package: thresholds ascending, of which the first is 0, and a literal of each."""

    name: str
    size: int
    thresholds: list[int] = field(default_factory=list)
    literals: list[int] = field(default_factory=list)
    literal_of: dict[int, int] = field(default_factory=dict)
    encoded: list[int] = field(default_factory=list)
    """Ascending: the versions of which everything is encoded that they require and exclude."""
    index: int = -1
    """The version that was last read from a model, which stands as long as the next literal is true and the one after it is not;
    -1 if it has to be found again."""
    lower: int = 0
    upper: int = 0


class OrderEncoding:
    """The variables of one universe in one solver.

    `phases`: the solver tries first that a package is selected with an index up to the one given here; other packages not at
    all. `thresholds`: the indices of variables that are probably needed, of each package ascending and from 0 on.
    """

    def __init__(
        self, universe: Universe, phases: Mapping[str, int], thresholds: Mapping[str, Sequence[int]] | None = None
    ) -> None:
        self._universe, self._phases, self._thresholds = universe, phases, thresholds or {}
        self.solver = SatSolver()
        self._packages: dict[str, PackageVariables] = {}
        self._selectable: list[PackageVariables] = []  # those with versions
        self._open: list[PackageVariables] = []  # of these, those that may still have several values
        self._settled: dict[str, int] = {}
        self._is_closed = False
        self._parts: dict[VersionSet, int] = {}
        self._selects: Callable[[Sequence[int]], tuple[int, ...]] | None = None
        self._false = self.solver.new_variable()
        self.solver.add_clause([-self._false])

    def literal(self, package: str, index: int) -> int:
        """x(package, index): true if the package is selected with this index or a greater one."""
        return self._literal(self._packages.get(package) or self._touch(package), index)

    def _literal(self, known: PackageVariables, index: int) -> int:
        found = known.literal_of.get(index)
        if found is not None:
            return found
        return self._false if index >= known.size else self._add_threshold(known, index)

    def variables_of(self, package: str) -> PackageVariables:
        """The variables of the package; the first call makes x(package, 0)."""
        return self._packages.get(package) or self._touch(package)

    def size(self, package: str) -> int:
        """The number of versions of the package."""
        return self.variables_of(package).size

    def packages(self, start: int = 0) -> Iterator[str]:
        """The packages with versions that have variables, in the order in which they got them, from that position on."""
        return (known.name for known in self._selectable[start:])

    def thresholds(self, package: str, low: int, high: int) -> list[int]:
        """Ascending: the first index of each interval that the clauses tell apart, cut to low..high."""
        known = self._packages[package]
        inner = known.thresholds[bisect_left(known.thresholds, low + 1) : bisect_left(known.thresholds, high + 1)]
        return [low, *inner]

    def all_thresholds(self) -> dict[str, list[int]]:
        """The indices of the variables of each package with versions."""
        return {known.name: known.thresholds for known in self._selectable}

    def settle(self, package: str, index: int) -> None:
        """From here on this version of the package is selected; with -1 none is."""
        self.solver.add_clause([self.literal(package, index) if index >= 0 else -self.literal(package, 0)])
        if index >= 0:
            self.solver.add_clause([-self.literal(package, index + 1)])
            self._settled[package] = index
        self._open.remove(self._packages[package])
        self._selects = None

    def close(self, packages: Collection[str]) -> None:
        """From here on no other packages than these are selected."""
        self._is_closed = True
        self._open = [known for known in self._open if known.name in packages]
        self._selects = None

    def _touch(self, package: str) -> PackageVariables:
        known = self._packages[package] = PackageVariables(package, self._universe.size(package))
        if known.size > 0:
            highest = self._phases.get(package, -1)
            known.thresholds = [index for index in self._thresholds.get(package, (0,)) if index < known.size]
            known.literals = [self.solver.new_variable(phase=index <= highest) for index in known.thresholds]
            known.literal_of = dict(zip(known.thresholds, known.literals, strict=True))
            for lower, upper in pairwise(known.literals):
                self.solver.add_clause([-upper, lower])
            self._selectable.append(known)
            if self._is_closed:
                self.solver.add_clause([-known.literals[0]])
            else:
                self._open.append(known)
                self._selects = None
        return known

    def _selected_packages(self, model: Sequence[int]) -> list[PackageVariables]:
        """Those that are not settled."""
        if self._selects is None:
            # The variable 1 is there twice, so that the result is a tuple also if there are no packages.
            self._selects = itemgetter(0, 0, *(known.literals[0] - 1 for known in self._open))
        values = self._selects(model)[2:]
        return [known for known, value in zip(self._open, values, strict=True) if value > 0]

    def _selected_interval(self, known: PackageVariables, model: Sequence[int]) -> Interval:
        """The versions that the clauses do not tell apart, one of which the model selects."""
        position = len(known.literals) - 1
        while model[known.literals[position] - 1] < 0:
            position -= 1
        is_last = position + 1 == len(known.literals)
        known.lower = known.literals[position]
        known.upper = self._false if is_last else known.literals[position + 1]
        return known.thresholds[position], (known.size if is_last else known.thresholds[position + 1]) - 1

    def _add_threshold(self, known: PackageVariables, index: int) -> int:
        position = bisect_left(known.thresholds, index)
        variable = self.solver.new_variable(phase=index <= self._phases.get(known.name, -1))
        self.solver.add_clause([-variable, known.literals[position - 1]])
        if position < len(known.literals):
            self.solver.add_clause([-known.literals[position], variable])
        known.thresholds.insert(position, index)
        known.literals.insert(position, variable)
        known.literal_of[index] = variable
        known.index = -1
        return variable

    def outside(self, package: str, run: Interval) -> list[int]:
        """Literals of which one is true if no version of the run is selected."""
        known = self.variables_of(package)
        below = -self._literal(known, run[0])
        return [below] if run[1] + 1 >= known.size else [below, self._literal(known, run[1] + 1)]

    def inside(self, versions: VersionSet) -> list[list[int]]:
        """Clauses that together say: one of these versions is selected."""
        known, intervals = self.variables_of(versions.package), versions.intervals
        clauses = [[self._literal(known, intervals[0][0])]]
        for (_, high), (low, _) in pairwise(intervals):
            if high + 1 < known.size:
                clauses.append([-self._literal(known, high + 1), self._literal(known, low)])
        if intervals[-1][1] + 1 < known.size:
            clauses.append([-self._literal(known, intervals[-1][1] + 1)])
        return clauses

    def part(self, versions: VersionSet) -> int:
        """A literal that implies: one of these versions is selected."""
        found = self._parts.get(versions)
        if found is None:
            clauses = self.inside(versions)
            if len(clauses) == 1 and len(clauses[0]) == 1:
                found = clauses[0][0]
            else:
                found = self.solver.new_variable()
                for clause in clauses:
                    self.solver.add_clause([-found, *clause])
            self._parts[versions] = found
        return found
