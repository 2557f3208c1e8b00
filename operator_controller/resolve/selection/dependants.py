"""Finds the packages that require what runs of another one and are deleted before it, and those that are deleted together.

What runs requires what it recorded; what is selected requires it from now on. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cached_property

from operator_controller.resolve.requirements.rule_evaluations import RulesTooCostly
from operator_controller.resolve.selection.package_graph import reachable, reversed_graph, strongly_connected
from operator_controller.resolve.selection.universe import ComponentUniverse


class Dependants:
    """The dependants of the packages of one component.

    `selected`: the index of each selected package; empty if the solution is not proved. `satisfied_by`: by selected package, the
    packages that were selected to satisfy its requirements.
    """

    def __init__(
        self, universe: ComponentUniverse, selected: Mapping[str, int], satisfied_by: Mapping[str, Iterable[str]]
    ) -> None:
        self._universe, self._selected, self._satisfied_by = universe, selected, satisfied_by

    def needed_by(self, package: str) -> tuple[str, ...]:
        """The packages that run and require something of what runs of this one alone, and those selected that require it.

        If this one is being deleted: the packages that require something that nothing else that stays satisfies, whatever was
        selected to satisfy it. What is being deleted needs nothing: packages that need each other and are all deleted do not hold
        each other.
        """
        if self._universe.is_deleting(package):
            found = self._leaving_dependants.get(package, set())
        else:
            found = self._selected_dependants.get(package, set()) | self._running_dependants.get(package, set())
        return tuple(sorted(name for name in found if not self._universe.is_deleting(name)))

    def required_by_deleting(self, package: str) -> tuple[str, ...]:
        """The packages that are being deleted and require what nothing else satisfies; not those that it requires itself."""
        is_leaving = self._universe.is_deleting(package)
        dependants = (self._leaving_dependants if is_leaving else self._running_dependants).get(package, set())
        found = [each for each in dependants if self._universe.is_deleting(each)]
        own = set(reachable(self._requirements, [package]) if found else ())
        return tuple(sorted(each for each in found if each not in own))

    def removed_with(self, package: str) -> tuple[str, ...]:
        """The other packages of its cycle, if no person has requested one of them that stays and nothing else requires one."""
        cycle = self._cycles.get(package, frozenset())
        if len(cycle) < 2 or not all(self._universe.is_kept_only_by_dependants(each) for each in cycle):
            return ()
        is_required = any(other not in cycle for each in cycle for other in self.needed_by(each))
        return () if is_required else tuple(sorted(cycle - {package}))

    @cached_property
    def _cycles(self) -> dict[str, frozenset[str]]:
        """The packages of the cycle of each package; one that is in none is alone."""
        dependants = (self._selected_dependants, self._running_dependants)
        packages = {*self._selected, *self._universe.running}
        numbers = strongly_connected(
            {each: set[str]().union(*(one.get(each, ()) for one in dependants)) & packages for each in packages}
        )
        cycles: dict[int, set[str]] = {}
        for package, number in numbers.items():
            cycles.setdefault(number, set()).add(package)
        members = {number: frozenset(each) for number, each in cycles.items()}
        return {package: members[number] for package, number in numbers.items()}

    @cached_property
    def _sole_providers(self) -> dict[str, set[str]]:
        """By package that runs: the packages each of which alone satisfies a requirement of what runs of it."""
        return {
            package: {each[0] for each in required if len(each) == 1}
            for package, required in self._running_holders.items()
        }

    @cached_property
    def _running_holders(self) -> dict[str, list[list[str]]]:
        """By package that runs: the packages that run and satisfy each requirement of what runs of it, or is requested next."""
        universe = self._universe
        return {
            package: [
                *(universe.holders(package, each) for each in universe.required(package, 0)),
                *self._holders_for_request(package),
                *self._holders_of_unknown(package),
            ]
            for package in universe.running
        }

    def _holders_for_request(self, package: str) -> Iterable[list[str]]:
        """The same for each requirement of the bundle that its BundleDeployment requests; none for a rule that is too costly."""
        for each in self._universe.required_by_request(package):
            with suppress(RulesTooCostly):
                yield self._universe.holders(package, each)

    def _holders_of_unknown(self, package: str) -> list[list[str]]:
        """Every other package that runs, each alone, if what the recorded bundles require cannot be read."""
        if self._universe.domain(package).is_requiring_known:
            return []
        return [[each] for each in self._universe.running if each != package]

    @cached_property
    def _leaving_dependants(self) -> dict[str, set[str]]:
        """By package that is being deleted: those with a requirement that it satisfies and that nothing that stays does, of what
        runs among what runs, or of what is selected among that."""
        leaving = {package for package in self._universe.running if self._universe.is_deleting(package)}
        found: dict[str, set[str]] = {}
        for satisfied in (self._running_holders, self._selected_holders) if leaving else ():
            for package, required in satisfied.items():
                for holders in required:
                    if holders and leaving.issuperset(holders):
                        for each in holders:
                            found.setdefault(each, set()).add(package)
        return found

    @property
    def _selected_holders(self) -> dict[str, list[list[str]]]:
        """By selected package: the selected packages that satisfy each requirement of it."""
        return {
            package: [
                [
                    each.package
                    for each in requirement.alternatives
                    for selected in (self._selected.get(each.package, -1),)
                    if any(low <= selected <= high for low, high in each.intervals)
                ]
                for requirement in self._universe.requirements(package, index)
            ]
            for package, index in self._selected.items()
        }

    @cached_property
    def _requirements(self) -> dict[str, set[str]]:
        """By package that runs: the packages that it needs, of what stays and of what is being deleted."""
        leaving = reversed_graph(self._leaving_dependants)
        return {each: found | leaving.get(each, set()) for each, found in self._sole_providers.items()}

    @cached_property
    def _running_dependants(self) -> dict[str, set[str]]:
        """The reverse of _sole_providers."""
        return reversed_graph(self._sole_providers)

    @cached_property
    def _selected_dependants(self) -> dict[str, set[str]]:
        """By package: the selected packages whose requirements it satisfies."""
        return reversed_graph(self._satisfied_by)
