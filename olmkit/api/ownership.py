"""Whether a BundleDeployment applied an object: the object has its uid in a label, and an entry of its field manager.

A label alone proves nothing: people copy manifests, and controllers copy labels. The API server keeps entries of field managers
to itself: a copy that is created has none of them. An object whose entries were removed counts as one that was not applied, so
that it is never deleted by mistake. Called by rukpak and olmctl for custom resources, CRDs and other installed objects. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from olmkit.api.bundledeployments import OWNER_UID_LABEL

MANAGER_PREFIX = "rukpak:"
"""The prefix of the field managers of BundleDeployments."""


def manager_name(deployment: str) -> str:
    """The field manager of what a BundleDeployment applies."""
    return f"{MANAGER_PREFIX}{deployment}"


def apply_entries(obj: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The entries of managedFields of what BundleDeployments applied, without subresources."""
    for entry in obj["metadata"].get("managedFields") or ():
        is_apply = entry.get("operation") == "Apply" and not entry.get("subresource")
        if is_apply and entry.get("manager", "").startswith(MANAGER_PREFIX):
            yield entry


def is_applied_by(obj: Mapping[str, Any], uid: str, deployment: str) -> bool:
    """Whether the BundleDeployment of that uid and name applied the object; its metadata is enough."""
    if (obj["metadata"].get("labels") or {}).get(OWNER_UID_LABEL) != uid:
        return False
    manager = manager_name(deployment)
    return any(entry["manager"] == manager for entry in apply_entries(obj))
