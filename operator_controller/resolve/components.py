"""Which Operators may affect each other: the components that are solved apart.

Called by component_solver.py. An index of each package's document says which packages and kinds its bundles require, and which
kinds they own; it is made from the JSON without parsing the bundles. From the package of an Operator, requirements lead to all
packages that may become its dependencies, whatever the versions. Two Operators are in one component if these packages meet, or
if two of them may own the same kind. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from olmkit.fbc.schemas import CONSTRAINT, GVK, GVK_REQUIRED, PACKAGE_REQUIRED
from olmkit.gocompat.fields import canonical_keys
from operator_controller.resolve.constraints import rules_of
from operator_controller.resolve.package import (
    SHRINK_HINT,
    GroupKind,
    GroupVersionKind,
    PackageTooLarge,
    Property,
)
from operator_controller.resolve.requirements import read_constraints

MAX_REQUIRED_NAMES = 1_000
"""Packages and kinds that all bundles of one package require, each counted once. Real packages require some tens."""
MAX_REACHED_PACKAGES = 20_000
"""Packages that one Operator leads to, whether catalogs have them or not. The largest real catalogs have some hundreds."""

_GVK_FIELDS = frozenset(GroupVersionKind._fields)
_TYPES = frozenset({GVK, GVK_REQUIRED, PACKAGE_REQUIRED, CONSTRAINT})


@dataclass(frozen=True)
class PackageIndex:
    """What the bundles of a package require and own, all versions together."""

    packages: frozenset[str] = frozenset()
    """Packages that they require."""
    kinds: frozenset[GroupKind] = frozenset()
    """Kinds that they require."""
    owned: frozenset[GroupKind] = frozenset()
    requires_any: bool = False
    """A requirement may be met by a bundle of any package."""
    native_kinds: frozenset[str] = frozenset()
    """Native APIs that the cluster must serve, as `<group>/<version>/<kind>`."""
    requires_version: bool = False
    """A bundle has a minKubeVersion."""
    rules_length: int = 0
    """Characters of the different rules in CEL of the bundles."""

    def merged(self, other: PackageIndex) -> PackageIndex:
        """Both together."""
        return PackageIndex(
            self.packages | other.packages,
            self.kinds | other.kinds,
            self.owned | other.owned,
            self.requires_any or other.requires_any,
            self.native_kinds | other.native_kinds,
            self.requires_version or other.requires_version,
            self.rules_length + other.rules_length,
        )


EMPTY_INDEX = PackageIndex()


def index_document(document: Any) -> PackageIndex:
    """The index of a resolution document. What cannot be read has none."""
    bundles = document.get("bundles") if isinstance(document, dict) else None
    found: list[tuple[str, Any]] = []
    native: list[Any] = []
    requires_version = False
    for bundle in bundles if isinstance(bundles, list) else ():
        listed = bundle.get("properties") if isinstance(bundle, dict) else None
        if isinstance(bundle, dict):
            requires_version = requires_version or bool(bundle.get("minKubeVersion"))
            native += value if isinstance(value := bundle.get("nativeAPIs"), list) else []
        for entry in listed if isinstance(listed, list) else ():
            if isinstance(entry, dict) and isinstance(entry.get("type"), str) and entry["type"] in _TYPES:
                found.append((entry["type"], entry.get("value")))
    kinds = frozenset(filter(None, map(_native_kind, native)))
    return replace(index_properties(found), native_kinds=kinds, requires_version=requires_version)


def refuse_many_names(index: PackageIndex) -> None:
    """Raises PackageTooLarge if the bundles require more than MAX_REQUIRED_NAMES packages and kinds."""
    count = len(index.packages) + len(index.kinds)
    if count > MAX_REQUIRED_NAMES:
        raise PackageTooLarge(
            f"its bundles require {count:,} different packages and kinds, and at most {MAX_REQUIRED_NAMES:,} are resolved; "
            f"{SHRINK_HINT}"
        )


def _native_kind(value: Any) -> str:
    """The name of a native API among the facts of a cluster; "" if it cannot be read."""
    parts = [value.get(name) or "" for name in GroupVersionKind._fields] if isinstance(value, dict) else []
    return "/".join(parts) if all(isinstance(part, str) for part in parts) else ""


def index_properties(properties: Iterable[tuple[str, Any]]) -> PackageIndex:
    """The index of properties, given as types and values."""
    packages: set[str] = set()
    kinds: set[GroupKind] = set()
    owned: set[GroupKind] = set()
    rules: set[str] = set()
    requires_any = False
    for kind, value in properties:
        if kind == GVK:
            owned |= group_kind_of(value)
        elif kind == GVK_REQUIRED and (known := group_kind_of(value)):
            kinds |= known
        elif kind == PACKAGE_REQUIRED and isinstance(value, dict) and isinstance(value.get("packageName"), str):
            packages.add(value["packageName"])
        else:
            constraints = read_constraints([Property(kind, value)], checks_rules=False)
            scope = constraints.scope
            rules.update(rules_of([*constraints.required, *constraints.exclusions]))
            packages |= scope.packages
            kinds |= scope.kinds
            requires_any = requires_any or scope.any_package
    length = sum(map(len, rules))
    return PackageIndex(frozenset(packages), frozenset(kinds), frozenset(owned), requires_any, rules_length=length)


def group_kind_of(value: Any) -> set[GroupKind]:
    """The group and kind of the value of an olm.gvk property, or of a requirement of one, if it has them."""
    if not isinstance(value, dict):
        return set()
    fields = value if value.keys() <= _GVK_FIELDS else canonical_keys(value, GroupVersionKind._fields)
    group, kind = fields.get("group") or "", fields.get("kind")
    return {(group, kind)} if isinstance(group, str) and isinstance(kind, str) else set()


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
