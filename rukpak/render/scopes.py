"""The scopes of well-known kinds: namespaced or cluster-scoped.

Used by rukpak.render.renderer for kinds whose scope the caller does not know from a cluster. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping

Scopes = Mapping[tuple[str, str], bool]
"""(group, kind) -> whether the kind is namespaced."""

_NAMESPACED = {
    "": (
        "ConfigMap Endpoints Event LimitRange PersistentVolumeClaim Pod PodTemplate ReplicationController ResourceQuota "
        "Secret Service ServiceAccount"
    ),
    "apps": "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet",
    "autoscaling": "HorizontalPodAutoscaler",
    "autoscaling.k8s.io": "VerticalPodAutoscaler",
    "batch": "CronJob Job",
    "coordination.k8s.io": "Lease",
    "discovery.k8s.io": "EndpointSlice",
    "events.k8s.io": "Event",
    "monitoring.coreos.com": "Alertmanager AlertmanagerConfig PodMonitor Probe Prometheus PrometheusRule ServiceMonitor",
    "networking.k8s.io": "Ingress NetworkPolicy",
    "operators.coreos.com": "OperatorCondition",
    "policy": "PodDisruptionBudget",
    "rbac.authorization.k8s.io": "Role RoleBinding",
    "cert-manager.io": "Certificate CertificateRequest Issuer",
}
_CLUSTER = {
    "": "Namespace Node PersistentVolume",
    "admissionregistration.k8s.io": (
        "MutatingAdmissionPolicy MutatingWebhookConfiguration ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding "
        "ValidatingWebhookConfiguration"
    ),
    "apiextensions.k8s.io": "CustomResourceDefinition",
    "apiregistration.k8s.io": "APIService",
    "certificates.k8s.io": "CertificateSigningRequest ClusterTrustBundle",
    "cert-manager.io": "ClusterIssuer",
    "console.openshift.io": "ConsoleCLIDownload ConsoleLink ConsolePlugin ConsoleQuickStart ConsoleYAMLSample",
    "flowcontrol.apiserver.k8s.io": "FlowSchema PriorityLevelConfiguration",
    "networking.k8s.io": "IngressClass IPAddress ServiceCIDR",
    "node.k8s.io": "RuntimeClass",
    "rbac.authorization.k8s.io": "ClusterRole ClusterRoleBinding",
    "scheduling.k8s.io": "PriorityClass",
    "storage.k8s.io": "CSIDriver CSINode StorageClass VolumeAttachment",
}
WELL_KNOWN: Scopes = {
    (group, kind): namespaced
    for table, namespaced in ((_NAMESPACED, True), (_CLUSTER, False))
    for group, kinds in table.items()
    for kind in kinds.split()
}
"""The kinds of Kubernetes, and others that bundles often contain."""


def is_namespaced(group: str, kind: str, scopes: Scopes) -> bool | None:
    """The scope in `scopes`, else in WELL_KNOWN; None when it is in neither."""
    return scopes.get((group, kind), WELL_KNOWN.get((group, kind)))
