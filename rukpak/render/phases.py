"""The order in which the objects of a bundle are applied: objects that others need come first.

Namespaces, CRDs, accounts and roles, configuration, workloads, webhooks and API services, custom resources. An unknown kind
counts as a custom resource, because a CRD of the bundle may define it. Certificates of cert-manager are configuration: pods
do not start before their Secrets are there. So are OperatorConditions, which operators read when they start. The same objects
give the same order. The order of their deletion is that of rukpak.bundledeployment.deletion.finalize. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rukpak.format.objects import BundleObject, ObjectKey


@dataclass(frozen=True)
class Phase:
    """Objects that are applied together; `name` is used in messages."""

    name: str
    manifests: tuple[BundleObject, ...]


NAMESPACES = "namespaces"
CRDS = "custom resource definitions"
ACCESS = "accounts and roles"
CONFIGURATION = "configuration"
WORKLOADS = "workloads"
ADMISSION = "webhooks and API services"
CUSTOM_RESOURCES = "custom resources"

_KINDS: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    (NAMESPACES, (("", "Namespace"),)),
    (CRDS, (("apiextensions.k8s.io", "CustomResourceDefinition"),)),
    (
        ACCESS,
        (
            ("", "ServiceAccount"),
            ("rbac.authorization.k8s.io", "Role ClusterRole RoleBinding ClusterRoleBinding"),
        ),
    ),
    (
        CONFIGURATION,
        (
            ("scheduling.k8s.io", "PriorityClass"),
            ("node.k8s.io", "RuntimeClass"),
            ("networking.k8s.io", "NetworkPolicy IngressClass"),
            ("", "ResourceQuota LimitRange Secret ConfigMap"),
            ("storage.k8s.io", "StorageClass CSIDriver"),
            ("", "PersistentVolume PersistentVolumeClaim"),
            ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration FlowSchema"),
            ("cert-manager.io", "Issuer Certificate"),
            ("operators.coreos.com", "OperatorCondition"),
        ),
    ),
    (
        WORKLOADS,
        (
            ("", "Service Endpoints"),
            ("discovery.k8s.io", "EndpointSlice"),
            ("policy", "PodDisruptionBudget"),
            ("apps", "DaemonSet StatefulSet Deployment ReplicaSet"),
            ("", "ReplicationController Pod"),
            ("batch", "Job CronJob"),
            ("autoscaling", "HorizontalPodAutoscaler"),
            ("networking.k8s.io", "Ingress"),
        ),
    ),
    (
        ADMISSION,
        (
            ("apiregistration.k8s.io", "APIService"),
            (
                "admissionregistration.k8s.io",
                "MutatingAdmissionPolicy ValidatingAdmissionPolicy MutatingAdmissionPolicyBinding "
                "ValidatingAdmissionPolicyBinding MutatingWebhookConfiguration ValidatingWebhookConfiguration",
            ),
        ),
    ),
)
PHASE_NAMES = (*(name for name, _ in _KINDS), CUSTOM_RESOURCES)
"""All phases in order."""

_RANKS: dict[tuple[str, str], tuple[int, int]] = {
    (group, kind): (phase, rank)
    for phase, (_, groups) in enumerate(_KINDS)
    for rank, (group, kind) in enumerate((group, kind) for group, kinds in groups for kind in kinds.split())
}
_LAST = (len(_KINDS), 0)


def phases(manifests: Iterable[BundleObject]) -> tuple[Phase, ...]:
    """The objects in phases, without empty phases; within a phase by kind, then group, namespace and name."""
    members: dict[str, list[BundleObject]] = {}
    for manifest in sorted(manifests, key=lambda item: _order(item.key)):
        members.setdefault(phase_of(manifest.key), []).append(manifest)
    return tuple(Phase(name, tuple(members[name])) for name in PHASE_NAMES if name in members)


def phase_of(key: ObjectKey) -> str:
    """The name of an object's phase."""
    return PHASE_NAMES[_rank(key)[0]]


def _rank(key: ObjectKey) -> tuple[int, int]:
    return _RANKS.get((key.group, key.kind), _LAST)


def _order(key: ObjectKey) -> tuple[tuple[int, int], ObjectKey]:
    return _rank(key), key
