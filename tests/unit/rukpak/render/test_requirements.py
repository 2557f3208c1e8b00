"""What a bundle requires of a cluster, and how it is named."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from rukpak.format.objects import BundleObject
from rukpak.render.cluster_info import ClusterInfo
from rukpak.render.preflight import Preflight, check
from tests.unit.rukpak.builders import bundle, crd, csv

DEFINITION = ("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
FACTS = ClusterInfo(served={DEFINITION, ("", "v1", "Pod")}, server_version="v1.34.4")
CRDS = {"required": [{"name": "as.x.com", "version": "v1", "kind": "A"}]}
SERVICES = {"required": [{"name": "bs", "group": "y.com", "version": "v2", "kind": "B"}]}
NATIVE = [{"group": "z.k8s.io", "version": "v1", "kind": "C"}, {"group": "", "version": "v1", "kind": "Pod"}]
ALL: dict[str, Any] = {
    "customresourcedefinitions": CRDS,
    "apiservicedefinitions": SERVICES,
    "nativeAPIs": NATIVE,
    "minKubeVersion": "1.35.0",
}
A = 'A (x.com/v1), which bundle "things.v1.0.0" requires'
B = 'B (y.com/v2), an API service, which bundle "things.v1.0.0" requires'
C = 'C (z.k8s.io/v1), which bundle "things.v1.0.0" requires'


def checked(facts: ClusterInfo = FACTS, **spec: Any) -> Preflight:
    return check([BundleObject(crd())], bundle(csv(**spec), crd()), facts)


def test_everything_that_is_missing_is_named_at_once() -> None:
    found = checked(**ALL)
    assert found.missing == (A, B, C)
    assert found.too_old == 'bundle "things.v1.0.0" needs Kubernetes 1.35.0 or newer, this cluster runs v1.34.4'
    assert found.faults == ()


def test_nothing_is_missing_once_all_of_it_is_served() -> None:
    served = {*FACTS.served, ("x.com", "v1", "A"), ("y.com", "v2", "B"), ("z.k8s.io", "v1", "C")}
    found = checked(replace(FACTS, served=served, server_version="v1.35.0"), **ALL)
    assert (found.missing, found.too_old) == ((), "")


@pytest.mark.parametrize(
    ("spec", "changes", "missing"),
    [
        pytest.param(
            {"customresourcedefinitions": CRDS},
            {"served": {DEFINITION, ("x.com", "v1beta1", "A")}},
            f"{A}: the cluster serves it as v1beta1 only",
            id="another version is served",
        ),
        pytest.param(
            {"apiservicedefinitions": SERVICES},
            {"failed_groups": {"y.com"}},
            f"{B}: the API server of group y.com does not answer",
            id="its API server does not answer",
        ),
        pytest.param(
            {"apiservicedefinitions": SERVICES},
            {"served": {DEFINITION, ("y.com", "v2", "B")}, "failed_groups": {"y.com"}},
            f"{B}: the API server of group y.com does not answer",
            id="its API server does not answer any more",
        ),
        pytest.param(
            {"nativeAPIs": [{"group": "apps", "version": "v2", "kind": "Deployment"}]},
            {"served": {DEFINITION, ("apps", "v1", "Deployment")}},
            'Deployment (apps/v2), which bundle "things.v1.0.0" requires: the cluster serves it as v1 only',
            id="a kind of Kubernetes in another version",
        ),
        pytest.param(
            {
                "customresourcedefinitions": {
                    "required": [{"name": "things.example.com", "version": "v1", "kind": "Thing"}]
                }
            },
            {},
            "",
            id="the bundle brings it itself",
        ),
    ],
)
def test_a_kind_that_is_required(spec: dict[str, Any], changes: dict[str, Any], missing: str) -> None:
    assert checked(replace(FACTS, **changes), **spec).missing == ((missing,) if missing else ())


@pytest.mark.parametrize(
    ("wanted", "server", "too_old", "fault"),
    [
        pytest.param("1.34.4", "v1.34.4", "", "", id="just enough"),
        pytest.param("1.34", "v1.34.0", "", "", id="a short version"),
        pytest.param("v1.19.0-0", "v1.19.0-eks-1", "", "", id="prereleases do not count"),
        pytest.param(
            "1.35.0",
            "v1.34.4",
            'bundle "things.v1.0.0" needs Kubernetes 1.35.0 or newer, this cluster runs v1.34.4',
            "",
            id="too old",
        ),
        pytest.param("1.9.0", "v1.34.4", "", "", id="numbers, not text"),
        pytest.param(
            "latest",
            "v1.34.4",
            "",
            'minKubeVersion "latest" of bundle "things.v1.0.0" is not a version such as 1.28.0',
            id="no version",
        ),
        pytest.param("1.35.0", "", "", "", id="the server's version is unknown"),
        pytest.param("", "v1.34.4", "", "", id="nothing asked for"),
    ],
)
def test_the_version_of_kubernetes(wanted: str, server: str, too_old: str, fault: str) -> None:
    found = checked(replace(FACTS, server_version=server), minKubeVersion=wanted)
    assert (found.too_old, found.faults) == (too_old, (fault,) if fault else ())
