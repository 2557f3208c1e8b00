"""The permissions of the accounts of a bundle, and which ones they gain and lose."""

from __future__ import annotations

from typing import Any

import pytest

from olmctl.diff.permissions import gained, permissions, sentences
from rukpak.format.objects import BundleObject
from rukpak.render.rbac import RBAC_GROUP

Rule = dict[str, list[str]]


def rule(groups: str, resources: str, verbs: str, names: str = "") -> Rule:
    found = {"apiGroups": groups.split(","), "resources": resources.split(","), "verbs": verbs.split(",")}
    return found | ({"resourceNames": names.split(",")} if names else {})


def objects(*rules: Rule, namespace: str = "", name: str = "captain", account: str = "ship") -> list[BundleObject]:
    """A role with these rules, and its binding; in a namespace or in all."""
    kind = "Role" if namespace else "ClusterRole"
    metadata: dict[str, Any] = {"name": name, **({"namespace": namespace} if namespace else {})}
    role = {"apiVersion": f"{RBAC_GROUP}/v1", "kind": kind, "metadata": metadata, "rules": list(rules)}
    subject = {"kind": "ServiceAccount", "name": account, "namespace": "harbour"}
    reference = {"apiGroup": RBAC_GROUP, "kind": kind, "name": name}
    binding = {**role, "kind": f"{kind}Binding", "roleRef": reference, "subjects": [subject]}
    return [BundleObject(role), BundleObject(binding)]


PODS = rule("", "pods", "get,list")

CHANGES: dict[str, tuple[list[BundleObject], list[BundleObject], list[str]]] = {
    "everything of a first installation": (
        [],
        objects(PODS, rule("apps", "deployments", "list,get")),
        ["ServiceAccount harbour/ship: get, list deployments.apps, pods in all namespaces"],
    ),
    "nothing when only the names of roles differ": (objects(PODS), objects(PODS, name="other"), []),
    "a verb": (
        objects(PODS),
        objects(rule("", "pods", "get,list,delete")),
        ["ServiceAccount harbour/ship: delete pods in all namespaces"],
    ),
    "all namespaces in place of one": (
        objects(PODS, namespace="harbour"),
        objects(PODS),
        ["ServiceAccount harbour/ship: get, list pods in all namespaces"],
    ),
    "nothing when one namespace takes the place of all": (objects(PODS), objects(PODS, namespace="harbour"), []),
    "a namespace": (
        objects(PODS, namespace="harbour"),
        objects(PODS, namespace="sea"),
        ["ServiceAccount harbour/ship: get, list pods in namespace sea"],
    ),
    "nothing that a wildcard includes": (objects(rule("*", "*", "*")), objects(PODS), []),
    "a wildcard": (
        objects(PODS),
        objects(rule("*", "*", "*")),
        ["ServiceAccount harbour/ship: * *.* in all namespaces"],
    ),
    "all objects in place of one": (
        objects(rule("", "pods", "get", "mine")),
        objects(rule("", "pods", "get")),
        ["ServiceAccount harbour/ship: get pods in all namespaces"],
    ),
    "one object": (
        [],
        objects(rule("", "pods", "get", "mine")),
        ["ServiceAccount harbour/ship: get pods/mine in all namespaces"],
    ),
    "a path of the API server": (
        [],
        objects({"nonResourceURLs": ["/metrics"], "verbs": ["get"]}),
        ["ServiceAccount harbour/ship: get /metrics in all namespaces"],
    ),
    "another account": (
        objects(PODS),
        objects(PODS, account="boat"),
        ["ServiceAccount harbour/boat: get, list pods in all namespaces"],
    ),
    "a role that is not in the bundle": (
        [],
        objects(PODS)[1:],
        ["ServiceAccount harbour/ship: what is permitted by ClusterRole captain in all namespaces"],
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_permission_is_gained(name: str) -> None:
    old, new, said = CHANGES[name]
    assert sentences(gained(permissions(old), permissions(new))) == said


def test_a_role_without_a_binding_permits_nothing() -> None:
    assert permissions(objects(PODS)[:1]) == frozenset()
