"""What a ClusterExtension has here that OLM v1 lacks: protection from deletion, dependencies, and a choice of the account."""

from __future__ import annotations

import pytest

from devcluster.suite import Suite
from devcluster.watch import OPERATORS, Object
from olmkit.api import clusterextensions
from olmkit.api.clusterextensions import SERVICE_ACCOUNT_ANNOTATION
from olmkit.api.operators import DELETION_PROTECTION_ANNOTATION, INSTALLED_FOR_LABEL, unprotect_command
from tests.bundle_properties import package_required
from tests.conditions import triple
from tests.e2e.packages import catalog_file, group, package_blobs, push_bundle, registry_bundle
from tests.e2e.stage import CLUSTER_EXTENSIONS, CRDS, installed_version
from tests.e2e.v1.bundles import Entry
from tests.e2e.v1.scene import Scene, installed_bundle

pytestmark = pytest.mark.v1

COUNT_SECONDS = 180.0
"""Custom resources are counted at most once a minute."""
ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
BINDINGS = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"


def annotated(extension: Object, annotation: str, value: str) -> Object:
    """The object with an annotation."""
    return {**extension, "metadata": {**extension["metadata"], "annotations": {annotation: value}}}


def test_a_protected_extension_is_deleted_after_its_last_custom_resource(scene: Scene) -> None:
    scene.create_namespace()
    scene.cluster_catalog([Entry("1.0.0")])
    scene.apply(annotated(scene.extension(), DELETION_PROTECTION_ANNOTATION, "true"))
    scene.rolled_out("1.0.0")
    things = f"/apis/{group(scene.package)}/v1/namespaces/{scene.namespace}/things"
    thing = {"apiVersion": f"{group(scene.package)}/v1", "kind": "Thing", "metadata": {"name": "used"}}
    scene.cluster.api.call("POST", things, thing)

    scene.cluster.run_kubectl("delete", f"clusterextension/{scene.name}", "--wait=false")
    message = scene.reports("Progressing", "False", "Blocked")
    assert f"1 things.{group(scene.package)}" in message
    assert message.endswith(unprotect_command(clusterextensions.KIND, scene.name))
    held = scene.cluster.api.call("GET", f"{CLUSTER_EXTENSIONS}/{scene.name}")
    assert triple(held, "Installed")[0] == "True"
    assert scene.read(scene.objects["Deployment"]) is not None
    scene.cluster.api.call("DELETE", f"{things}/used")
    scene.until(CLUSTER_EXTENSIONS, "it is deleted", lambda found: scene.name not in found, COUNT_SECONDS)
    assert [path for path in scene.objects.values() if scene.read(path) is not None] == []


def test_what_a_package_requires_comes_and_goes_with_the_extension(scene: Scene) -> None:
    scene.create_namespace()
    needed = f"{scene.package}-needed"
    images = {each: {"1.0.0": push_bundle(scene, each, registry_bundle(each))} for each in (needed, scene.package)}
    blobs = package_blobs(scene.package, images[scene.package], [package_required(needed)])
    scene.repository().push_files(catalog_file(package_blobs(needed, images[needed]), blobs))
    scene.catalogs["test"] = scene.name
    scene.refer(scene.repository().reference)
    scene.serving_catalog()

    found = scene.install()
    scene.also_delete("Operator", needed)
    assert installed_bundle(found) == (f"{scene.package}.v1.0.0", "1.0.0")
    dependency = scene.cluster.api.call("GET", f"{OPERATORS}/{needed}")
    assert dependency["metadata"]["labels"] == {INSTALLED_FOR_LABEL: ""}
    assert installed_version(dependency) == "1.0.0"
    (entry,) = scene.cluster.api.call("GET", f"{OPERATORS}/{scene.name}")["status"]["dependencies"]
    assert (entry["package"], entry["operator"], entry["installed"]) == (needed, needed, True)
    scene.delete("ClusterExtension", scene.name)
    scene.until(OPERATORS, "the dependency is deleted", lambda found: needed not in found, COUNT_SECONDS)
    assert scene.read(f"{CRDS}/things.{group(needed)}") is None


def permissions(package: str, *more: Object) -> Object:
    """What an account needs to install a bundle of the package, but for its NetworkPolicy, and to uninstall it."""
    verbs = ["get", "list", "watch", "create", "update", "patch", "delete"]
    rules = {
        "": ["serviceaccounts", "configmaps"],
        "apps": ["deployments"],
        "apiextensions.k8s.io": ["customresourcedefinitions"],
        "rbac.authorization.k8s.io": ["clusterroles", "clusterrolebindings"],
        group(package): ["things"],
    }
    granted = [{"apiGroups": [each], "resources": names, "verbs": verbs} for each, names in rules.items()]
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": f"{package}-installer"},
        "rules": [*granted, *more],
    }


def bind(scene: Scene, account: str) -> None:
    """Bind the role of permissions() to an account of the namespace."""
    name = f"{scene.package}-installer"
    head = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": name}}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
    subject = {"kind": "ServiceAccount", "name": account, "namespace": scene.namespace}
    scene.put(BINDINGS, {**head, "roleRef": role, "subjects": [subject]})


def test_an_extension_is_installed_with_the_permissions_of_the_account_that_it_names(
    scene: Scene, suite: Suite
) -> None:
    scene.create_namespace()
    scene.cluster_catalog([Entry("1.0.0")])
    scene.cluster.kubectl("create", "serviceaccount", "installer", f"--namespace={scene.namespace}")
    with suite.with_flags("rukpak", "--require-service-account"):
        scene.apply(scene.extension(serviceAccount={"name": "installer"}))
        assert SERVICE_ACCOUNT_ANNOTATION in scene.reports("Progressing", "False", "Blocked")

        scene.put(ROLES, permissions(scene.package))
        bind(scene, "installer")
        scene.apply(annotated(scene.extension(), SERVICE_ACCOUNT_ANNOTATION, "installer"))
        scene.when(
            "the missing permission is named", lambda found: "networkpolicies" in triple(found, "Progressing")[2]
        )
        assert [path for path in scene.objects.values() if scene.read(path) is not None] == []
        policies = {"apiGroups": ["networking.k8s.io"], "resources": ["networkpolicies"], "verbs": ["*"]}
        scene.put(ROLES, permissions(scene.package, policies))
        scene.rolled_out("1.0.0")
        assert [kind for kind, path in scene.objects.items() if scene.read(path) is None] == []
        scene.delete("ClusterExtension", scene.name)
        assert [path for path in scene.objects.values() if scene.read(path) is not None] == []
