"""Whether an object that exists already may be taken over. Called by rukpak.bundledeployment.applier and apply_errors. Pure.

A BundleDeployment takes over only what nobody manages: another controller would change the object back, or delete it. What is a
part of Kubernetes or of the suite is never taken over: the cluster would be damaged, at the latest when it is deleted with the
bundle.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from olmkit.api.bundledeployments import OWNER_UID_LABEL
from rukpak.bundledeployment.transforms import applied_fields

KUBERNETES, SUITE = "Kubernetes", "olm-suite"
SYSTEM = frozenset({KUBERNETES, SUITE})
"""Whose objects no bundle may replace."""
MANAGED_BY: Mapping[str, str] = {
    "addonmanager.kubernetes.io/mode": KUBERNETES,
    "apf.kubernetes.io/autoupdate-spec": KUBERNETES,
    "argocd.argoproj.io/instance": "Argo CD",
    "argocd.argoproj.io/tracking-id": "Argo CD",
    "helm.toolkit.fluxcd.io/name": "Flux",
    "kube-aggregator.kubernetes.io/automanaged": KUBERNETES,
    "kubernetes.io/bootstrapping": KUBERNETES,
    "kubernetes.io/cluster-service": KUBERNETES,
    "kustomize.toolkit.fluxcd.io/name": "Flux",
    "meta.helm.sh/release-name": "Helm",
    "olm.managed": "OLM v0",
    "olm.owner": "OLM v0",
    "rbac.authorization.kubernetes.io/autoupdate": KUBERNETES,
}
"""A label or annotation that a tool writes to each object that it manages, and the tool."""
_SYSTEM_LABELS = {("app.kubernetes.io/part-of", SUITE): SUITE, ("provider", "kubernetes"): KUBERNETES}
_SYSTEM_NAMESPACES = frozenset({"kube-node-lease", "kube-public", "kube-system"})
_SYSTEM_NAMES = frozenset({"kube-root-ca.crt", "system-cluster-critical", "system-node-critical"})
_SYSTEM_PREFIX = "system:"
"""The beginning of names that Kubernetes reserves for itself."""


def owner_of(metadata: Mapping[str, Any], name_of: Callable[[str], str]) -> str:
    """Who manages the object with this metadata, for messages; empty if nobody does.

    `name_of` returns the name of the BundleDeployment of a uid, empty when there is none.
    """
    labels, annotations = metadata.get("labels") or {}, metadata.get("annotations") or {}
    system = _system_of(metadata, labels)
    if system and not applied_fields({"metadata": metadata}):  # what rukpak has applied was not there before it
        return system
    deployment = name_of(labels.get(OWNER_UID_LABEL, ""))
    if deployment:
        return f"BundleDeployment {deployment}"
    for owner in metadata.get("ownerReferences") or ():
        if owner.get("controller"):
            return f"{owner['kind']} {owner['name']}"
    return next((tool for key, tool in MANAGED_BY.items() if key in labels or key in annotations), "")


def _system_of(metadata: Mapping[str, Any], labels: Mapping[str, str]) -> str:
    """Of what it is a part, if no bundle may replace it; empty for other objects."""
    name, namespace = metadata.get("name", ""), metadata.get("namespace", "")
    if namespace in _SYSTEM_NAMESPACES or name in _SYSTEM_NAMES or name.startswith(_SYSTEM_PREFIX):
        return KUBERNETES
    return next((_SYSTEM_LABELS[item] for item in labels.items() if item in _SYSTEM_LABELS), "")
