"""Permissions of a ClusterServiceVersion as roles and bindings."""

import hashlib

import pytest

from rukpak.render.rbac import role_name
from rukpak.render.renderer import RenderOptions, render
from tests.unit.rukpak.builders import Body, bundle, csv, deployment

RULES = [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}]
NAMESPACES = {"verbs": ["get", "list", "watch"], "apiGroups": [""], "resources": ["namespaces"]}
INSTALL = {
    "deployments": [deployment()],
    "permissions": [{"serviceAccountName": "b", "rules": RULES}, {"serviceAccountName": "a", "rules": RULES}],
    "clusterPermissions": [
        {"serviceAccountName": "default", "rules": RULES},
        {"serviceAccountName": "a", "rules": RULES},
    ],
}


def test_permissions_are_promoted_when_all_namespaces_are_watched() -> None:
    found = render(bundle(csv(install=INSTALL)), RenderOptions("ns"))
    rules = [m.body["rules"] for m in found if m.kind == "ClusterRole"]
    assert rules == [RULES, RULES, [*RULES, NAMESPACES], [*RULES, NAMESPACES]]


def test_roles_go_into_each_target_namespace() -> None:
    bodies = bundle(csv(install=INSTALL, modes=("MultiNamespace",)))
    found = [m for m in render(bodies, RenderOptions("ns", ("y", "x"))) if m.kind in ("Role", "RoleBinding")]
    assert [m.namespace for m in found] == ["x"] * 4 + ["y"] * 4
    role, binding = found[0], found[1]
    assert role.body["rules"] == RULES
    assert binding.body["roleRef"] == {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": role.name}
    assert binding.body["subjects"] == [{"kind": "ServiceAccount", "name": "b", "namespace": "ns"}]


@pytest.mark.parametrize(
    ("permission", "wanted"),
    [
        pytest.param({"serviceAccountName": "", "rules": None}, "c-default-", id="no account is called default"),
        pytest.param({"serviceAccountName": "x" * 60, "rules": []}, "c-xxxxxxxx", id="a long name is cut"),
    ],
)
def test_names_of_roles(permission: Body, wanted: str) -> None:
    name = role_name("c", permission)
    assert name.startswith(wanted)
    assert len(name) <= 63


def test_the_name_of_a_role_hashes_the_permission_as_go_writes_it() -> None:
    text = r'{"serviceAccountName":"a","rules":[{"verbs":["\u003c\u0026\u003e\u2028"],"apiGroups":["ü"]}]}'
    permission = {"serviceAccountName": "a", "rules": [{"verbs": ["<&>\u2028"], "apiGroups": ["ü"]}]}
    name, _, digest = role_name("c.v1", permission).rpartition("-")
    assert name == "c.v1-a"
    assert int(digest, 36) == int(hashlib.sha224(f"{text}\n".encode()).hexdigest(), 16)
    reordered = {"rules": [{"apiGroups": ["ü"], "resources": [], "verbs": ["<&>\u2028"]}], "serviceAccountName": "a"}
    assert role_name("c.v1", reordered) == role_name("c.v1", permission)
