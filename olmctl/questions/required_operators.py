"""Finds which Operators require which, and which dependencies are deleted with the last Operator that requires them. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from olmctl.questions.operator_state import dependencies, is_terminating, part, text_at
from olmkit.api.meta import Object
from olmkit.api.ownership import is_dependency
from operator_controller.resolve.selection.package_graph import reachable


@dataclass(frozen=True)
class Requiring:
    """The names of the Operators that require another one, sorted, by what that means for its deletion."""

    holding: tuple[str, ...]
    """Installed: it stays until these are deleted."""
    deleting: tuple[str, ...]
    """Installed and being deleted: it is deleted after these."""
    waiting: tuple[str, ...]
    """Not installed: it is deleted all the same, and created again for these."""


class RequiredOperators:
    """The Operators of a cluster, and which of them require which others, by status.dependencies."""

    def __init__(self, operators: Iterable[Object], deployments: Iterable[Object] = ()) -> None:
        """`operators` are all of the cluster, and `deployments` all its BundleDeployments."""
        owners = (part(each, "metadata", "ownerReferences") or () for each in deployments)
        self._installed = {text_at(owner, "uid") for references in owners for owner in references}
        self.operators: Mapping[str, Object] = {text_at(each, "metadata", "name"): each for each in operators}
        self._requires = {
            name: [each.operator for each in dependencies(found) if each.operator in self.operators]
            for name, found in self.operators.items()
        }

    def requiring(self, name: str) -> list[str]:
        """The names of the Operators that require this one, sorted."""
        return sorted(each for each, required in self._requires.items() if name in required and each != name)

    def requiring_without(self, name: str, going: Collection[str]) -> Requiring:
        """The Operators that require this one, apart from those in `going`, which are deleted with it. An Operator with a
        BundleDeployment counts as installed."""
        found = [each for each in self.requiring(name) if each not in going]
        installed = [each for each in found if text_at(self.operators[each], "metadata", "uid") in self._installed]
        deleting = [each for each in installed if self.is_deleting(each)]
        return Requiring(
            tuple(each for each in installed if each not in deleting),
            tuple(deleting),
            tuple(each for each in found if each not in installed and not self.is_deleting(each)),
        )

    def is_deleting(self, name: str) -> bool:
        """Report whether the Operator is being deleted."""
        return is_terminating(self.operators[name])

    def required_by(self, names: Iterable[str]) -> list[str]:
        """The names of the Operators that these require, also indirectly, without these, in the order in which they are found."""
        return reachable(self._requires, names)

    def deleted_with(self, name: str, in_use: Collection[str] = ()) -> list[str]:
        """The names of the Operators below this one that go once it is gone: dependencies that nothing requires, except those in
        use and what these require; and what is being deleted already, in use or not, unless what is installed requires it. A
        cycle of dependencies is deleted as a whole."""
        below = self.required_by([name])
        deleting = {each for each in below if self.is_deleting(each)}
        unused = {each for each in below if is_dependency(self.operators[each]) and each not in in_use}
        deletable = (deleting | unused) - {name}
        staying = [each for each in self.operators if each not in {name, *deletable} and not self.is_deleting(each)]
        kept = {*staying, *self.required_by(staying)}
        going = [each for each in below if each in deletable and (each not in kept or each in deleting)]
        held = [each for each in going if each in deleting and self._is_held(each, {name, *going})]
        kept = {*held, *self.required_by(held)}
        return [each for each in going if each not in kept]

    def _is_held(self, name: str, going: Collection[str]) -> bool:
        return bool(self.requiring_without(name, going).holding)
