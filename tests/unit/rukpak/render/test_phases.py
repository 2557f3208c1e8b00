"""The order of objects."""

import random

import pytest

from rukpak.format.objects import BundleObject
from rukpak.render.phases import PHASE_NAMES, phase_of, phases
from tests.unit.rukpak.builders import crd, obj

OBJECTS = [
    ("namespaces", obj("v1", "Namespace", "n")),
    ("custom resource definitions", crd("as")),
    ("custom resource definitions", crd("bs")),
    ("accounts and roles", obj("v1", "ServiceAccount", "a", "n")),
    ("accounts and roles", obj("rbac.authorization.k8s.io/v1", "Role", "r", "n")),
    ("accounts and roles", obj("rbac.authorization.k8s.io/v1", "ClusterRole", "r")),
    ("accounts and roles", obj("rbac.authorization.k8s.io/v1", "RoleBinding", "r", "n")),
    ("configuration", obj("scheduling.k8s.io/v1", "PriorityClass", "p")),
    ("configuration", obj("v1", "Secret", "s", "n")),
    ("configuration", obj("v1", "ConfigMap", "c", "m")),
    ("configuration", obj("v1", "ConfigMap", "b", "n")),
    ("workloads", obj("v1", "Service", "s", "n")),
    ("workloads", obj("apps/v1", "Deployment", "d", "n")),
    ("webhooks and API services", obj("apiregistration.k8s.io/v1", "APIService", "v1.x")),
    ("webhooks and API services", obj("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "w")),
    ("custom resources", obj("example.com/v1", "Role", "a kind of a known name in another group")),
    ("custom resources", obj("monitoring.coreos.com/v1", "ServiceMonitor", "m", "n")),
]


@pytest.mark.parametrize("seed", range(5))
def test_phases_come_in_order_whatever_the_order_of_the_manifests(seed: int) -> None:
    manifests = [BundleObject(body) for _, body in OBJECTS]
    random.Random(seed).shuffle(manifests)
    found = [(phase.name, manifest.body) for phase in phases(manifests) for manifest in phase.manifests]
    assert found == OBJECTS


def test_phases_without_objects_are_omitted() -> None:
    assert [phase.name for phase in phases([BundleObject(obj("v1", "Secret", "s"))])] == ["configuration"]
    assert phases([]) == ()


@pytest.mark.parametrize(("phase", "body"), OBJECTS)
def test_the_phase_of_one_object(phase: str, body: dict[str, object]) -> None:
    assert phase_of(BundleObject(body).key) == phase
    assert phase in PHASE_NAMES
