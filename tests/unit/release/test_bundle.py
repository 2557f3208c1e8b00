"""The suite as a registry+v1 bundle: what goes into it, and what has to be applied before it."""

from __future__ import annotations

from typing import Any

from olmctl.suite.manifests import SYSTEM_NAMESPACE, load_manifests
from release.bundle import bundle_objects, prerequisites

IMAGE = "registry.example.com/olm-suite:v0.1.0"
Object = dict[str, Any]


def made() -> list[Object]:
    return bundle_objects(load_manifests(IMAGE))


def test_the_csv_owns_every_kind_and_runs_every_controller() -> None:
    csv = made()[0]
    owned = {each["name"] for each in csv["spec"]["customresourcedefinitions"]["owned"]}
    assert owned == {each["metadata"]["name"] for each in load_manifests().crds}
    deployments = csv["spec"]["install"]["spec"]["deployments"]
    assert sorted(each["name"] for each in deployments) == ["catalogd", "operator-controller", "rukpak"]
    images = {each["image"] for one in deployments for each in one["spec"]["template"]["spec"]["containers"]}
    assert images == {IMAGE}
    accounts = {one["spec"]["template"]["spec"]["serviceAccountName"] for one in deployments}
    assert {each["serviceAccountName"] for each in csv["spec"]["install"]["spec"]["clusterPermissions"]} == accounts


def test_every_object_of_the_suite_is_in_the_bundle_or_before_it() -> None:
    def key(obj: Object) -> tuple[str, str, str]:
        return obj["kind"], obj["metadata"]["name"], obj["metadata"].get("namespace", SYSTEM_NAMESPACE)

    in_csv = {"Deployment", "ServiceAccount", "ClusterRole", "ClusterRoleBinding"}
    expected = {key(each) for each in load_manifests().objects if each["kind"] not in in_csv}
    found = {key(each) for each in (*made(), *prerequisites(load_manifests().objects))}
    assert expected <= found


def test_permissions_in_a_namespace_stay_in_it() -> None:
    """OLM makes ClusterRoles of the permissions of a CSV that watches all namespaces."""
    assert "permissions" not in made()[0]["spec"]["install"]["spec"]
    roles = [each for each in prerequisites(load_manifests().objects) if each["kind"] == "Role"]
    assert {each["metadata"]["namespace"] for each in roles} == {"default", "olm-suite-keys"}
