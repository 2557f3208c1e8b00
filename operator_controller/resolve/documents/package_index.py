"""The index of a package: which packages and kinds its bundles require, and which kinds they own, all versions together.

Made from the JSON of its resolution document without parsing the bundles. What cannot be read requires and owns nothing. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from olmkit.fbc.schemas import CONSTRAINT, GVK, GVK_REQUIRED, PACKAGE_REQUIRED
from olmkit.gocompat.fields import canonical_keys
from operator_controller.resolve.package.package_content import (
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

_GVK_FIELDS = frozenset(GroupVersionKind._fields)
_TYPES = frozenset({GVK, GVK_REQUIRED, PACKAGE_REQUIRED, CONSTRAINT})


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
