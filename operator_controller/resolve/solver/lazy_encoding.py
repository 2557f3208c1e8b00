"""Clauses for the versions of packages, made only for what a model of the solver touches (lazy order encoding).

What a version requires, excludes and owns is encoded when a model selects that version. Until then the clauses are a relaxation:
if it has no solution, there is none; if all clauses of a model's versions are encoded, the model is a solution. Never decides
what is best.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from operator_controller.resolve.solver.budget import Budget, BudgetExhausted, Statistics
from operator_controller.resolve.solver.clauses import ExclusionClause, OwnershipClause, RequirementClause
from operator_controller.resolve.solver.order_encoding import OrderEncoding, PackageVariables
from operator_controller.resolve.solver.sat_solver import Outcome
from operator_controller.resolve.solver.solver_problem import Exclusion, Interval, Requirement, Universe, VersionSet

MAX_VERSIONS_TRIED = 8
"""Of versions that the clauses do not tell apart, the number that is compared with the rest of a model."""
MAX_OWNERSHIP_RUN = 64
"""The number of neighbouring versions that one clause about ownership covers at most, on each side of the selected one."""

MAX_COMPARED_RULES = 16
"""Requirements of one version that are searched one by one."""

Rule = TypeVar("Rule", Requirement, Exclusion)
Selection = Mapping[str, int]
"""The index of each selected package."""
Group = RequirementClause | ExclusionClause | OwnershipClause
"""The clause for which a group of clauses of the solver stands."""


class LazyEncoding(OrderEncoding):
    """The clauses of one universe in one solver.

    `phases`, `thresholds`: as in OrderEncoding. `with_selectors`: each group of clauses holds only as long as its selector, a
    literal, is assumed.
    """

    def __init__(
        self,
        universe: Universe,
        phases: Mapping[str, int],
        thresholds: Mapping[str, Sequence[int]] | None = None,
        with_selectors: bool = False,
    ) -> None:
        super().__init__(universe, phases, thresholds)
        self._with_selectors = with_selectors
        self.statistics = Statistics()
        self._greatest: Collection[str] = phases
        self.selection: Selection = {}
        """The last solution."""
        self.selectors: dict[int, Group] = {}
        self.activated: list[tuple[str, int]] = []
        """The versions whose clauses are encoded, in that order."""
        self._requirements: dict[tuple[str, int], Sequence[Requirement]] = {}
        self._exclusions: dict[tuple[str, int], Sequence[Exclusion]] = {}
        self._owned: dict[tuple[str, int], frozenset[Hashable]] = {}
        self._runs: dict[tuple[str, Requirement | Exclusion], list[Interval]] = {}
        self._checked: dict[str, int] = {}  # the selection that _owners describes
        self._owners: dict[Hashable, dict[str, int]] = {}
        self.allow(Budget())

    # --- limits

    def allow(self, budget: Budget) -> None:
        """Begin to count against this budget; what was used before does not count."""
        used, solver = self.statistics, self.solver
        self._end = Budget(
            conflicts=solver.conflicts + budget.conflicts,
            propagations=solver.propagations + budget.propagations,
            calls=used.calls + budget.calls,
            rounds=used.rounds + budget.rounds,
            clauses=solver.clauses + budget.clauses,
        )

    @property
    def used(self) -> Statistics:
        """The amounts that were used from the beginning."""
        solver = self.solver
        return replace(
            self.statistics,
            conflicts=solver.conflicts,
            propagations=solver.propagations,
            clauses=solver.clauses,
            variables=solver.variables,
        )

    def _check_clauses(self) -> None:
        if self.solver.clauses > self._end.clauses:
            raise BudgetExhausted

    # --- solving

    def seek_greatest(self, package: str) -> None:
        """Of versions of this package that the clauses do not tell apart, models select the greatest from here on.

        At first this applies to the packages with phases. Of other packages they select one whose clauses are encoded.
        """
        self._greatest = (package,)
        self.variables_of(package).index = -1

    def solve(self, assumptions: Sequence[int]) -> bool:
        """Solve the problem with these literals, and report whether it has a solution. The solution is in `selection`; without
        one, `solver.core` says why not.

        Raises BudgetExhausted.
        """
        while self.call([*assumptions, *self.selectors]):
            selection, may_be_solution = self._read_model()
            if self._encode_selected(selection) and may_be_solution:
                self.selection = selection
                return True
            self.statistics.rounds += 1
            if self.statistics.rounds >= self._end.rounds:
                raise BudgetExhausted
        return False

    def call(self, assumptions: Iterable[int]) -> bool:
        """Report whether the clauses that are there have a model with these assumptions. Raises BudgetExhausted."""
        solver, end = self.solver, self._end
        self._check_clauses()
        if self.statistics.calls >= end.calls:
            raise BudgetExhausted
        outcome = solver.solve(assumptions, end.conflicts - solver.conflicts, end.propagations - solver.propagations)
        self.statistics.calls += 1
        if outcome is Outcome.EXHAUSTED:
            raise BudgetExhausted
        return outcome is Outcome.SATISFIABLE

    def _read_model(self) -> tuple[dict[str, int], bool]:
        """A version of each package that the model selects, of those that the clauses do not tell apart.

        And whether each may satisfy the others.
        """
        model, selection = self.solver.model, dict(self._settled)
        undecided: list[tuple[PackageVariables, int, int]] = []
        for known in self._selected_packages(model):
            if known.index < 0 or model[known.lower - 1] < 0 or model[known.upper - 1] > 0:
                low, high = self._selected_interval(known, model)
                place = bisect_right(known.encoded, high)
                known.index = known.encoded[place - 1] if place else -1
                if known.index < low or (known.index < high and known.name in self._greatest):
                    undecided.append((known, low, high))
                    known.index = -1
                    selection[known.name] = high
                    continue
            selection[known.name] = known.index
        may_be_solution = True
        for known, low, high in undecided:
            index_or_none = self._satisfied_version(known, low, high, selection)
            selection[known.name] = high if index_or_none is None else index_or_none
            may_be_solution &= index_or_none is not None
        return selection, may_be_solution

    def _satisfied_version(self, known: PackageVariables, low: int, high: int, selection: Selection) -> int | None:
        """The greatest version that the selection satisfies, of the first few.

        If the greatest version is sought, the others are encoded, so that the next model does not select them.
        """
        for index in range(high, max(low - 1, high - MAX_VERSIONS_TRIED), -1):
            if self._is_satisfied(known.name, index, selection):
                return index
            if known.name in self._greatest and not _contains(known.encoded, index):
                self.activate(known.name, index)
        return None

    def _encode_selected(self, selection: dict[str, int]) -> bool:
        """Encode what is not yet. Whether the selection is a solution."""
        before, is_solution = self._checked, True
        changed = [(package, index) for package, index in selection.items() if before.get(package) != index]
        for package, index in changed:
            if not _contains(self._packages[package].encoded, index):
                self.activate(package, index)
                is_solution = is_solution and self._is_satisfied(package, index, selection)
        return self._separate_owners(selection, changed) and is_solution

    # --- what versions require and exclude

    def activate(self, package: str, index: int) -> None:
        """Encode what this version requires and excludes."""
        insort(self.variables_of(package).encoded, index)
        self.activated.append((package, index))
        for requirement in self.requirements(package, index):
            if run := self._new_run(package, index, requirement, self.requirements):
                self._encode_requirement(package, run, requirement)
        for exclusion in self.exclusions(package, index):
            if run := self._new_run(package, index, exclusion, self.exclusions):
                self._encode_exclusion(package, run, exclusion)

    def _is_satisfied(self, package: str, index: int, selection: Selection) -> bool:
        """Report whether the selection satisfies what this version requires and excludes."""
        return all(
            any(is_in(selection, each) for each in requirement.alternatives)
            for requirement in self.requirements(package, index)
        ) and not any(
            is_in(selection, each)
            for exclusion in self.exclusions(package, index)
            for each in exclusion.excluded
            if each.package != package
        )

    def requirements(self, package: str, index: int) -> Sequence[Requirement]:
        """The requirements of this version, read once."""
        found = self._requirements.get((package, index))
        if found is None:
            found = self._requirements[package, index] = _searchable(self._universe.requirements(package, index))
        return found

    def exclusions(self, package: str, index: int) -> Sequence[Exclusion]:
        """The exclusions of this version, read once."""
        found = self._exclusions.get((package, index))
        if found is None:
            found = self._exclusions[package, index] = _searchable(self._universe.exclusions(package, index))
        return found

    def _new_run(
        self, package: str, index: int, rule: Rule, rules: Callable[[str, int], Sequence[Rule]]
    ) -> Interval | None:
        """The neighbouring versions that have an equal rule; None if it is encoded for them."""
        runs = self._runs.setdefault((package, rule), [])
        if any(low <= index <= high for low, high in runs):
            return None
        self._check_clauses()
        low = high = index
        while low > 0 and rule in rules(package, low - 1):
            low -= 1
        while high + 1 < self.size(package) and rule in rules(package, high + 1):
            high += 1
        runs.append((low, high))
        return low, high

    def _new_selector(self, group: Group) -> list[int]:
        """Make the selector of the group. The literals that each of its clauses contains."""
        selector = self.solver.new_variable()
        self.selectors[selector] = group
        return [-selector]

    def _encode_requirement(self, package: str, run: Interval, requirement: Requirement) -> None:
        prefix = self.outside(package, run)
        if self._with_selectors:
            prefix += self._new_selector(RequirementClause(package, run, requirement))
        alternatives = [each for each in requirement.alternatives if each.intervals[0][0] < self.size(each.package)]
        if len(alternatives) == 1:
            for clause in self.inside(alternatives[0]):
                self.solver.add_clause([*prefix, *clause])
        else:
            self.solver.add_clause([*prefix, *(self.part(each) for each in alternatives)])

    def _encode_exclusion(self, package: str, run: Interval, exclusion: Exclusion) -> None:
        prefix = self.outside(package, run)
        if self._with_selectors:
            prefix += self._new_selector(ExclusionClause(package, run, exclusion))
        for versions in exclusion.excluded:
            if versions.package != package:
                for interval in versions.intervals:
                    self.solver.add_clause([*prefix, *self.outside(versions.package, interval)])

    # --- what versions own

    def _keys(self, package: str, index: int) -> frozenset[Hashable]:
        found = self._owned.get((package, index))
        if found is None:
            found = self._owned[package, index] = frozenset(self._universe.owned(package, index))
        return found

    def _separate_owners(self, selection: dict[str, int], changed: Iterable[tuple[str, int]]) -> bool:
        """Encode that two selected versions do not own the same. Whether none do."""
        owners, before = self._owners, self._checked
        for package in [name for name, index in before.items() if selection.get(name) != index]:
            for key in self._keys(package, before[package]):
                owners[key].pop(package, None)
        for package, index in changed:
            for key in self._keys(package, index):
                owners.setdefault(key, {})[package] = index
        self._checked = selection
        found: dict[tuple[str, str], tuple[str, Hashable]] = {}
        for package, index in changed:
            for key in self._keys(package, index):
                if len(owners[key]) > 1:
                    self._note_owners(found, package, key)
        for (first, second), (_, key) in sorted(found.items(), key=lambda item: item[0]):
            self._encode_ownership(key, (first, selection[first]), (second, selection[second]))
        return not found

    def _note_owners(self, found: dict[tuple[str, str], tuple[str, Hashable]], package: str, key: Hashable) -> None:
        """Of several keys that two versions both own, the clause names one that does not depend on the order of sets."""
        owners = self._owners[key]
        for other, index in owners.items():
            if other == package or self._universe.shares(package, owners[package], other, index):
                continue
            pair = (package, other) if package < other else (other, package)
            if pair not in found or repr(key) < found[pair][0]:
                found[pair] = (repr(key), key)

    def _encode_ownership(self, key: Hashable, first: tuple[str, int], second: tuple[str, int]) -> None:
        package, other = first[0], second[0]
        shares = self._universe.shares
        run = self._owning_run(key, first, lambda index: not shares(package, index, *second))
        low, high = run
        other_run = self._owning_run(
            key, second, lambda index: not any(shares(package, one, other, index) for one in range(low, high + 1))
        )
        clause = [*self.outside(package, run), *self.outside(other, other_run)]
        if self._with_selectors:
            clause += self._new_selector(
                OwnershipClause(key, VersionSet(package, (run,)), VersionSet(other, (other_run,)))
            )
        self.solver.add_clause(clause)
        self._check_clauses()

    def _owning_run(self, key: Hashable, version: tuple[str, int], extends: Callable[[int], bool]) -> Interval:
        """The neighbouring versions that own the same key and for which `extends` is true."""
        package, index = version
        low = high = index
        lowest = max(0, index - MAX_OWNERSHIP_RUN)
        highest = min(self.size(package) - 1, index + MAX_OWNERSHIP_RUN)
        while low > lowest and key in self._keys(package, low - 1) and extends(low - 1):
            low -= 1
        while high < highest and key in self._keys(package, high + 1) and extends(high + 1):
            high += 1
        return low, high


class _ManyRules(list[Any]):
    """Rules that are found by their hash."""

    def __init__(self, rules: Iterable[Requirement | Exclusion]) -> None:
        super().__init__(rules)
        self._set = frozenset[Any](self)

    def __contains__(self, rule: object) -> bool:
        return rule in self._set


def _searchable(rules: Sequence[Rule]) -> Sequence[Rule]:
    """The rules; of many, each is found without a comparison with all others."""
    return rules if len(rules) <= MAX_COMPARED_RULES else _ManyRules(rules)


def is_in(selection: Selection, versions: VersionSet) -> bool:
    """Report whether one of the versions is selected."""
    index = selection.get(versions.package)
    return index is not None and any(low <= index <= high for low, high in versions.intervals)


def _contains(ascending: Sequence[int], index: int) -> bool:
    place = bisect_left(ascending, index)
    return place < len(ascending) and ascending[place] == index
