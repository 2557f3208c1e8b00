"""The roles of a project: whose rules are permissions in the ClusterServiceVersion, and which objects are files. Pure.

A ServiceAccount of a Deployment, and each extra one, gets the rules of the roles that are bound to it. If a binding has other
subjects too, the binding with these subjects and the role that it refers to are files as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from olmctl.project.collection import (
    CLUSTER_ROLE,
    CLUSTER_ROLE_BINDING,
    DEPLOYMENT,
    ROLE,
    ROLE_BINDING,
    SERVICE_ACCOUNT,
    Collection,
    Typed,
)

DEFAULT_ACCOUNT: Final = "default"
_ACCOUNT_KIND: Final = "ServiceAccount"

Permission = dict[str, Any]
"""An entry of permissions or clusterPermissions: serviceAccountName and rules."""


@dataclass
class Permissions:
    """The roles and bindings, divided."""

    permissions: list[Permission]
    cluster_permissions: list[Permission]
    files: list[Typed]
    notes: list[str]


@dataclass
class _Scope:
    """The bindings of one kind, and what has been found out about them."""

    rules: dict[str, list[Any]] = field(default_factory=dict)
    """By account, in the order of the bindings."""
    bindings: list[Typed] = field(default_factory=list)
    """Those that are files, with the subjects that are left."""


def accounts_of(collection: Collection, extra: Iterable[str]) -> set[str]:
    """The accounts whose permissions are in the ClusterServiceVersion."""
    names = (each.spec["template"]["spec"].get("serviceAccountName") for each in collection.of(DEPLOYMENT))
    return {name or DEFAULT_ACCOUNT for name in names} | set(extra)


def split_permissions(collection: Collection, extra: Iterable[str]) -> Permissions:
    """Divide the roles and bindings between the ClusterServiceVersion and files."""
    accounts = accounts_of(collection, extra)
    roles, cluster_roles = collection.of(ROLE), collection.of(CLUSTER_ROLE)
    moved: set[int] = set()
    namespaced = _split(collection.of(ROLE_BINDING), (*roles, *cluster_roles), accounts, moved)
    cluster = _split(collection.of(CLUSTER_ROLE_BINDING), cluster_roles, accounts, moved)
    needed = {
        id(role)
        for bindings, candidates in ((namespaced.bindings, (*roles, *cluster_roles)), (cluster.bindings, cluster_roles))
        for binding in bindings
        if (role := _role_of(binding, candidates)) is not None
    }
    files = [role for role in (*roles, *cluster_roles) if id(role) not in moved or id(role) in needed]
    files += [*namespaced.bindings, *cluster.bindings]
    files += [each for each in collection.of(SERVICE_ACCOUNT) if each.name not in accounts]
    notes = [_aggregated(role) for role in cluster_roles if id(role) in moved and role.value.get("aggregationRule")]
    return Permissions(_entries(namespaced.rules), _entries(cluster.rules), files, notes)


def _split(bindings: Iterable[Typed], roles: Iterable[Typed], accounts: set[str], moved: set[int]) -> _Scope:
    """Divide bindings; the roles whose rules are in the ClusterServiceVersion are added to `moved`."""
    candidates, scope = tuple(roles), _Scope()
    for binding in bindings:
        role = _role_of(binding, candidates)
        subjects = binding.value.get("subjects") or []
        if role is None:
            scope.bindings.append(binding)
            continue
        bound = [each["name"] for each in subjects if each["kind"] == _ACCOUNT_KIND and each["name"] in accounts]
        for name in bound:
            scope.rules.setdefault(name, []).extend(role.value["rules"] or [])
        if bound:
            moved.add(id(role))
        others = [each for each in subjects if not (each["kind"] == _ACCOUNT_KIND and each["name"] in accounts)]
        if others:
            scope.bindings.append(replace(binding, value={**binding.value, "subjects": others}))
    return scope


def _role_of(binding: Typed, roles: Iterable[Typed]) -> Typed | None:
    """The role of the input that a binding refers to: of several with its name the one in its namespace, else the last one."""
    ref = binding.value["roleRef"]
    if ref["apiGroup"] not in ("", ROLE[0]):
        return None
    named = [role for role in roles if role.manifest.kind == ref["kind"] and role.name == ref["name"]]
    return next((role for role in named if role.namespace == binding.namespace), named[-1] if named else None)


def _entries(rules: Mapping[str, list[Any]]) -> list[Permission]:
    return [{"rules": rules[name], "serviceAccountName": name} for name in sorted(rules) if rules[name]]


def with_kept(found: list[Permission], base: Iterable[Permission]) -> list[Permission]:
    """The permissions, with those of the base for accounts to which the input binds nothing."""
    accounts = {each["serviceAccountName"] for each in found}
    kept = [each for each in base if each["serviceAccountName"] not in accounts and each["rules"]]
    return sorted([*found, *kept], key=lambda each: str(each["serviceAccountName"]))


def _aggregated(role: Typed) -> str:
    return (
        f"{role.manifest.place}: ClusterRole {role.name}: its aggregationRule is left out, because a ClusterServiceVersion "
        "has only rules"
    )
