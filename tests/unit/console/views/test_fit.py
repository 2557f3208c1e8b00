"""The requirements of a package against what a cluster has."""

from __future__ import annotations

from typing import Any

import pytest

from console.views.fit import Cluster, available_in, is_at_least, scope, shortcomings

CLUSTER = Cluster(
    "v1.34.4",
    frozenset({("apps", "Deployment"), ("cert-manager.io", "Certificate")}),
    frozenset({("apps", "v1", "Deployment"), ("cert-manager.io", "v1", "Certificate")}),
    away=frozenset({"metrics.k8s.io"}),
    packages=frozenset({"left"}),
).with_offers({"kafka": {"kinds": ["kafka.io/v1/Kafka"]}, "odd": {"kinds": "no list"}, "plain": {}})
ROUTE = "route.openshift.io/v1/Route"


@pytest.mark.parametrize(
    ("summary", "expected"),
    [
        pytest.param({"name": "p"}, (), id="nothing is required"),
        pytest.param({"minKubeVersion": "1.34.0"}, (), id="the version is new enough"),
        pytest.param({"minKubeVersion": "1.35.0"}, ("Kubernetes 1.35.0",), id="the version is too old"),
        pytest.param({"minKubeVersion": "soon"}, (), id="a version that is none excludes nothing"),
        pytest.param({"nativeAPIs": ["apps/v1/Deployment"]}, (), id="an API that is served"),
        pytest.param({"nativeAPIs": ["apps/v2/Deployment"]}, ("Deployment",), id="an API in another version"),
        pytest.param({"nativeAPIs": [ROUTE, ROUTE]}, ("Route",), id="an API of OpenShift, named once"),
        pytest.param({"nativeAPIs": ["kafka.io/v1/Kafka"]}, ("Kafka",), id="packages do not provide native APIs"),
        pytest.param({"nativeAPIs": ["metrics.k8s.io/v1/X"]}, (), id="a group that does not answer"),
        pytest.param({"requiredKinds": ["cert-manager.io/v2/Certificate"]}, (), id="a kind that is served"),
        pytest.param({"requiredKinds": ["kafka.io/v1/Kafka"]}, (), id="a kind that a package provides"),
        pytest.param({"requiredKinds": ["nfd.io/v1/Node"]}, ("Node",), id="a kind that nothing provides"),
        pytest.param({"requiredPackages": ["kafka", "left"]}, (), id="packages of a catalog, and of an Operator"),
        pytest.param({"requiredPackages": ["gone"]}, ("package gone",), id="a package that no catalog has"),
        pytest.param(
            {"nativeAPIs": [5, None, "x", "a/b", "a/b/"], "requiredKinds": {}, "minKubeVersion": []}, (), id="odd"
        ),
        pytest.param({}, None, id="without a summary"),
    ],
)
def test_the_requirements_that_are_not_met(summary: dict[str, Any], expected: tuple[str, ...] | None) -> None:
    assert shortcomings(summary, CLUSTER) == expected


def test_packages_that_are_not_known_exclude_nothing() -> None:
    assert shortcomings({"requiredPackages": ["gone"]}, Cluster("v1.34.4")) == ()


def test_of_a_cluster_that_may_not_be_read_nothing_is_said() -> None:
    assert shortcomings({"minKubeVersion": "9.9.9"}, Cluster(is_known=False)) is None


@pytest.mark.parametrize(
    ("version", "minimum", "expected"),
    [
        ("v1.34.4", "1.34", None),
        ("v1.34.4", "v1.34.0", True),
        ("v1.34.0-gke.100+x", "1.34.0", True),
        ("v1.33.9", "1.34.0", False),
        ("", "1.34.0", None),
    ],
)
def test_versions_of_kubernetes(version: str, minimum: str, *, expected: bool | None) -> None:
    assert is_at_least(version, minimum) is expected


@pytest.mark.parametrize(
    ("modes", "expected"),
    [
        ((), ""),
        (("AllNamespaces",), "All namespaces. It cannot be limited to some."),
        (("OwnNamespace",), "Only the namespace that it is installed into."),
        (("OwnNamespace", "SingleNamespace"), "Only one other namespace or the namespace that it is installed into."),
        (
            ("AllNamespaces", "MultiNamespace", "OwnNamespace", "Other"),
            "All namespaces, or several namespaces or the namespace that it is installed into.",
        ),
    ],
)
def test_install_modes_are_a_sentence(modes: tuple[str, ...], expected: str) -> None:
    assert available_in(modes) == expected


@pytest.mark.parametrize(
    ("modes", "expected"),
    [
        ((), ""),
        (("AllNamespaces",), "all namespaces"),
        (("AllNamespaces", "OwnNamespace"), "all or some namespaces"),
        (("OwnNamespace",), "its own namespace only"),
        (("OwnNamespace", "SingleNamespace"), "some namespaces only"),
        (("Other",), ""),
    ],
)
def test_install_modes_on_a_card(modes: tuple[str, ...], expected: str) -> None:
    assert scope(modes) == expected
