"""`olm suite status` says what runs, and what is not as it was installed. kwok executes no pod: only the tests hold Leases."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from devcluster.cluster import Cluster
from olmctl.suite.manifests import SYSTEM_NAMESPACE, load_manifests
from olmkit.api.label_policy import POLICY
from tests.cluster.conftest import await_allowed
from tests.cluster.olmctl.suite.conftest import UNGUARDED, Olm, guard_labels, is_installed
from tests.leaders import leaders

IN_NAMESPACE = ("-n", SYSTEM_NAMESPACE)
CONTROLLERS = {each["metadata"]["name"] for each in load_manifests().deployments}
VERSION = load_manifests().version
CRD = "operators.operators.operatorframework.io"


@pytest.fixture(autouse=True)
def guarded(installed: None, bare_cluster: Cluster) -> None:
    """The suite is installed, and rukpak has applied its policy."""
    guard_labels(bare_cluster)


@contextmanager
def changed(cluster: Cluster, *names: str, field: str = "spec") -> Iterator[None]:
    """A test changes this field of these objects of the suite; afterwards it is as before, and Deployments are available."""
    before = {each: json.loads(cluster.kubectl("get", each, *IN_NAMESPACE, "-o", "json"))[field] for each in names}
    try:
        yield
    finally:
        for each, value in before.items():
            patch = json.dumps([{"op": "replace", "path": f"/{field}", "value": value}])
            cluster.kubectl("patch", each, *IN_NAMESPACE, "--type=json", "-p", patch)
        for each in names:
            if each.startswith("deployment/"):
                cluster.kubectl("rollout", "status", each, *IN_NAMESPACE)


def rows(out: str) -> dict[tuple[str, str], dict[str, Any]]:
    """The objects by kind and name."""
    return {(each["kind"], each["name"]): each for each in json.loads(out)["objects"]}


def test_a_leader_is_who_renews_the_lease(olm: Olm, bare_cluster: Cluster) -> None:
    with leaders(bare_cluster):
        status, out, err = olm("suite", "status", "-o", "json")
        found = rows(out)["Deployment", "catalogd"]
        assert (status, err, found["leader"], found["status"], found["ready"]) == (
            0,
            "",
            "elsewhere",
            "Available",
            "2/2",
        )
        header = olm("suite", "status", "-o", "wide")[1].splitlines()[0].split()
        assert header == ["NAME", "NAMESPACE", "KIND", "STATUS", "VERSION", "READY", "LEADER", "IMAGE", "MESSAGE"]
    spec = {"holderIdentity": "rukpak-killed_1", "leaseDurationSeconds": 2, "renewTime": "2126-01-01T00:00:00.000000Z"}
    change = json.dumps({"spec": spec})
    bare_cluster.kubectl("patch", "lease", "rukpak", *IN_NAMESPACE, "--type=merge", "-p", change)
    status, out, err = olm("suite", "status", "-o", "json")
    found = rows(out)["Deployment", "rukpak"]
    assert (status, found["status"], "leader" in found) == (1, "NoLeader", False)
    assert err.splitlines() == [
        f"Deployment {each['metadata']['name']}: no replica leads: none renews its lease"
        for each in load_manifests().deployments
    ]


def test_the_policy_that_guards_the_labels_of_rukpak_is_shown(olm: Olm, bare_cluster: Cluster) -> None:
    with leaders(bare_cluster):
        status, out, err = olm("suite", "status", "-o", "json")
        assert (status, err) == (0, "")
        found = {name: row for (_, name), row in rows(out).items() if name.startswith(POLICY)}
        assert {name: (row["kind"], row["status"], row["message"]) for name, row in found.items()} == {
            POLICY: (
                "ValidatingAdmissionPolicy",
                "Installed",
                "guards the labels of rukpak on Namespaces and CustomResourceDefinitions",
            ),
            f"{POLICY}-deny": (
                "ValidatingAdmissionPolicyBinding",
                "Installed",
                "denies others a change of these labels",
            ),
            f"{POLICY}-warn": (
                "ValidatingAdmissionPolicyBinding",
                "Installed",
                "warns who creates an object with such a label",
            ),
        }
        assert [POLICY, "ValidatingAdmissionPolicy", "Installed"] in [
            line.split() for line in olm("suite", "status")[1].splitlines()
        ]
        bare_cluster.kubectl("delete", "validatingadmissionpolicybinding", f"{POLICY}-deny")
        status, out, err = olm("suite", "status", "-o", "json")
        assert (status, err, f"{POLICY}-deny" in out) == (0, UNGUARDED, False)


def test_what_is_scaled_to_zero_is_not_available(olm: Olm, bare_cluster: Cluster) -> None:
    with changed(bare_cluster, *(f"deployment/{name}" for name in sorted(CONTROLLERS))):
        bare_cluster.kubectl("scale", "deployment", "--all", *IN_NAMESPACE, "--replicas=0")
        status, out, err = olm("suite", "status", "-o", "json")
    shown = {(name, row["status"]) for (kind, name), row in rows(out).items() if kind == "Deployment"}
    assert (status, shown) == (1, {(name, "ScaledToZero") for name in CONTROLLERS})
    assert "Deployment rukpak: it is scaled to 0 replicas\n" in err


def test_the_image_is_shown_with_the_version_if_it_is_another(olm: Olm, bare_cluster: Cluster) -> None:
    with changed(bare_cluster, "deployment/rukpak"), leaders(bare_cluster):
        bare_cluster.kubectl("set", "image", "deployment/rukpak", *IN_NAMESPACE, "rukpak=example.com/suite:v9")
        bare_cluster.kubectl("rollout", "status", "deployment/rukpak", *IN_NAMESPACE)
        status, out, err = olm("suite", "status", "-o", "json")
    found = rows(out)
    assert (status, found["Deployment", "rukpak"]["version"], found["Deployment", "rukpak"]["leader"]) == (
        1,
        f"{VERSION} (image v9)",
        "elsewhere",
    )
    assert found["Deployment", "catalogd"]["version"] == VERSION
    assert "Deployment rukpak: its image example.com/suite:v9 is not that of the other controllers" in err


def test_permissions_and_crds_that_were_changed_are_named(olm: Olm, bare_cluster: Cluster) -> None:
    change = json.dumps([{"op": "replace", "path": "/rules", "value": []}])
    path = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/paused"
    with (
        changed(bare_cluster, "clusterrole/olm-suite-catalogd", field="rules"),
        changed(bare_cluster, f"crd/{CRD}"),
        leaders(bare_cluster),
    ):
        bare_cluster.kubectl("patch", "clusterrole", "olm-suite-catalogd", "--type=json", "-p", change)
        bare_cluster.kubectl("patch", "crd", CRD, "--type=json", "-p", json.dumps([{"op": "remove", "path": path}]))
        status, out, err = olm("suite", "status", "-o", "json")
    shown = {(kind, name) for (kind, name), row in rows(out).items() if row["status"] == "Differs"}
    assert (status, shown) == (
        1,
        {("ClusterRole", "olm-suite-catalogd"), ("CustomResourceDefinition", CRD)},
    )
    assert "ClusterRole olm-suite-catalogd: it is not that of this version: rules: install this version again\n" in err
    assert "openAPIV3Schema.properties.spec.properties.paused: install" in err


def test_what_people_adjust_is_named_and_good(olm: Olm, bare_cluster: Cluster) -> None:
    with changed(bare_cluster, "deployment/rukpak"), leaders(bare_cluster):
        bare_cluster.kubectl("scale", "deployment", "rukpak", *IN_NAMESPACE, "--replicas=2")
        bare_cluster.kubectl("rollout", "status", "deployment/rukpak", *IN_NAMESPACE)
        status, out, err = olm("suite", "status", "-o", "json")
    assert (status, err) == (0, "warning: deployment.apps/rukpak was changed on this cluster: spec.replicas\n")
    assert rows(out)["Deployment", "rukpak"]["message"] == "differs: spec.replicas"


def test_a_user_who_may_only_read_sees_the_status_without_the_comparison(olm: Olm, bare_cluster: Cluster) -> None:
    bare_cluster.kubectl("create", "clusterrole", "auditor", "--verb=get,list,watch", "--resource=*.*")
    bare_cluster.kubectl(
        "create", "clusterrolebinding", "auditor", "--clusterrole=auditor", "--serviceaccount=default:auditor"
    )
    try:
        await_allowed(bare_cluster, "default:auditor", verb="list", group="apps", resource="deployments")
        with leaders(bare_cluster):
            status, _, err = olm("suite", "status", "--as", "system:serviceaccount:default:auditor")
    finally:
        bare_cluster.kubectl("delete", "clusterrole,clusterrolebinding", "auditor")
    assert (status, err.startswith(f"warning: not all objects could be compared with those of {VERSION}: ")) == (
        0,
        True,
    ), err
    assert is_installed(olm)
