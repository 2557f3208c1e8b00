"""Finds the permissions that the accounts of a bundle have, and those that they gain and lose with another bundle.

Reads the roles and bindings among the rendered objects: names of roles differ from version to version, permissions need not. What
a role outside of the bundle permits is not known: it is a permission of its own. Pure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rukpak.format.objects import BundleObject, mapping, mappings
from rukpak.render.rbac import RBAC_GROUP

EVERYTHING = "*"


@dataclass(frozen=True, order=True)
class Permission:
    """One verb on one resource for one account."""

    subject: str
    """`ServiceAccount ns/name`."""
    namespace: str
    """Empty: in all namespaces."""
    group: str
    resource: str
    """A resource, a path of the API server, or `ClusterRole name` for what that role permits."""
    name: str
    """The only object of that resource; empty: all."""
    verb: str
    """Empty for what a role permits."""


def permissions(objects: Sequence[BundleObject]) -> frozenset[Permission]:
    """Collect the permissions that the bindings among the objects give."""
    roles = {item.key: item.body for item in objects if item.key[:2] in _ROLES}
    return frozenset(found for item in objects if item.key[:2] in _BINDINGS for found in _bound(item, roles))


def gained(old: frozenset[Permission], new: frozenset[Permission]) -> list[Permission]:
    """The permissions of `new` that `old` does not include, sorted."""
    by_subject: dict[str, list[Permission]] = defaultdict(list)
    for each in old:
        by_subject[each.subject].append(each)
    missing = (each for each in new if each not in old)
    return sorted(each for each in missing if not any(_includes(known, each) for known in by_subject[each.subject]))


def sentences(found: Sequence[Permission]) -> list[str]:
    """The permissions as lines, those with the same verbs on one line: `ServiceAccount ns/name: get, list pods in all
    namespaces`."""
    verbs: dict[tuple[str, str, str, str, str], list[str]] = defaultdict(list)
    for each in found:
        verbs[each.subject, each.namespace, each.group, each.resource, each.name].append(each.verb)
    resources: dict[tuple[str, str, tuple[str, ...]], list[str]] = defaultdict(list)
    for (subject, namespace, group, resource, name), known in verbs.items():
        resources[subject, namespace, tuple(sorted(known))].append(_resource(group, resource, name))
    return sorted(
        f"{subject}: {_verbs(known)}{', '.join(sorted(names))} {_place(namespace)}"
        for (subject, namespace, known), names in resources.items()
    )


_ROLES = {(RBAC_GROUP, "Role"), (RBAC_GROUP, "ClusterRole")}
_BINDINGS = {(RBAC_GROUP, "RoleBinding"), (RBAC_GROUP, "ClusterRoleBinding")}


def _bound(binding: BundleObject, roles: Mapping[Any, Mapping[str, Any]]) -> Iterator[Permission]:
    reference = mapping(binding.body.get("roleRef"))
    kind, name = str(reference.get("kind")), str(reference.get("name"))
    role = roles.get((RBAC_GROUP, kind, binding.namespace if kind == "Role" else "", name))
    for subject in mappings(binding.body.get("subjects")):
        place = subject.get("namespace")
        who = (
            f"{subject.get('kind')} {place}/{subject.get('name')}"
            if place
            else f"{subject.get('kind')} {subject.get('name')}"
        )
        if role is None:
            yield Permission(who, binding.namespace, "", f"{kind} {name}", "", "")
        else:
            yield from _permitted(who, binding.namespace, role)


def _permitted(subject: str, namespace: str, role: Mapping[str, Any]) -> Iterator[Permission]:
    for rule in mappings(role.get("rules")):
        verbs = [str(verb) for verb in rule.get("verbs") or ()]
        for path in rule.get("nonResourceURLs") or ():
            yield from (Permission(subject, "", "", str(path), "", verb) for verb in verbs)
        for group in rule.get("apiGroups") or ():
            for resource in rule.get("resources") or ():
                for name in rule.get("resourceNames") or ("",):
                    yield from (
                        Permission(subject, namespace, str(group), str(resource), str(name), verb) for verb in verbs
                    )


def _includes(wide: Permission, narrow: Permission) -> bool:
    """Report whether the first one, of the same account, permits the second one."""
    pairs = ((wide.group, narrow.group), (wide.resource, narrow.resource), (wide.verb, narrow.verb))
    return (
        wide.namespace in ("", narrow.namespace)
        and wide.name in ("", narrow.name)
        and all(known in (EVERYTHING, other) for known, other in pairs)
    )


def _resource(group: str, resource: str, name: str) -> str:
    text = f"{resource}.{group}" if group and not resource.startswith("/") else resource
    return f"{text}/{name}" if name else text


def _verbs(known: tuple[str, ...]) -> str:
    return "what is permitted by " if known == ("",) else f"{', '.join(known)} "


def _place(namespace: str) -> str:
    return f"in namespace {namespace}" if namespace else "in all namespaces"
