"""Whether an object that exists already may be taken over. Called by rukpak.bundledeployment.applier and apply_errors. Pure.

A BundleDeployment takes over only what nobody manages: another controller would change the object back, or delete it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from olmkit.api.bundledeployments import OWNER_UID_LABEL

MANAGED_BY: Mapping[str, str] = {
    "argocd.argoproj.io/instance": "Argo CD",
    "argocd.argoproj.io/tracking-id": "Argo CD",
    "helm.toolkit.fluxcd.io/name": "Flux",
    "kustomize.toolkit.fluxcd.io/name": "Flux",
    "meta.helm.sh/release-name": "Helm",
    "olm.managed": "OLM v0",
    "olm.owner": "OLM v0",
}
"""A label or annotation that a tool writes to each object that it manages, and the tool."""


def owner_of(metadata: Mapping[str, Any], name_of: Callable[[str], str]) -> str:
    """Who manages the object with this metadata, for messages; empty if nobody does.

    `name_of` returns the name of the BundleDeployment of a uid, empty when there is none.
    """
    labels, annotations = metadata.get("labels") or {}, metadata.get("annotations") or {}
    deployment = name_of(labels.get(OWNER_UID_LABEL, ""))
    if deployment:
        return f"BundleDeployment {deployment}"
    for owner in metadata.get("ownerReferences") or ():
        if owner.get("controller"):
            return f"{owner['kind']} {owner['name']}"
    return next((tool for key, tool in MANAGED_BY.items() if key in labels or key in annotations), "")
