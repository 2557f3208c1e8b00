"""What users keep in the suite's namespaces is named, and stays with them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from devcluster.cluster import Cluster
from tests.cluster.olmctl.suite.conftest import INSTALL, Olm

NAMESPACE = "olm-suite-system"
REMOVE = ("suite", "uninstall", "--remove", "--yes")
STAYS = (
    "namespace/olm-suite-system stays, for what is not olm-suite's in it: configmap/certificates, secret/pull-secret. "
    "`kubectl delete namespace olm-suite-system` deletes it with them"
)


@pytest.fixture
def used(installed: None, bare_cluster: Cluster) -> Iterator[None]:
    """The suite is installed, and a user has a login and certificates for sources in its namespace."""
    bare_cluster.kubectl("create", "secret", "generic", "pull-secret", "-n", NAMESPACE)
    bare_cluster.kubectl("create", "configmap", "certificates", "-n", NAMESPACE)
    label = "app.kubernetes.io/part-of=olm-suite"  # as kustomize labels everything that it applies
    bare_cluster.kubectl("label", "secret/pull-secret", "configmap/certificates", label, "-n", NAMESPACE)
    lease = f'{{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{{"name":"rukpak","namespace":"{NAMESPACE}"}}}}'
    bare_cluster.kubectl("apply", "-f", "-", input=lease)
    yield
    bare_cluster.kubectl("delete", "namespace", NAMESPACE, "--ignore-not-found")


@pytest.mark.parametrize(("way", "is_installed_again"), [("--orphan", True), ("--remove", False)])
@pytest.mark.usefixtures("used")
def test_a_namespace_with_objects_of_users_stays_with_them_alone(
    way: str, is_installed_again: bool, olm: Olm, bare_cluster: Cluster
) -> None:
    status, out, _ = olm("suite", "uninstall", way, "--dry-run")
    assert (status, STAYS in out.splitlines()) == (0, True), out
    status, out, err = olm("suite", "uninstall", way, "--yes")
    assert (status, err.splitlines()[-1]) == (0, STAYS)
    assert "namespace/olm-suite-keys deleted" in out.splitlines()
    kinds = (
        "deployments,services,secrets,serviceaccounts,roles,rolebindings,networkpolicies,poddisruptionbudgets,leases"
    )
    shown = bare_cluster.kubectl("get", kinds, "-n", NAMESPACE, "-o", "name").split()
    assert shown == ["secret/pull-secret", "serviceaccount/default"]
    bare_cluster.kubectl("get", "configmap", "certificates", "-n", NAMESPACE)

    status, out, err = olm("suite", "uninstall", way, "--yes")
    assert (status, out, err.splitlines()[-1]) == (0, "", STAYS)
    assert "olm-suite is not installed: there is nothing to remove" in err
    if not is_installed_again:
        return
    assert olm(*INSTALL)[0] == 0
    bare_cluster.kubectl(
        "delete", "secret,configmap", "pull-secret", "certificates", "-n", NAMESPACE, "--ignore-not-found"
    )
    status, out, err = olm(*REMOVE)
    assert (status, f"namespace/{NAMESPACE} deleted" in out.splitlines()) == (0, True), err
