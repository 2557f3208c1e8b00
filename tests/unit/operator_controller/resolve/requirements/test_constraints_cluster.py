"""Requirements of a bundle on the cluster: minKubeVersion and nativeAPIs."""

from __future__ import annotations

import pytest

from olmkit.gocompat.versions import parse_version
from operator_controller.resolve.package.package_content import Bundle, GroupVersionKind
from operator_controller.resolve.requirements.cluster_facts import ClusterFacts
from operator_controller.resolve.requirements.constraints import known_cluster, unmet_cluster_requirement

POD, ROUTE = GroupVersionKind("", "v1", "Pod"), GroupVersionKind("route.openshift.io", "v1", "Route")


def bundle(min_kube_version: str = "", *native_apis: GroupVersionKind) -> Bundle:
    return Bundle("b", "r/b", parse_version("1.0.0"), min_kube_version=min_kube_version, native_apis=native_apis)


@pytest.mark.parametrize(
    ("needed", "server", "text"),
    [
        pytest.param("", "v1.34.4", "", id="nothing is required"),
        pytest.param("1.34.4", "v1.34.4", "", id="the same version"),
        pytest.param(
            "1.34.5",
            "v1.34.4",
            "it requires Kubernetes 1.34.5 or newer, and the cluster runs 1.34.4",
            id="a newer patch",
        ),
        pytest.param(
            "v1.35",
            "v1.34.4",
            "it requires Kubernetes 1.35.0 or newer, and the cluster runs 1.34.4",
            id="a short version",
        ),
        pytest.param("1.19.0-0", "v1.19.0", "", id="the release is above every prerelease"),
        pytest.param("1.30.0", "v1.30.0-gke.100", "", id="a server with the revision of a distribution"),
        pytest.param("1.30.0", "v1.30.0+k3s1", "", id="a server with build metadata"),
        pytest.param("1.99.0", "", "", id="the version of the server is not known"),
        pytest.param("1.99.0", "master", "", id="the version of the server cannot be read"),
        pytest.param(
            "latest",
            "",
            'its minKubeVersion "latest" is not a version: Invalid character(s) found in major number "0latest"',
            id="what is no version rules the bundle out on every cluster",
        ),
        pytest.param(
            "1.20-alpha",
            "v1.34.4",
            'its minKubeVersion "1.20-alpha" is not a version: Short version cannot contain PreRelease/Build meta data',
            id="a short version with a suffix",
        ),
    ],
)
def test_the_least_kubernetes_version(needed: str, server: str, text: str) -> None:
    assert unmet_cluster_requirement(bundle(needed), known_cluster(ClusterFacts(server))) == text


@pytest.mark.parametrize(
    ("kinds", "text"),
    [
        pytest.param(None, "", id="the kinds are not known"),
        pytest.param(("/v1/Pod", "route.openshift.io/v1/Route", "nonsense"), "", id="all are served"),
        pytest.param(
            ("/v1/Pod", "route.openshift.io/v1beta1/Route"),
            "it requires the native API route.openshift.io/v1 Route, which the cluster does not serve",
            id="one is served in another version",
        ),
        pytest.param(
            (),
            "it requires the native API v1 Pod, which the cluster does not serve",
            id="the first missing one is named",
        ),
    ],
)
def test_native_apis(kinds: tuple[str, ...] | None, text: str) -> None:
    cluster = known_cluster(ClusterFacts(native_kinds=kinds))
    assert unmet_cluster_requirement(bundle("", POD, ROUTE), cluster) == text
