"""Finds the packages of a solution that another selection is incompatible with: a conflict may be about these.

With it, a conflict among few packages is found without the rest of the component. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator
from functools import cached_property

from operator_controller.resolve.solver.lazy_encoding import Selection, is_in
from operator_controller.resolve.solver.solver_problem import Universe


class ConflictScope:
    """Compares selections of some packages with a solution, in which all packages are compatible."""

    def __init__(self, universe: Universe, solution: Selection) -> None:
        self._universe, self._solution = universe, solution

    def incompatible(self, selection: Selection) -> list[str]:
        """The packages of the solution that are not in the selection and cannot be added to it as they are, by name."""
        found: set[str] = set()
        for package, index in selection.items():
            if self._solution.get(package) != index:
                found.update(self._requiring_another(package, selection))
                found.update(self._owning_the_same(package, index))
                found.update(self._excluded(package, index))
        found.update(name for name in self._excluding if self._is_excluding(name, selection))
        return sorted(found - selection.keys())

    def added(self, selection: Selection) -> list[str]:
        """The packages of the selection that are not in the solution, by name."""
        return sorted(selection.keys() - self._solution.keys())

    def requiring(self, package: str) -> Collection[str]:
        """The packages of the solution with a requirement that the package may satisfy, by name."""
        return self._requiring.get(package, ())

    @cached_property
    def _requiring(self) -> dict[str, list[str]]:
        found: dict[str, dict[str, None]] = {}
        for package, index in sorted(self._solution.items()):
            for requirement in self._universe.requirements(package, index):
                for each in requirement.alternatives:
                    found.setdefault(each.package, {})[package] = None
        return {package: list(names) for package, names in found.items()}

    @cached_property
    def _owners(self) -> dict[Hashable, list[str]]:
        """The packages of the solution that own a key."""
        found: dict[Hashable, list[str]] = {}
        for package, index in self._solution.items():
            for key in self._universe.owned(package, index):
                found.setdefault(key, []).append(package)
        return found

    @cached_property
    def _excluding(self) -> list[str]:
        """The packages of the solution that exclude something."""
        return [package for package, index in self._solution.items() if self._universe.exclusions(package, index)]

    def _requiring_another(self, package: str, selection: Selection) -> Iterator[str]:
        """Those with a requirement that is not satisfied any more with this selection of the package."""
        for name in self.requiring(package):
            for requirement in self._universe.requirements(name, self._solution[name]):
                sets = requirement.alternatives
                if not any(is_in(selection if each.package in selection else self._solution, each) for each in sets):
                    yield name

    def _owning_the_same(self, package: str, index: int) -> Iterator[str]:
        for key in self._universe.owned(package, index):
            for name in self._owners.get(key, ()):
                if name != package and not self._universe.shares(package, index, name, self._solution[name]):
                    yield name

    def _excluded(self, package: str, index: int) -> Iterator[str]:
        for exclusion in self._universe.exclusions(package, index):
            for each in exclusion.excluded:
                if each.package != package and is_in(self._solution, each):
                    yield each.package

    def _is_excluding(self, package: str, selection: Selection) -> bool:
        return any(
            each.package != package and is_in(selection, each)
            for exclusion in self._universe.exclusions(package, self._solution[package])
            for each in exclusion.excluded
        )
