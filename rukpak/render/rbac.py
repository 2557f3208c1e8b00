"""The RBAC objects of a registry+v1 bundle: the permissions of its ClusterServiceVersion as ServiceAccounts, Roles,
ClusterRoles and their bindings.

Names, hashes and order are upstream's (formats 2.6). Pure.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rukpak.format.bundle import Body, RegistryBundle

RBAC_GROUP = "rbac.authorization.k8s.io"
MAX_NAME_CHARACTERS = 63
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_NAMESPACES_RULE = {"verbs": ["get", "list", "watch"], "apiGroups": [""], "resources": ["namespaces"]}


def rbac_objects(bundle: RegistryBundle, install_namespace: str, targets: Sequence[str]) -> Iterator[Body]:
    """The ServiceAccounts in the install namespace, then each role with its binding.

    `targets` are the namespaces to watch, each of which gets a Role for each of `permissions`. If they are ("",), which is all
    namespaces, `permissions` become ClusterRoles too.
    """
    permissions = list(bundle.install_spec.get("permissions") or ())
    cluster_permissions = list(bundle.install_spec.get("clusterPermissions") or ())
    yield from _service_accounts([*permissions, *cluster_permissions], install_namespace)
    if tuple(targets) == ("",):
        cluster_permissions += [_promoted(permission) for permission in permissions]
    else:
        for namespace in targets:
            for permission in permissions:
                yield from _role_and_binding(bundle.csv_name, permission, install_namespace, namespace)
    for permission in cluster_permissions:
        yield from _role_and_binding(bundle.csv_name, permission, install_namespace, "")


def _service_accounts(permissions: Sequence[Body], install_namespace: str) -> Iterator[Body]:
    names = {permission["serviceAccountName"] for permission in permissions} - {"", "default"}
    for name in sorted(names):
        metadata = {"name": name, "namespace": install_namespace}
        yield {"kind": "ServiceAccount", "apiVersion": "v1", "metadata": metadata}


def _promoted(permission: Body) -> Body:
    """The permission for a ClusterRole; upstream adds that namespaces may be read."""
    return {**permission, "rules": [*(permission.get("rules") or ()), _NAMESPACES_RULE]}


def _role_and_binding(csv_name: str, permission: Body, install_namespace: str, namespace: str) -> Iterator[Body]:
    """Role and RoleBinding in the namespace, or ClusterRole and ClusterRoleBinding when it is empty."""
    account = permission["serviceAccountName"]
    prefix = "" if namespace else "Cluster"
    metadata = {"name": role_name(csv_name, permission)} | ({"namespace": namespace} if namespace else {})
    api_version = f"{RBAC_GROUP}/v1"
    yield {"kind": f"{prefix}Role", "apiVersion": api_version, "metadata": metadata, "rules": permission.get("rules")}
    yield {
        "kind": f"{prefix}RoleBinding",
        "apiVersion": api_version,
        "metadata": metadata,
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": install_namespace}],
        "roleRef": {"apiGroup": RBAC_GROUP, "kind": f"{prefix}Role", "name": metadata["name"]},
    }


def role_name(csv_name: str, permission: Body) -> str:
    """`<csv>-<account>-<hash>` cut to 63; the hash is base36 of sha224 of the permission as Go writes it, with a newline."""
    rules = permission.get("rules")
    ordered = None if rules is None else [_ordered_rule(rule) for rule in rules]
    text = json.dumps(
        {"serviceAccountName": permission["serviceAccountName"], "rules": ordered},
        ensure_ascii=False,
        separators=(",", ":"),
    )
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    suffix = _base36(int.from_bytes(hashlib.sha224(text.encode() + b"\n").digest()))
    base = f"{csv_name}-{permission['serviceAccountName'] or 'default'}"
    if len(base) + len(suffix) > MAX_NAME_CHARACTERS:
        base = base[: MAX_NAME_CHARACTERS - len(suffix) - 1]
    return f"{base}-{suffix}"


def _ordered_rule(rule: Body) -> Mapping[str, Any]:
    lists = ("apiGroups", "resources", "resourceNames", "nonResourceURLs")
    return {"verbs": rule.get("verbs")} | {name: rule[name] for name in lists if rule.get(name)}


def _base36(number: int) -> str:
    digits = ""
    while number:
        number, digit = divmod(number, 36)
        digits = _DIGITS[digit] + digits
    return digits or "0"
