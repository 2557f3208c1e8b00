"""The permissions that an account needs for the objects of a bundle."""

from __future__ import annotations

from typing import Any

import pytest

from rukpak.format.objects import BundleObject, ObjectKey
from rukpak.permissions.needed import VERBS, Grant, namespace_rights, needed_permissions, plural_of
from rukpak.permissions.rules import EVERY_RULE, Right, Rule

RBAC = "rbac.authorization.k8s.io"
PODS = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}


def made(kind: str, name: str, namespace: str = "", group: str = "", **fields: Any) -> BundleObject:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return BundleObject({"apiVersion": f"{group}/v1" if group else "v1", "kind": kind, "metadata": metadata, **fields})


def binding(kind: str, name: str, role: str, to: str, namespace: str = "") -> BundleObject:
    return made(kind, name, namespace, RBAC, roleRef={"apiGroup": RBAC, "kind": role, "name": to})


def rights(group: str, resource: str, name: str, namespace: str = "") -> set[Right]:
    return {Right(namespace, group, resource, name, verb) for verb in VERBS}


def test_each_object_is_read_created_patched_and_deleted_by_its_name() -> None:
    objects = [
        made("Namespace", "a"),
        made("ConfigMap", "log", "a"),
        made(
            "CustomResourceDefinition",
            "mice.example.com",
            group="apiextensions.k8s.io",
            spec={"group": "example.com", "names": {"kind": "Mouse", "plural": "mice"}},
        ),
        made("Mouse", "jerry", "a", "example.com"),
        made("Widget", "w", group="other.example.com"),
    ]
    served = {("other.example.com", "Widget"): "widgetry"}
    needed = needed_permissions(objects, [ObjectKey("", "Secret", "a", "cert")], lambda kind: served.get(kind, ""))
    assert set(needed.rights()) == {
        *rights("", "configmaps", "log", "a"),
        *rights("apiextensions.k8s.io", "customresourcedefinitions", "mice.example.com"),
        *rights("example.com", "mice", "jerry", "a"),
        *rights("other.example.com", "widgetry", "w"),
        *rights("", "secrets", "cert", "a"),
        Right("", "example.com", "mice", "", "list"),
        Right("", "example.com", "mice", "", "delete"),
    }
    assert needed.grants == ()


@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        pytest.param(
            [made("Role", "r", "a", RBAC, rules=[PODS])],
            [("a", "roles", "r", "escalate", (Rule.load(PODS),))],
            id="a role gives its rules in its namespace",
        ),
        pytest.param(
            [made("ClusterRole", "r", group=RBAC, rules=None)],
            [("", "clusterroles", "r", "escalate", ())],
            id="a role without rules gives nothing",
        ),
        pytest.param(
            [made("ClusterRole", "r", group=RBAC, rules=[PODS], aggregationRule={})],
            [("", "clusterroles", "r", "escalate", EVERY_RULE)],
            id="a role that aggregates needs everything",
        ),
        pytest.param(
            [made("ClusterRole", "r", group=RBAC, rules=[PODS]), binding("RoleBinding", "b", "ClusterRole", "r", "a")],
            [
                ("", "clusterroles", "r", "escalate", (Rule.load(PODS),)),
                ("a", "clusterroles", "r", "bind", (Rule.load(PODS),)),
            ],
            id="a binding gives the rules of a role of the cluster where it binds",
        ),
        pytest.param(
            [binding("RoleBinding", "b", "Role", "other", "a")],
            [("a", "roles", "other", "bind", None)],
            id="a binding of a role that is not in the bundle",
        ),
        pytest.param(
            [made("Role", "r", "b", RBAC, rules=[PODS]), binding("RoleBinding", "b", "Role", "r", "a")],
            [("b", "roles", "r", "escalate", (Rule.load(PODS),)), ("a", "roles", "r", "bind", None)],
            id="a role of another namespace is another role",
        ),
    ],
)
def test_what_roles_and_bindings_give(objects: list[BundleObject], expected: list[tuple[Any, ...]]) -> None:
    found = needed_permissions(objects, (), lambda _: "").grants
    assert [
        (one.namespace, one.instead.resource, one.instead.name, one.instead.verb, one.rules) for one in found
    ] == expected
    assert all(isinstance(one, Grant) and one.instead.namespace == one.namespace for one in found)


def test_what_is_given_to_others_has_to_be_held_or_bound() -> None:
    bound = binding("RoleBinding", "b", "ClusterRole", "admin", "a")
    needed = needed_permissions([made("Role", "r", "a", RBAC, rules=[PODS]), bound], (), lambda _: "")
    bind = Right("a", RBAC, "clusterroles", "admin", "bind")
    assert set(needed.held_rights()) == {Right("a", "", "pods", "", "get"), bind}


def test_the_digest_depends_on_the_objects_and_on_the_rules() -> None:
    def digest(*objects: BundleObject) -> str:
        return needed_permissions(objects, (), lambda _: "").digest

    role, wider = (
        made("Role", "r", "a", RBAC, rules=[PODS]),
        made("Role", "r", "a", RBAC, rules=[{**PODS, "verbs": ["*"]}]),
    )
    assert digest(role) == digest(made("Role", "r", "a", RBAC, rules=[PODS]))
    assert len({digest(role), digest(wider), digest(made("Role", "s", "a", RBAC, rules=[PODS])), digest()}) == 4


def test_a_namespace_that_exists_is_read_alone() -> None:
    assert set(namespace_rights("a", exists=True)) == {Right("a", "", "namespaces", "a", "get")}
    assert {each.verb for each in namespace_rights("a", exists=False)} == set(VERBS)


@pytest.mark.parametrize(
    ("kind", "plural"),
    [
        ("Pod", "pods"),
        ("NetworkPolicy", "networkpolicies"),
        ("Ingress", "ingresses"),
        ("Gateway", "gateways"),
        ("Endpoints", "endpoints"),
        ("PriorityClass", "priorityclasses"),
    ],
)
def test_the_plural_names_that_kubernetes_guesses(kind: str, plural: str) -> None:
    assert plural_of(kind) == plural
