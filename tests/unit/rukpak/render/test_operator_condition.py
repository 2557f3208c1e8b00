"""The OperatorCondition of a bundle as OLM v0 makes it: object, role, binding, and the variable in its containers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from olmkit.api.operator_condition_names import NAME_VARIABLE
from rukpak.format.objects import BundleObject, ObjectKey
from rukpak.render.cluster_info import ClusterInfo, Served
from rukpak.render.install_options import InstallOptions
from rukpak.render.operator_condition import condition_key, with_condition_name
from rukpak.render.renderer import Installation, RenderOptions, installation, render
from tests.unit.rukpak.builders import bundle, csv, deployment

V1, V2 = (("operators.coreos.com", version, "OperatorCondition") for version in ("v1", "v2"))
KEY = ObjectKey("operators.coreos.com", "OperatorCondition", "ns", "things.v1.0.0")
ROLE = "things.v1.0.0-operator-condition"
NAMED = {"name": NAME_VARIABLE, "value": "things.v1.0.0"}
PERMISSIONS: dict[str, Any] = {
    "permissions": [{"serviceAccountName": "b", "rules": []}, {"serviceAccountName": "a", "rules": []}],
    "clusterPermissions": [{"serviceAccountName": "c", "rules": []}, {"serviceAccountName": "a", "rules": []}],
}
KUBERNETES: tuple[Served, ...] = (
    ("", "v1", "Namespace"),
    ("", "v1", "ServiceAccount"),
    ("apps", "v1", "Deployment"),
    *(
        ("rbac.authorization.k8s.io", "v1", kind)
        for kind in ("Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")
    ),
)


def made(*served: Served, has_condition: bool = True, name: str = "things.v1.0.0", **install: Any) -> Installation:
    """The bundle as it is installed on a cluster that serves these kinds."""
    content = bundle(csv(name=name, install={"deployments": [deployment("one"), deployment("two")], **install}))
    options = InstallOptions("ns", operator_condition=has_condition)
    return installation(content, options, "things", ClusterInfo((*KUBERNETES, *served)), {})


def of_kind(manifests: Sequence[BundleObject], kind: str) -> list[Mapping[str, Any]]:
    name = "things.v1.0.0" if kind == "OperatorCondition" else ROLE
    return [each.body for each in manifests if each.kind == kind and each.name == name]


def variables(found: Installation) -> list[list[Any]]:
    pods = [each.body["spec"]["template"]["spec"] for each in found.ready.manifests if each.kind == "Deployment"]
    return [container.get("env", []) for pod in pods for container in pod["containers"]]


def rules(found: Installation) -> list[tuple[str, list[str], list[str]]]:
    (role,) = of_kind(found.ready.manifests, "Role")
    return [(rule["resources"][0], rule["verbs"], rule["resourceNames"]) for rule in role["rules"]]


def test_the_object_names_deployments_and_accounts_and_nothing_of_others() -> None:
    found = made(V1, V2, **PERMISSIONS)
    (body,) = of_kind(found.ready.manifests, "OperatorCondition")
    assert body["apiVersion"] == "operators.coreos.com/v2"
    assert body["metadata"] == {"name": "things.v1.0.0", "namespace": "ns"}
    assert body["spec"] == {"deployments": ["one", "two"], "serviceAccounts": ["a", "b", "c"]}
    assert found.operator_condition == KEY
    assert variables(found) == [[NAMED], [NAMED]]


def test_the_accounts_may_write_this_object_alone() -> None:
    found = made(V1, V2, **PERMISSIONS)
    write = ["get", "update", "patch"]
    only = ["things.v1.0.0"]
    assert rules(found) == [("operatorconditions", write, only), ("operatorconditions/status", write, only)]
    (binding,) = of_kind(found.ready.manifests, "RoleBinding")
    assert [each["name"] for each in binding["subjects"]] == ["a", "b", "c"]
    assert {each["namespace"] for each in binding["subjects"]} == {"ns"}
    assert binding["roleRef"] == {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": ROLE}


def test_nothing_else_has_the_name_that_olm_v0_gives_to_the_role_of_the_object() -> None:
    """A running OLM v0 replaces a Role and a RoleBinding of that name, with all that others have written to them."""
    named = [each.kind for each in made(V1, V2, **PERMISSIONS).ready.manifests if each.name == "things.v1.0.0"]
    assert named == ["OperatorCondition"]


def test_in_v1_the_accounts_write_the_status_alone() -> None:
    found = made(V1)
    (body,) = of_kind(found.ready.manifests, "OperatorCondition")
    assert body["apiVersion"] == "operators.coreos.com/v1"
    assert [verbs for _, verbs, _ in rules(found)] == [["get"], ["get", "update", "patch"]]


def test_without_permissions_the_account_is_the_default_one() -> None:
    (body,) = of_kind(made(V2).ready.manifests, "OperatorCondition")
    assert body["spec"]["serviceAccounts"] == ["default"]


def test_a_cluster_without_the_kind_gets_all_but_the_object() -> None:
    """The CRD was deleted after the revision began: its pods are not restarted, and nothing waits."""
    found = made()
    assert found.ready.left_out == (KEY,)
    assert found.ready.missing == ()
    assert of_kind(found.ready.manifests, "OperatorCondition") == []
    assert len(of_kind(found.ready.manifests, "Role")) == 1
    assert variables(found) == [[NAMED], [NAMED]]
    assert found.operator_condition == KEY


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(made(V1, V2, has_condition=False), id="the revision began without one"),
        pytest.param(made(V1, V2, name="Things_v1"), id="no object can have the name of the ClusterServiceVersion"),
    ],
)
def test_nothing_is_added(found: Installation) -> None:
    assert found.operator_condition is None
    kinds = {each.kind for each in found.ready.manifests}
    assert "OperatorCondition" not in kinds
    assert variables(found) == [[], []]


def test_a_bundle_without_deployments_has_one_too() -> None:
    content = bundle(csv(name="things.v1.0.0", install={"deployments": []}))
    assert condition_key(content, "ns") == KEY
    found = render(content, RenderOptions("ns", operator_condition="v2"))
    assert [each.body["spec"]["deployments"] for each in found if each.kind == "OperatorCondition"] == [[]]


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        pytest.param(
            {"containers": [{"name": "x"}, {"name": "y", "env": [{"name": "A"}]}]},
            [[NAMED], [{"name": "A"}, NAMED]],
            id="each container gets it",
        ),
        pytest.param(
            {"containers": [{"name": "x", "env": [{"name": NAME_VARIABLE, "value": "other"}, {"name": "A"}]}]},
            [[NAMED, {"name": "A"}]],
            id="another value is replaced in its place",
        ),
        pytest.param(
            {"containers": [{"name": "x", "env": [{"name": NAME_VARIABLE, "valueFrom": {"fieldRef": {}}}]}]},
            [[NAMED]],
            id="a reference is replaced",
        ),
        pytest.param({"containers": [], "initContainers": [{"name": "i"}]}, [], id="init containers stay"),
        pytest.param({}, [], id="no containers"),
    ],
)
def test_the_variable(pod: dict[str, Any], expected: list[Any]) -> None:
    body = {"metadata": {"name": "d"}, "spec": {"template": {"spec": pod}}}
    changed = with_condition_name(body, "things.v1.0.0")["spec"]["template"]["spec"]
    assert [each["env"] for each in changed["containers"]] == expected
    assert changed.get("initContainers") == pod.get("initContainers")
