"""`olm suite install` and `olm suite status` on a cluster without the suite. The tests run in this order."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from devcluster.cluster import Cluster
from olmctl.suite.manifests import SYSTEM_NAMESPACE, load_manifests
from olmctl.suite.objects import name_of
from olmctl.suite.running import NO_LEADER
from olmctl.suite.v1_kinds import with_v1
from olmkit.api.crd import operator_condition_definition
from olmkit.api.package_manifests import package_manifest_objects
from olmkit.runtime.client import Client
from tests.cluster.olmctl.suite.conftest import INSTALL, UNGUARDED, Olm, is_installed
from tests.leaders import leader_of_olm_v1, leaders

CONTROLLERS = {"catalogd", "rukpak", "operator-controller"}
IMAGE = "registry.example.com/olm-suite:v9"
IMAGE_OF_VERSION = f"registry.example.com/olm-suite:{load_manifests().version}"
NAMES = [name_of(each) for each in with_v1(load_manifests()).all]


def images(cluster: Cluster) -> set[str]:
    """The images of the controllers on the cluster."""
    found = json.loads(cluster.kubectl("get", "deployments", "-n", SYSTEM_NAMESPACE, "-o", "json"))["items"]
    return {each["spec"]["template"]["spec"]["containers"][0]["image"] for each in found}


@pytest.fixture
def cordoned(bare_cluster: Cluster) -> Iterator[None]:
    """No node accepts pods."""
    bare_cluster.kubectl("cordon", "--selector=kubernetes.io/os=linux")
    yield
    bare_cluster.kubectl("uncordon", "--selector=kubernetes.io/os=linux")


def test_the_manifests_are_printed_without_a_cluster(olm: Olm) -> None:
    status, out, _ = olm("suite", "install", "--export", "--image", IMAGE)
    printed = list(yaml.safe_load_all(out))
    assert (status, printed) == (0, list(load_manifests(IMAGE).all))
    _, out, _ = olm("suite", "install", "--export", "--image", IMAGE, "--with-operator-conditions")
    more = [each for each in yaml.safe_load_all(out) if each not in printed]
    assert more == [operator_condition_definition()]
    _, out, _ = olm("suite", "install", "--export", "--image", IMAGE, "--packagemanifests")
    assert [each for each in yaml.safe_load_all(out) if each not in printed] == package_manifest_objects(
        SYSTEM_NAMESPACE
    )
    _, out, _ = olm("suite", "install", "--export", "--image", IMAGE, "--serve-v1", "Always")
    manifests = load_manifests(IMAGE)
    assert [each for each in yaml.safe_load_all(out) if each not in printed] == [*manifests.v1_crds, *manifests.v1]


@pytest.fixture
def removed(olm: Olm) -> None:
    """Nothing is left of the suite that tests of another file have installed."""
    status, _, err = olm("suite", "uninstall", "--remove", "--yes")
    assert status == 0, err


@pytest.mark.usefixtures("removed")
def test_a_cluster_without_the_suite(olm: Olm, bare_cluster: Cluster) -> None:
    assert olm("suite", "status") == (
        3,
        "",
        "olm-suite is not installed: `olm suite install --image IMAGE` installs it\n",
    )
    status, out, _ = olm("suite", "status", "-o", "json")
    assert (status, {each["status"] for each in json.loads(out)["objects"]}) == (3, {"Missing"})
    status, out, _ = olm(*INSTALL, "--dry-run")
    assert (status, out.splitlines()) == (0, [f"{name} created (dry run)" for name in NAMES])
    assert SYSTEM_NAMESPACE not in bare_cluster.kubectl("get", "namespaces", "-o", "name")


def test_a_user_without_the_permissions_changes_nothing(olm: Olm, bare_cluster: Cluster) -> None:
    status, out, err = olm(*INSTALL, "--as", "someone")
    assert (status, out) == (5, "")
    assert err.startswith(
        "the user may not get, list, watch, create, patch customresourcedefinitions.apiextensions.k8s.io; "
    )
    assert "escalate, bind, delete clusterroles.rbac.authorization.k8s.io" in err
    assert err.endswith(": this needs the permissions of cluster-admin\n")
    assert SYSTEM_NAMESPACE not in bare_cluster.kubectl("get", "namespaces", "-o", "name")


@pytest.mark.usefixtures("cordoned")
def test_pods_that_do_not_run_are_named_with_the_cause(olm: Olm) -> None:
    with pytest.raises(SystemExit, match="2"):
        olm("suite", "install")
    status, out, err = olm(*INSTALL, "--timeout", "20s")
    assert (status, out.splitlines()) == (4, [f"{name} created" for name in NAMES])
    assert err.splitlines()[-1].startswith("not within 20 seconds: deployment.apps/catalogd: pod catalogd-")
    assert "node(s) were unschedulable" in err
    status, out, err = olm("suite", "status")
    shown = {line.split()[3] for line in out.splitlines() if "Deployment" in line.split()}
    assert (status, shown) == (1, {"Progressing"})
    assert "Deployment rukpak: pod rukpak-" in err


def test_controllers_without_a_leader_are_not_reported_as_available(olm: Olm) -> None:
    status, out, err = olm("suite", "install", has_leaders=False)
    shown = {line.split()[3] for line in out.splitlines() if "Deployment" in line.split()}
    assert (status, shown) == (1, {"NoLeader"})
    assert err.splitlines() == [
        f"Deployment {each['metadata']['name']}: {NO_LEADER}" for each in load_manifests().deployments
    ]
    assert olm("suite", "status")[:2] == (status, out[out.index("NAME ") :])


@pytest.fixture
def applied(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths of what commands apply, and do not only have checked."""
    paths: list[str] = []
    request = Client.request

    async def recorded(client: Client, method: str, path: str, **options: Any) -> dict[str, Any]:
        if method == "PATCH" and not (options.get("query") or {}).get("dryRun") and "/leases/" not in path:
            paths.append(path)
        return await request(client, method, path, **options)

    monkeypatch.setattr(Client, "request", recorded)
    return paths


def test_an_interrupted_installation_is_completed(olm: Olm, bare_cluster: Cluster, applied: list[str]) -> None:
    status, out, _ = olm("suite", "install")
    lines = out.splitlines()
    assert (status, lines[: len(NAMES)], applied) == (0, [f"{name} unchanged" for name in NAMES], [])
    assert lines[len(NAMES)].split() == ["NAME", "NAMESPACE", "KIND", "STATUS", "VERSION"]
    version = load_manifests().version
    rows = [line.split() for line in lines[len(NAMES) + 1 :]]
    assert [row for row in rows if "Deployment" in row] == [
        [name, SYSTEM_NAMESPACE, "Deployment", "Available", version]
        for name in ("catalogd", "rukpak", "operator-controller")
    ]
    assert len(rows) == len([name for name in NAMES if not name.startswith("secret/")])
    with leaders(bare_cluster):
        status, shown, err = olm("suite", "status")
    assert (status, shown.splitlines(), err) == (0, lines[len(NAMES) :], UNGUARDED)


def test_another_image_is_rolled_out(olm: Olm, bare_cluster: Cluster) -> None:
    status, out, err = olm("suite", "install", "--image", IMAGE)
    assert f"image {load_manifests().image} -> {IMAGE} (catalogd, operator-controller, rukpak)\n" in err
    changed = {line.split()[0] for line in out.splitlines() if line.endswith(" configured")}
    assert (status, changed) == (0, {f"deployment.apps/{name}" for name in CONTROLLERS})
    assert images(bare_cluster) == {IMAGE}
    status, out, err = olm("suite", "install")
    assert (status, {line.split()[1] for line in out.splitlines()[: len(NAMES)]}) == (0, {"unchanged"}), err
    assert images(bare_cluster) == {IMAGE}
    status, out, _ = olm("suite", "status", "-o", "yaml")
    rows = yaml.safe_load(out)["objects"]
    assert {row["name"]: row["image"] for row in rows if row["kind"] == "Deployment"} == dict.fromkeys(
        CONTROLLERS, IMAGE
    )


def test_fields_of_others_are_taken_over_only_by_force(olm: Olm, bare_cluster: Cluster) -> None:
    bare_cluster.kubectl("scale", "deployment", "rukpak", "-n", SYSTEM_NAMESPACE, "--replicas=3")
    status, out, err = olm("suite", "install", "--image", IMAGE)
    assert (status, out) == (5, "")
    assert err.startswith("deployment.apps/rukpak: ")
    assert ".spec.replicas" in err
    assert err.endswith("change it where it is managed, or take these fields over with --force\n")
    status, out, _ = olm("suite", "install", "--image", IMAGE, "--force", "--no-wait")
    assert (status, len(out.splitlines())) == (0, len(NAMES))
    assert "deployment.apps/rukpak configured" in out


def test_objects_that_kubectl_applied_are_installed_without_a_conflict(
    olm: Olm, bare_cluster: Cluster, applied: list[str]
) -> None:
    """The API server completes some parts with defaults, and compares them as a whole: the manifests have them in full."""
    role = "olm-suite-rukpak"
    bare_cluster.kubectl("delete", "clusterrole", role)
    status, manifests, _ = olm("suite", "install", "--export", "--image", IMAGE, "--serve-v1=Always")
    bare_cluster.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", input=manifests)
    status, out, err = olm("suite", "install", "--image", IMAGE, "--no-wait")
    assert (status, {line.split()[1] for line in out.splitlines()}) == (0, {"unchanged"}), err
    assert applied == [f"/apis/rbac.authorization.k8s.io/v1/clusterroles/{role}"], (
        "the others are managed by olm already"
    )


def test_the_login_of_the_image_is_kept(olm: Olm, bare_cluster: Cluster) -> None:
    path = ("-o", "jsonpath={.items[*].spec.template.spec.imagePullSecrets[*].name}")
    for flags in (("--image-pull-secret", "ghcr"), ()):
        status, out, err = olm("suite", "install", "--force", "--no-wait", *flags)
        assert (status, "deployment.apps/rukpak configured" in out) == (0, bool(flags)), err
        assert bare_cluster.kubectl("get", "deployments", "-n", SYSTEM_NAMESPACE, *path) == "ghcr ghcr ghcr"


def test_objects_in_a_namespace_that_is_not_of_the_suite_are_checked_before_anything_is_changed(
    olm: Olm, bare_cluster: Cluster
) -> None:
    status, out, _ = olm("suite", "install", "--force", "--dry-run")
    assert (status, {line.split()[1] for line in out.splitlines()}) == (0, {"unchanged"})
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": "olm-suite-operator-controller-events", "namespace": "default"},
        "rules": [],
    }
    flags = ("--server-side", "--field-manager=security-team", "--force-conflicts")
    bare_cluster.kubectl("apply", *flags, "-f", "-", input=json.dumps(role))
    status, out, err = olm("suite", "install")
    assert (status, out, ".rules" in err) == (5, "", True), err
    assert olm("suite", "install", "--force", "--no-wait")[0] == 0


def test_the_crd_of_operator_conditions_is_installed_on_request(olm: Olm, bare_cluster: Cluster) -> None:
    definition = operator_condition_definition()
    name, name_here = definition["metadata"]["name"], name_of(definition)
    again = ("suite", "install", "--force", "--no-wait")
    theirs = {**definition, "metadata": {"name": name}}
    bare_cluster.kubectl("create", "-f", "-", input=json.dumps(theirs))
    status, out, err = olm(*again, "--with-operator-conditions")
    assert (status, name_here in out) == (0, False)
    assert f"warning: {name_here} stays as it is: it is not olm-suite's, and rukpak uses it\n" in err
    bare_cluster.kubectl("delete", "crd", name)
    assert f"{name_here} created\n" in olm(*again, "--with-operator-conditions")[1]
    assert f"{name_here} unchanged\n" in olm(*again)[1]
    shown = json.loads(olm("suite", "status", "-o", "json")[1])["objects"]
    assert [each["status"] for each in shown if each["name"] == name] == ["Established"]
    bare_cluster.kubectl("delete", "crd", name)


def test_the_api_of_package_manifests_is_installed_on_request_unless_others_have_it(
    olm: Olm, bare_cluster: Cluster
) -> None:
    api = package_manifest_objects(SYSTEM_NAMESPACE)[-1]
    name, name_here = api["metadata"]["name"], name_of(api)
    again = ("suite", "install", "--force", "--no-wait")
    service = {"name": "packageserver-service", "namespace": "olm", "port": 5443}
    theirs = {**api, "metadata": {"name": name}, "spec": {**api["spec"], "service": service}}
    bare_cluster.kubectl("create", "-f", "-", input=json.dumps(theirs))
    try:
        status, out, err = olm(*again, "--packagemanifests")
        text = f"{name_here} is not olm-suite's: it leads to the Service olm/packageserver-service. If that is OLM v0's"
        assert (status, out, err.startswith(text)) == (5, "", True), err
        assert name_here not in olm(*again)[1]
        bare_cluster.kubectl("delete", "apiservice", name)
        authenticated = [{"op": "add", "path": "/spec/template/spec/containers/0/args/-", "value": FLAG}]
        patch = (
            "patch",
            "deployment",
            "catalogd",
            "-n",
            SYSTEM_NAMESPACE,
            "--type=json",
            "-p",
            json.dumps(authenticated),
        )
        bare_cluster.kubectl(*patch)
        status, out, err = olm(*again, "--packagemanifests")
        assert (status, out, f"catalogd runs with {FLAG}, and the API server" in err) == (5, "", True), err
        assert olm(*again)[0] == 0
        assert f"{name_here} created\n" in olm(*again, "--packagemanifests")[1]
        assert f"{name_here} unchanged\n" in olm(*again)[1], "it is the suite's from then on"
        shown = json.loads(olm("suite", "status", "-o", "json")[1])["objects"]
        assert [each["status"] for each in shown if each["name"] == name] == ["NotAvailable"]
    finally:
        bare_cluster.kubectl("delete", "apiservice", name, "--ignore-not-found")


def v1_names(output: str) -> set[str]:
    """The lines of an installation about the kinds of OLM v1."""
    names = {name_of(each) for each in (*load_manifests().v1_crds, *load_manifests().v1)}
    return {line for line in output.splitlines() if line.split()[0] in names}


def test_the_kinds_of_olm_v1_are_served_unless_olm_v1_has_them(olm: Olm, bare_cluster: Cluster) -> None:
    manifests = load_manifests()
    crds, objects = ([name_of(each) for each in some] for some in (manifests.v1_crds, manifests.v1))
    again = ("suite", "install", "--force", "--no-wait")
    bare_cluster.kubectl("create", "namespace", "olmv1-system")
    status, out, err = olm(*again, "--serve-v1=Never")
    assert (status, v1_names(out)) == (0, {f"{name} deleted" for name in objects}), err
    assert "the CRDs of ClusterCatalog and ClusterExtension stay, because their objects would be" in err
    shown = [each["name"] for each in json.loads(olm("suite", "status", "-o", "json")[1])["objects"]]
    assert {each["metadata"]["name"] for each in manifests.v1_crds} < set(shown)
    assert "catalogd-service" not in shown

    theirs = {"app.kubernetes.io/part-of": None, "app.kubernetes.io/version": None}
    patch = json.dumps(
        {"metadata": {"labels": theirs, "annotations": {"olm.operatorframework.io/generator": "standard"}}}
    )
    for name in crds:
        bare_cluster.kubectl("patch", name, "--type=merge", "-p", patch)
    status, out, err = olm(*again, "--dry-run")
    assert (status, v1_names(out), "are OLM v1's: --serve-v1=Always takes them over" in err) == (0, set(), True), err
    status, out, err = olm("suite", "install", "--no-wait", "--serve-v1=Always")
    assert (status, {line.split()[0] for line in v1_names(out)}) == (0, {*crds, *objects}), err
    for name in crds:
        metadata = json.loads(bare_cluster.kubectl("get", name, "-o", "json"))["metadata"]
        assert (metadata["labels"]["app.kubernetes.io/part-of"], metadata.get("annotations")) == ("olm-suite", None)
    bare_cluster.kubectl("get", "-n", "olmv1-system", "secret/catalogd-service-ca", "role/olm-suite-v1-catalogd-ca")
    bare_cluster.kubectl("delete", "namespace", "olmv1-system")


def test_while_olm_v1_leads_its_kinds_are_left_to_it(olm: Olm, bare_cluster: Cluster) -> None:
    """OLM v1 is where its account has its permission: a Lease elsewhere is a tenant's."""
    again = ("suite", "install", "--force", "--no-wait")
    renewed = "Lease default/catalogd-operator-lock is renewed by catalogd-7c9"
    with leader_of_olm_v1(bare_cluster, has_permission=False):
        status, out, err = olm(*again, "--dry-run")
        assert (status, bool(v1_names(out)), "are left to OLM v1" in err) == (0, True, False), err
    with leader_of_olm_v1(bare_cluster):
        status, out, err = olm(*again, "--serve-v1=Always")
        text = f"--serve-v1=Always: {renewed}: stop the controllers of OLM v1 first\n"
        assert (status, out, err) == (5, "", text)
        status, out, err = olm(*again, "--dry-run")
        text = f"ClusterCatalog and ClusterExtension are left to OLM v1: {renewed}\n"
        assert (status, v1_names(out), text in err) == (0, set(), True), err
        text = f"warning: ClusterCatalogs and ClusterExtensions are left to OLM v1: {renewed}\n"
        assert text in olm("suite", "status")[2]


FLAG = "--authenticate-requests"
VERSION = load_manifests().version
CRD = "packages.catalogd.operatorframework.io"


def label_controllers(cluster: Cluster, version: str) -> None:
    """Make the controllers those of another version."""
    flags = ("-n", SYSTEM_NAMESPACE, "--overwrite", "--all", f"app.kubernetes.io/version={version}")
    cluster.kubectl("label", "deployments", *flags)


def service(name: str) -> str:
    """A Service of an older version."""
    labels = {"app.kubernetes.io/part-of": "olm-suite", "app.kubernetes.io/version": "v0.0.1"}
    metadata = {"name": name, "namespace": SYSTEM_NAMESPACE, "labels": labels}
    return json.dumps({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"ports": [{"port": 1}]}})


def copy_of(original: str) -> str:
    """A patch with the managedFields of an original, for a copy that is younger."""
    entries = json.loads(original)["metadata"]["managedFields"]
    return json.dumps({"metadata": {"managedFields": [{**each, "time": "2026-01-01T00:00:00Z"} for each in entries]}})


def test_an_older_suite_is_upgraded_and_what_it_had_is_deleted(olm: Olm, bare_cluster: Cluster) -> None:
    label_controllers(bare_cluster, "v0.0.1")
    for name, manager in (("leftover", "olm"), ("of-a-person", "kubectl")):
        bare_cluster.kubectl("apply", "--server-side", f"--field-manager={manager}", "-f", "-", input=service(name))
    ask = ("get", "service", "leftover", "-n", SYSTEM_NAMESPACE, "-o", "json", "--show-managed-fields")
    bare_cluster.kubectl("create", "-f", "-", input=service("copied"))
    patch = f"--patch={copy_of(bare_cluster.kubectl(*ask))}"
    bare_cluster.kubectl("patch", "service", "copied", "-n", SYSTEM_NAMESPACE, "--type=merge", patch)
    status, out, err = olm("suite", "install", "--force", "--no-wait")
    assert f"image {IMAGE} -> {IMAGE_OF_VERSION} (catalogd, operator-controller, rukpak)\n" in err
    assert images(bare_cluster) == {IMAGE_OF_VERSION}
    text = "controllers of another version may still need service/leftover: `olm suite install` deletes them when"
    assert (status, "deleted" in out, text in err) == (0, False, True), err
    label_controllers(bare_cluster, "v0.0.1")
    status, out, err = olm("suite", "install", "--force")
    assert (status, err.splitlines()[0]) == (0, f"olm-suite v0.0.1 is replaced with {VERSION}")
    assert [line for line in out.splitlines() if line.endswith(" deleted")] == ["service/leftover deleted"]
    services = bare_cluster.kubectl("get", "services", "-n", SYSTEM_NAMESPACE, "-o", "name").split()
    assert set(services) == {
        f"service/{name}"
        for name in (
            "catalogd-catalogserver",
            "catalogd-service",
            "operator-controller",
            "rukpak",
            "of-a-person",
            "copied",
        )
    }
    bare_cluster.kubectl("delete", "service", "of-a-person", "copied", "-n", SYSTEM_NAMESPACE)


def test_a_newer_suite_is_replaced_only_by_force(olm: Olm, bare_cluster: Cluster) -> None:
    label_controllers(bare_cluster, "v9.0.0")
    status, out, err = olm("suite", "install")
    assert (status, out) == (5, "")
    warning = (
        f"warning: the cluster has v9.0.0, this command is of {VERSION}: use the command olm of the newest version\n"
    )
    assert warning in olm("suite", "status")[2]
    assert err.startswith(f"olm-suite v9.0.0 is installed, and this command would replace it with {VERSION}: use ")
    assert olm("suite", "install", "--force")[0] == 0


def test_a_second_suite_is_refused(olm: Olm) -> None:
    status, out, err = olm("suite", "install", "--system-namespace", "second")
    assert (status, out) == (5, "")
    assert f"is installed in the namespace {SYSTEM_NAMESPACE}, and a cluster has one" in err


def test_a_version_in_which_objects_are_stored_is_not_dropped(olm: Olm, bare_cluster: Cluster) -> None:
    crd = json.loads(bare_cluster.kubectl("get", "crd", CRD, "-o", "json"))
    older = {**crd["spec"]["versions"][0], "name": "v1alpha0", "storage": False}
    change = json.dumps([{"op": "add", "path": "/spec/versions/-", "value": older}])
    bare_cluster.kubectl("patch", "crd", CRD, "--type=json", "-p", change)
    for stored, expected in ((["v1alpha0", "v1alpha1"], 1), (["v1alpha1"], 0)):
        change = json.dumps({"status": {"storedVersions": stored}})
        bare_cluster.kubectl("patch", "crd", CRD, "--type=merge", "--subresource=status", "-p", change)
        status, out, err = olm("suite", "install", "--force")
        assert (status, "objects are stored in v1alpha0, which" in err) == (expected, bool(expected))
        assert bool(out) != bool(expected)


def test_what_is_missing_is_named(olm: Olm, bare_cluster: Cluster) -> None:
    bare_cluster.kubectl("delete", "clusterrole", "olm-suite-rukpak")
    bare_cluster.kubectl(
        *("label", "deployment", "catalogd", "-n", SYSTEM_NAMESPACE, "--overwrite", "app.kubernetes.io/version=v0.0.1")
    )
    status, out, err = olm("suite", "status")
    (row,) = [line.split() for line in out.splitlines() if line.split()[:2] == ["olm-suite-rukpak", "ClusterRole"]]
    assert (status, row[-1]) == (3, "Missing")
    assert "ClusterRole olm-suite-rukpak: it does not exist\n" in err
    version = load_manifests().version
    assert (
        f"warning: the cluster has v0.0.1, {version}, this command is of {version}: `olm suite install` upgrades it"
        in err
    )
    assert olm("suite", "install", "--force")[0] == 0
    assert is_installed(olm)
