"""`olm suite uninstall` with real controllers, without them, and interrupted. The tests run in this order."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

import pytest

from devcluster.cluster import Cluster
from devcluster.demo.full_catalog import catalog_object
from devcluster.demo.sample_catalog import SAMPLES
from devcluster.images import Catalog, Content, Registry
from devcluster.suite import Suite
from olmctl.suite.manifests import load_manifests
from olmctl.suite.objects import name_of
from olmctl.suite.v1_kinds import with_v1
from tests.cluster.olmctl.suite.conftest import INSTALL, Olm

OPERATORS = "operators.operators.operatorframework.io"
PACKAGE, DEPENDENCY = "party-operator", "hello-operator"
NOTHING = "olm-suite is not installed: there is nothing to remove"
REMOVE = ("suite", "uninstall", "--remove", "--yes")
ORPHAN = ("suite", "uninstall", "--orphan", "--yes")
FOREIGN = "example.com/mine"


@pytest.fixture
def installed(olm: Olm) -> None:
    """The suite is installed."""
    assert olm(*INSTALL, "--force")[0] == 0


@pytest.fixture
def controllers(bare_cluster: Cluster, installed: None) -> Iterator[Suite]:
    """The controllers as processes: kwok executes no pod."""
    with Suite(bare_cluster) as suite:
        suite.start()
        yield suite


@pytest.fixture
def operator(bare_cluster: Cluster, controllers: Suite, olm: Olm) -> str:
    """An Operator of a package that requires another one, installed from a Catalog."""
    repository = Catalog(Registry(bare_cluster.registry), "catalogs/samples:latest", bare_cluster.registry)
    repository.push(Content(SAMPLES / "catalog", SAMPLES / "bundles"))
    made = json.dumps(catalog_object("samples", repository.reference, "10m"))
    bare_cluster.kubectl("apply", "-f", "-", input=made)
    bare_cluster.kubectl("wait", "--for=condition=Ready", "--timeout=60s", "-f", "-", input=made)
    status, _, err = olm("install", PACKAGE, "--wait")
    assert status == 0, err
    return PACKAGE


def left(cluster: Cluster) -> set[str]:
    """The objects of the suite that exist."""
    names = set()
    for each in with_v1(load_manifests()).all:
        place = [f"--namespace={each['metadata']['namespace']}"] if "namespace" in each["metadata"] else []
        if cluster.kubectl("get", name_of(each), *place, "--ignore-not-found", "-o", "name"):
            names.add(name_of(each))
    return names


def deployments(cluster: Cluster) -> set[str]:
    """The names of all Deployments."""
    found = json.loads(cluster.kubectl("get", "deployments", "--all-namespaces", "-o", "json"))["items"]
    return {each["metadata"]["name"] for each in found}


def terminating(cluster: Cluster) -> list[str]:
    """The namespaces and CRDs that are being deleted."""
    found = json.loads(cluster.kubectl("get", "namespaces,crds", "-o", "json"))["items"]
    return [each["metadata"]["name"] for each in found if "deletionTimestamp" in each["metadata"]]


def test_remove_deletes_operators_first_and_leaves_nothing(olm: Olm, bare_cluster: Cluster, operator: str) -> None:
    assert {operator, DEPENDENCY} <= deployments(bare_cluster)
    metadata = {"name": "of-a-user", "namespace": "default"}
    greeting = {"apiVersion": "hello.example.com/v1alpha1", "kind": "Greeting", "metadata": metadata}
    bare_cluster.kubectl("apply", "-f", "-", input=json.dumps(greeting))
    status, out, err = olm(*REMOVE)
    assert (status, left(bare_cluster), terminating(bare_cluster)) == (0, set(), []), err
    assert "CUSTOM RESOURCES AND NAMESPACES.\n  1 greetings.hello.example.com\n" in err
    assert not {operator, DEPENDENCY} & deployments(bare_cluster)
    lines = out.splitlines()
    assert {f"operator.{OPERATORS.partition('.')[2]}/{name} deleted" for name in (operator, DEPENDENCY)} <= set(lines)
    catalog, crd, controller = (
        lines.index(f"{name} deleted")
        for name in (
            "catalog.catalogd.operatorframework.io/samples",
            f"customresourcedefinition.apiextensions.k8s.io/{OPERATORS}",
            "deployment.apps/rukpak",
        )
    )
    assert catalog < crd < controller
    assert f"  2 Operators: {DEPENDENCY}, {operator}\n" in err
    assert olm(*REMOVE) == (0, "", f"{NOTHING}\n")
    assert olm(*ORPHAN) == (0, "", f"{NOTHING}\n")


def test_orphan_keeps_what_is_installed(olm: Olm, bare_cluster: Cluster, operator: str) -> None:
    status, _, err = olm(*ORPHAN)
    crds = {name_of(each) for each in with_v1(load_manifests()).crds}
    assert (status, left(bare_cluster), terminating(bare_cluster)) == (0, crds, []), err
    assert {operator, DEPENDENCY} <= deployments(bare_cluster)
    assert bare_cluster.kubectl("get", OPERATORS, "-o", "name").split() == [
        f"operator.{OPERATORS.partition('.')[2]}/{name}" for name in (DEPENDENCY, operator)
    ]
    assert olm(*ORPHAN) == (0, "", f"{NOTHING}. 7 CRDs stay: --remove deletes them\n")


def test_without_controllers_only_own_finalizers_are_removed_and_only_by_force(olm: Olm, bare_cluster: Cluster) -> None:
    """The Operators are those that the test before has left."""
    patch = json.dumps([{"op": "add", "path": "/metadata/finalizers/-", "value": FOREIGN}])
    bare_cluster.kubectl("patch", OPERATORS, DEPENDENCY, "--type=json", "-p", patch)
    status, _, err = olm(*REMOVE)
    assert (status, "operator-controller and rukpak do not run" in err) == (5, True), err
    assert "deletionTimestamp" not in bare_cluster.kubectl("get", OPERATORS, "-o", "yaml")
    status, _, err = olm(*REMOVE, "--force", "--timeout", "12s")
    assert (status, err.splitlines()[-1].partition(": ")[0]) == (
        4,
        f"operator.{OPERATORS.partition('.')[2]}/{DEPENDENCY}",
    )
    assert err.endswith(f"finalizers {FOREIGN}\n")
    patch = json.dumps([{"op": "remove", "path": "/metadata/finalizers"}])
    bare_cluster.kubectl("patch", OPERATORS, DEPENDENCY, "--type=json", "-p", patch)
    status, _, err = olm(*REMOVE, "--force")
    assert (status, left(bare_cluster), terminating(bare_cluster)) == (0, set(), []), err
    assert "its objects stay: those with the label core.rukpak.io/owner-uid=" in err
    assert {PACKAGE, DEPENDENCY} <= deployments(bare_cluster)


@pytest.mark.usefixtures("installed")
def test_a_removal_that_is_killed_is_completed_by_the_next_one(olm: Olm, bare_cluster: Cluster) -> None:
    command = [sys.executable, "-m", "olmctl", *REMOVE, "--kubeconfig", str(bare_cluster.kubeconfig)]
    for lines in (1, 3, 5):
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
            assert process.stdout is not None
            for _ in range(lines):
                process.stdout.readline()
            process.kill()
    status, _, err = olm(*REMOVE)
    assert (status, left(bare_cluster), terminating(bare_cluster)) == (0, set(), []), err
    assert olm(*REMOVE) == (0, "", f"{NOTHING}\n")
