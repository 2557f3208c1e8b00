"""The permissions that an account needs to install a bundle, from its objects.

    each object                    get, create, patch and delete it: a server-side apply patches, and creates by name
    each kind that it defines      list and delete its custom resources, when the bundle is removed
    a Role of the bundle           what its rules give, or the verb escalate on it
    a binding of the bundle        what the rules of its role give where it binds, or the verb bind on the role
    the Secret of a certificate    as each object

No finalizers of owners: nothing that a bundle installs has an owner. Namespaces are added where it is known whether they exist
(`namespace_rights`). Pure.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from rukpak.format.objects import BundleObject, ObjectKey, mapping, mappings
from rukpak.permissions.rules import EVERY_RULE, Right, Rule
from rukpak.render.endpoints import CRD
from rukpak.render.rbac import RBAC_GROUP

VERBS = ("create", "delete", "get", "patch")
"""The verbs on each object."""
RESOURCES = {"ClusterRole": "clusterroles", "Role": "roles"}
"""The kinds of roles, and their resources."""
BINDINGS = frozenset({(RBAC_GROUP, "ClusterRoleBinding"), (RBAC_GROUP, "RoleBinding")})
"""The kinds of bindings."""
_NAMESPACE = ("", "Namespace")
_IRREGULAR = {"Endpoints": "endpoints"}

ResourceOf = Callable[[tuple[str, str]], str]
"""(group, kind) -> its plural name; empty if it is not known."""


@dataclass(frozen=True)
class Grant:
    """The permissions that a Role or a binding of the bundle gives to others."""

    key: ObjectKey
    """The role or the binding."""
    namespace: str
    """The namespace in which it is given; empty: the whole cluster."""
    instead: Right
    """The right with which the rules need not be held: to escalate the role, or to bind it."""
    rules: tuple[Rule, ...] | None
    """The rules that have to be held; None: those of a role that is not in the bundle."""


@dataclass(frozen=True)
class NeededPermissions:
    """The permissions that an account needs for the objects of a bundle but its Namespaces."""

    keys: frozenset[ObjectKey] = frozenset()
    resources: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """The plural name of each kind."""
    grants: tuple[Grant, ...] = ()
    defined: tuple[tuple[str, str], ...] = ()
    """Group and plural name of the kinds that it defines: their custom resources are deleted before their definition."""

    @cached_property
    def digest(self) -> str:
        """Identifies these permissions."""
        return hashlib.sha256(repr((sorted(self.keys), self.grants)).encode()).hexdigest()[:16]

    def rights(self) -> Iterator[Right]:
        """The rights on the objects, each by its name, and on the custom resources of the kinds that the bundle defines."""
        yield from (right for key in self.keys for right in _object_rights(key, self.resources[key[:2]]))
        for group, resource in self.defined:
            yield from (Right("", group, resource, "", verb) for verb in ("delete", "list"))

    def held_rights(self) -> Iterator[Right]:
        """The rights that an account has to hold to give them to others, if it may neither escalate nor bind; and to bind the
        roles that are not in the bundle."""
        for grant in self.grants:
            if grant.rules is None:
                yield grant.instead
            yield from (right for rule in grant.rules or () for right in rule.rights(grant.namespace))


def needed_permissions(
    objects: Sequence[BundleObject], secrets: Iterable[ObjectKey], resource_of: ResourceOf
) -> NeededPermissions:
    """The permissions for the objects of a bundle, and for the Secrets with its certificates."""
    keys = frozenset((*(item.key for item in objects if item.key[:2] != _NAMESPACE), *secrets))
    defined = _defined(objects)
    resources = {
        kind: defined.get(kind) or resource_of(kind) or plural_of(kind[1]) for kind in {key[:2] for key in keys}
    }
    kinds = sorted((group, plural) for (group, _), plural in defined.items())
    return NeededPermissions(keys, resources, tuple(_grants(objects)), tuple(kinds))


def _object_rights(key: ObjectKey, resource: str) -> Iterator[Right]:
    """The rights on an object."""
    return (Right(key.namespace, key.group, resource, key.name, verb) for verb in VERBS)


def namespace_rights(name: str, *, exists: bool) -> Iterator[Right]:
    """The rights on a Namespace: it is created, or it exists, and is only read. The API server asks about a Namespace as if it
    was in itself."""
    return (Right(name, "", "namespaces", name, verb) for verb in (("get",) if exists else VERBS))


def plural_of(kind: str) -> str:
    """The plural name that Kubernetes guesses for a kind."""
    lower = kind.lower()
    if kind in _IRREGULAR:
        return _IRREGULAR[kind]
    if lower.endswith(("s", "x", "ch", "sh")):
        return f"{lower}es"
    return f"{lower[:-1]}ies" if lower.endswith("y") and lower[-2:-1] not in "aeiou" else f"{lower}s"


def _defined(objects: Iterable[BundleObject]) -> dict[tuple[str, str], str]:
    """The plural names of the kinds that CustomResourceDefinitions among the objects define."""
    found: dict[tuple[str, str], str] = {}
    for item in objects:
        spec = mapping(item.body.get("spec"))
        names = mapping(spec.get("names"))
        if item.key[:2] == CRD:
            found[str(spec.get("group")), str(names.get("kind"))] = str(names.get("plural"))
    return found


def _grants(objects: Iterable[BundleObject]) -> Iterator[Grant]:
    items = [item for item in objects if item.group == RBAC_GROUP]
    roles = {item.key: _rules(item.body) for item in items if item.kind in RESOURCES}
    for item in items:
        if item.kind in RESOURCES:
            escalate = Right(item.namespace, RBAC_GROUP, RESOURCES[item.kind], item.name, "escalate")
            yield Grant(item.key, item.namespace, escalate, roles[item.key])
        elif item.key[:2] in BINDINGS:
            reference = mapping(item.body.get("roleRef"))
            kind, name = str(reference.get("kind")), str(reference.get("name"))
            role = ObjectKey(RBAC_GROUP, kind, item.namespace if kind == "Role" else "", name)
            bind = Right(item.namespace, RBAC_GROUP, RESOURCES.get(kind, plural_of(kind)), name, "bind")
            yield Grant(item.key, item.namespace, bind, roles.get(role))


def _rules(role: Mapping[str, object]) -> tuple[Rule, ...]:
    """The rules of a role. One that aggregates others may be created by those alone who may do everything."""
    if role.get("aggregationRule") is not None:
        return EVERY_RULE
    return tuple(Rule.load(rule) for rule in mappings(role.get("rules")))
