"""Finds the Operators that may affect each other: the components that are solved apart.

The index of each package (package_index.py) says what its bundles require and own. From the package of an Operator, requirements
lead to all packages that may become its dependencies, whatever the versions. Two Operators are in one component if these packages
meet, or if two of them may own the same kind. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cache

from operator_controller.resolve.documents.package_index import PackageIndex
from operator_controller.resolve.package.package_content import GroupKind

MAX_REACHED_PACKAGES = 20_000
"""Packages that one Operator leads to, whether catalogs have them or not. The largest real catalogs have some hundreds."""


@dataclass(frozen=True)
class Component:
    """Packages that have to be resolved together. `packages` are those with an Operator and all possible dependencies."""

    requested: frozenset[str]
    packages: frozenset[str]
    is_too_large: bool = False
    """One of the requests leads to more than MAX_REACHED_PACKAGES: there may be others."""


def find_components(
    requested: Collection[str],
    index: Callable[[str], PackageIndex],
    providers: Mapping[GroupKind, Collection[str]],
    all_packages: Callable[[], Collection[str]],
) -> list[Component]:
    """The components of the packages with an Operator, sorted by the first name of each.

    `index` is that of a package in all catalogs, and of what runs of it; `providers` are the packages that may own a kind.
    """
    wanted = frozenset(requested)
    exist = cache(lambda: wanted.union(all_packages()))
    reached = [_Reached(root, exist) for root in sorted(wanted)]
    places: dict[str, int] = {}  # of each package, the first request that reached it
    owners: dict[GroupKind, str] = {}
    groups = _DisjointSets()
    for place, here in enumerate(reached):
        for package in here.pending:  # the loop body appends to the list
            first = places.setdefault(package, place)
            if first != place:
                groups.join(first, place)
                continue
            own = index(package)
            here.add(own.packages)
            for kind in own.kinds:
                here.add(frozenset(providers.get(kind, ())))
            if own.requires_any:
                here.add(frozenset(all_packages()))
            for kind in own.owned:
                groups.join(places[owners.setdefault(kind, package)], place)
    by_group: dict[int, set[str]] = {}
    for place, here in enumerate(reached):
        by_group.setdefault(groups.find(place), set()).update(here.packages)
    too_large = {groups.find(place) for place, here in enumerate(reached) if here.is_too_large}
    found = [
        Component(wanted & packages, frozenset(packages), group in too_large) for group, packages in by_group.items()
    ]
    return sorted(found, key=lambda each: min(each.requested))


class _Reached:
    """The packages that one request leads to, as far as no request before it does."""

    def __init__(self, root: str, exist: Callable[[], frozenset[str]]) -> None:
        self._exist = exist
        self.packages = {root}
        self.pending = [root]
        self.is_too_large = False

    def add(self, packages: frozenset[str]) -> None:
        """Add those that are new; beyond the limit only those that exist, because other requests may lead to them too."""
        new = packages - self.packages
        if len(self.packages) + len(new) > MAX_REACHED_PACKAGES:
            self.is_too_large = True
            new &= self._exist()
        self.packages |= new
        self.pending.extend(new)


class _DisjointSets:
    """Sets of numbers that were joined."""

    def __init__(self) -> None:
        self._parent: dict[int, int] = {}

    def find(self, value: int) -> int:
        """The representative of the set."""
        parent = self._parent
        parent.setdefault(value, value)
        while parent[value] != value:
            parent[value] = parent[parent[value]]
            value = parent[value]
        return value

    def join(self, one: int, other: int) -> None:
        """Make one set of both."""
        self._parent[self.find(one)] = self.find(other)
