"""The index of a package: which packages and kinds its bundles require, and which kinds they own, all versions together.

Made from properties as their publisher wrote them. What cannot be read requires and owns nothing. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from olmkit.fbc.schemas import GVK, GVK_REQUIRED, PACKAGE_REQUIRED
from olmkit.gocompat.fields import canonical_keys
from operator_controller.resolve.package.package_content import (
    DEPENDENCY_TYPES,
    SHRINK_HINT,
    GroupKind,
    GroupVersionKind,
    PackageTooLarge,
    Property,
)
from operator_controller.resolve.requirements.bundle_constraints import read_constraints
from operator_controller.resolve.requirements.constraints import rules_of

MAX_REQUIRED_NAMES = 1_000
"""Packages and kinds that all bundles of one package require, each counted once. Real packages require some tens."""

INDEXED_TYPES = frozenset({GVK, *DEPENDENCY_TYPES})
"""The types of properties that count; others require and own nothing."""
_GVK_FIELDS = frozenset(GroupVersionKind._fields)


@dataclass(frozen=True)
class PackageIndex:
    """The requirements and the owned kinds of the bundles of a package, all versions together."""

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


def refuse_many_names(index: PackageIndex) -> None:
    """Raises PackageTooLarge if the bundles require more than MAX_REQUIRED_NAMES packages and kinds."""
    count = len(index.packages) + len(index.kinds)
    if count > MAX_REQUIRED_NAMES:
        raise PackageTooLarge(
            f"its bundles require {count:,} different packages and kinds, and at most {MAX_REQUIRED_NAMES:,} are resolved; "
            f"{SHRINK_HINT}"
        )


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
        elif kind in INDEXED_TYPES:
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
