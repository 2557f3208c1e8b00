"""Which Operators require which, and which dependencies are deleted with the last Operator that requires them. Pure.

Called by install.py, uninstall.py, upgrade.py and why.py. operator-controller decides again when the Operator is gone, from
what the cluster has then.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from olmctl.cluster.operator_state import dependencies, part, text_at
from olmkit.api.meta import Object
from olmkit.api.operators import INSTALLED_FOR_LABEL
from operator_controller.resolve.package_graph import reachable


class RequiredOperators:
    """The Operators of a cluster, and which of them require which others, by status.dependencies."""

    def __init__(self, operators: Iterable[Object]) -> None:
        """`operators` are all of the cluster."""
        self.operators: Mapping[str, Object] = {text_at(each, "metadata", "name"): each for each in operators}
        self._requires = {
            name: [each.operator for each in dependencies(found) if each.operator in self.operators]
            for name, found in self.operators.items()
        }

    def requiring(self, name: str) -> list[str]:
        """The names of the Operators that require this one, sorted."""
        return sorted(each for each, required in self._requires.items() if name in required and each != name)

    def required_by(self, names: Iterable[str]) -> list[str]:
        """The names of the Operators that these require, also indirectly, without these, in the order in which they are found."""
        return reachable(self._requires, names)

    def deleted_with(self, name: str, in_use: Collection[str] = ()) -> list[str]:
        """The names of the dependencies that nothing requires once this Operator is gone, except those in use and what these
        require. A cycle of dependencies is deleted as a whole."""
        below = self.required_by([name])
        deletable = {each for each in below if is_dependency(self.operators[each]) and each not in in_use} - {name}
        staying = [
            each
            for each, found in self.operators.items()
            if each != name and each not in deletable and not part(found, "metadata", "deletionTimestamp")
        ]
        kept = {*staying, *self.required_by(staying)}
        return [each for each in below if each in deletable and each not in kept]


def is_dependency(operator: Object) -> bool:
    """Whether the Operator was created because another one requires its package."""
    return INSTALLED_FOR_LABEL in (part(operator, "metadata", "labels") or {})
