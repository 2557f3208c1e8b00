"""What must hold before `olm suite` changes anything: the user's permissions, and nothing that is still being deleted."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator

import pytest

from devcluster.cluster import Cluster
from devcluster.demo.full_catalog import catalog_object
from olmctl.suite.manifests import load_manifests
from olmctl.suite.objects import name_of
from olmctl.suite.v1_kinds import with_v1
from olmkit.api import catalogs
from tests.cluster.conftest import read_kind
from tests.cluster.olmctl.suite.conftest import INSTALL, Installation, Olm
from tests.leaders import leaders

NAMESPACE = "olm-suite-system"
USER = "clerk"
HOLD = "example.com/hold"
ORPHAN = ("suite", "uninstall", "--orphan", "--yes")
REMOVE = ("suite", "uninstall", "--remove", "--yes")


@pytest.fixture
def clerk(bare_cluster: Cluster) -> Iterator[str]:
    """A user who may do nothing but what grant() gives."""
    bare_cluster.kubectl("create", "clusterrole", USER, "--verb=get", "--resource=nodes")
    bare_cluster.kubectl("create", "clusterrolebinding", USER, f"--clusterrole={USER}", f"--user={USER}")
    try:
        yield USER
    finally:
        bare_cluster.kubectl("delete", "clusterrole,clusterrolebinding", USER)


def grant(cluster: Cluster, message: str) -> None:
    """Give the user exactly what the message names, and nothing else."""
    listed = re.fullmatch(r"the user may not (.*): this needs the permissions of cluster-admin\n", message)
    assert listed is not None, message
    rules = []
    for each in listed[1].split("; "):
        *verbs, resource = each.replace(",", "").split()
        plural, _, group = resource.partition(".")
        rules.append({"apiGroups": [group], "resources": [plural], "verbs": verbs})
    patch = json.dumps([{"op": "replace", "path": "/rules", "value": rules}])
    cluster.kubectl("patch", "clusterrole", USER, "--type=json", "-p", patch)


@pytest.fixture
def absent(olm: Olm) -> None:
    """Nothing is left of the suite."""
    assert olm(*REMOVE)[0] == 0


@pytest.mark.parametrize(
    ("before", "command"),
    [
        pytest.param("absent", INSTALL, id="an installation"),
        pytest.param("present", (*INSTALL, "--force", "--image", "olm-suite:next"), id="an update"),
        pytest.param("present", ORPHAN, id="a removal of the controllers"),
        pytest.param("present", REMOVE, id="a removal of everything"),
    ],
)
def test_the_permissions_that_a_refusal_names_are_enough(
    before: str, command: tuple[str, ...], olm: Olm, bare_cluster: Cluster, clerk: str, request: pytest.FixtureRequest
) -> None:
    request.getfixturevalue(before)
    found = bare_cluster.kubectl("get", "crds,namespaces,clusterroles,deployments", "-A", "-o", "name")
    status, out, err = olm(*command, "--as", clerk)
    assert (status, out) == (5, ""), err
    assert bare_cluster.kubectl("get", "crds,namespaces,clusterroles,deployments", "-A", "-o", "name") == found
    grant(bare_cluster, err)
    for _ in range(20):  # until the API server has read the role, nothing is permitted
        status, out, err = olm(*command, "--as", clerk)
        if status != 5 or "the user may not" not in err:
            break
    assert (status, bool(out)) == (0, True), err


@pytest.fixture
def terminating(olm: Olm, bare_cluster: Cluster) -> Iterator[str]:
    """The namespace of the suite is being deleted, and a ConfigMap holds it."""
    olm(*REMOVE)
    bare_cluster.kubectl("create", "namespace", NAMESPACE)
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "held", "finalizers": [HOLD]}}
    bare_cluster.kubectl("apply", "-n", NAMESPACE, "-f", "-", input=json.dumps(body))
    bare_cluster.kubectl("delete", "namespace", NAMESPACE, "--wait=false")
    try:
        yield f"namespace/{NAMESPACE}"
    finally:
        if bare_cluster.kubectl("get", "configmap", "held", "-n", NAMESPACE, "--ignore-not-found"):
            release(bare_cluster, "configmap", "held", "-n", NAMESPACE)


def release(cluster: Cluster, *what: str) -> None:
    """What it holds can end."""
    cluster.kubectl("patch", *what, "--type=merge", "-p", '{"metadata":{"finalizers":null}}')


def test_nothing_is_installed_into_a_namespace_that_is_being_deleted(
    olm: Olm, bare_cluster: Cluster, terminating: str, installation: Installation
) -> None:
    status, out, err = olm(*INSTALL, "--timeout", "3s")
    assert (status, out) == (4, ""), err
    assert err.splitlines()[-1].startswith(f"nothing is installed: not deleted within 3 seconds: {terminating}: ")
    assert "operatorframework.io" not in bare_cluster.kubectl("get", "crds", "-o", "name")
    install_while(bare_cluster, terminating, ("configmap", "held", "-n", NAMESPACE))
    installation.is_there = True


@pytest.mark.usefixtures("present")
def test_a_crd_that_is_being_deleted_is_awaited(bare_cluster: Cluster) -> None:
    catalog = catalog_object("held", "quay.io/example/catalog:latest", "1h")
    catalog["metadata"]["finalizers"] = [HOLD]
    bare_cluster.kubectl("apply", "-f", "-", input=json.dumps(catalog))
    crd = "catalogs.catalogd.operatorframework.io"
    read_kind(bare_cluster, catalogs.KIND.path())
    bare_cluster.kubectl("delete", "crd", crd, "--wait=false")
    install_while(bare_cluster, f"customresourcedefinition.apiextensions.k8s.io/{crd}", (crd, "held"))


def install_while(cluster: Cluster, what: str, holding: tuple[str, ...]) -> None:
    """`olm suite install` waits for the end of `what`, which begins only then, and installs everything."""
    command = [sys.executable, "-m", "olmctl", *INSTALL, "--kubeconfig", str(cluster.kubeconfig)]
    with (
        leaders(cluster, are_awaited=False),
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process,
    ):
        assert process.stderr is not None
        assert process.stdout is not None
        assert process.stderr.readline().startswith(f"waiting for the deletion of {what}")
        release(cluster, *holding)
        out, err = process.communicate()
    names = [name_of(each) for each in with_v1(load_manifests()).all]
    assert (process.returncode, [line.split()[0] for line in out.splitlines()[: len(names)]]) == (0, names), err
