"""Each pod of the manifests is restricted, and two replicas have a PodDisruptionBudget."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from olmctl.suite.manifests import load_manifests
from release.bundle import bundle_objects
from release.kustomization import objects_of
from tests.hardened_pods import faults, pod_count

CONFIG = Path(__file__).parents[2] / "config"
DEFAULT = objects_of(CONFIG / "default")
MANIFESTS = {
    "config/default": DEFAULT,
    "config/console": objects_of(CONFIG / "console"),
    "config/prometheus": objects_of(CONFIG / "prometheus"),
    "olm suite install": load_manifests("registry.example.com/olm-suite:v1").all,
    "the bundle for OLM v0": bundle_objects(load_manifests("registry.example.com/olm-suite:v1")),
}


@pytest.mark.parametrize("name", MANIFESTS)
def test_each_pod_is_restricted(name: str) -> None:
    assert faults(MANIFESTS[name]) == []
    assert pod_count(MANIFESTS[name]) == {"config/prometheus": 0, "config/console": 1}.get(name, 3)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("securityContext", {}),
        ("hostNetwork", True),
        ("serviceAccountName", ""),
        ("volumes", [{"name": "x", "hostPath": {"path": "/"}}]),
        ("containers.0.securityContext.readOnlyRootFilesystem", False),
        ("containers.0.securityContext.privileged", True),
        ("containers.0.securityContext.capabilities.drop", []),
        ("containers.0.resources.limits", {"memory": "1Gi"}),
        ("containers.0.ports.0.hostPort", 80),
        ("initContainers", [{"name": "init"}]),
    ],
)
def test_what_is_not_restricted_is_found(path: str, value: Any) -> None:
    deployment = copy.deepcopy(next(each for each in DEFAULT if each["kind"] == "Deployment"))
    place: Any = deployment["spec"]["template"]["spec"]
    *parents, last = path.split(".")
    for key in parents:
        place = place[int(key) if key.isdecimal() else key]
    place[last] = value
    assert faults([deployment]) != []


def test_two_replicas_have_a_disruption_budget() -> None:
    """With one replica it would keep nodes from being drained."""
    replicated = {
        each["metadata"]["name"] for each in DEFAULT if each["kind"] == "Deployment" and each["spec"]["replicas"] > 1
    }
    budgets = [each for each in DEFAULT if each["kind"] == "PodDisruptionBudget"]
    assert {each["metadata"]["name"] for each in budgets} == replicated == {"catalogd"}
    for each in budgets:
        assert each["spec"]["selector"]["matchLabels"] == {"app.kubernetes.io/name": each["metadata"]["name"]}
