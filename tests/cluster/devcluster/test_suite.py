"""Installing the suite's definitions and accounts from config/."""

import json

import pytest

from devcluster.cluster import Cluster
from devcluster.suite import NAMESPACE, PACKAGES, Suite


@pytest.fixture
def installed(cluster: Cluster) -> Cluster:
    Suite(cluster).install()
    return cluster


def test_each_controller_has_an_account_that_can_get_a_token(installed: Cluster) -> None:
    for name in PACKAGES:
        who = json.loads(
            installed.kubectl(
                f"--kubeconfig={installed.token_kubeconfig(NAMESPACE, name)}", "auth", "whoami", "-o", "json"
            )
        )
        assert who["status"]["userInfo"]["username"] == f"system:serviceaccount:{NAMESPACE}:{name}"


def test_all_kinds_are_served(installed: Cluster) -> None:
    kinds = installed.kubectl("api-resources", "--categories=olm", "-o", "name").split()
    assert sorted(kind.split(".")[0] for kind in kinds) == [
        "bundledeployments",
        "bundles",
        "catalogs",
        "operators",
        "packages",
    ]


def test_installing_again_changes_nothing(installed: Cluster) -> None:
    before = versions(installed)
    Suite(installed).install()
    assert versions(installed) == before


def versions(cluster: Cluster) -> dict[str, str]:
    listed = json.loads(cluster.kubectl("get", "crds", "--selector=app.kubernetes.io/part-of=olm-suite", "-o", "json"))[
        "items"
    ]
    return {item["metadata"]["name"]: item["metadata"]["resourceVersion"] for item in listed}
