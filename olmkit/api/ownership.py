"""Who applied an object: a BundleDeployment of ours, or operator-controller an Operator for others that require its package.

A label alone proves nothing: people copy manifests, and controllers copy labels. The API server keeps entries of field managers
to itself: a copy that is created has none of them. An object whose entries were removed counts as one that was not applied, so
that it is never deleted by mistake. Called by rukpak and olmctl for custom resources, CRDs and other installed objects, by
operator_controller and olmctl for Operators. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from olmkit.api.bundledeployments import OWNER_UID_LABEL
from olmkit.api.operators import INSTALLED_FOR_LABEL

MANAGER_PREFIX = "rukpak:"
"""The prefix of the field managers of BundleDeployments."""
OPERATOR_CONTROLLER = "operator-controller"
"""The field manager of what operator-controller applies."""
LAST_APPLIED_ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"
"""What `kubectl apply` writes, also if it changes no field."""


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


def is_dependency(operator: Mapping[str, Any]) -> bool:
    """Whether operator-controller created the Operator, given as JSON, for others, and no person has taken it over.

    The label proves nothing, because manifests are copied. The spec was applied by operator-controller, and by nobody else: an
    Operator whose entries of field managers were removed counts as a person's, so that it is never deleted by mistake.
    """
    metadata = operator["metadata"]
    managed: list[Mapping[str, Any]] = metadata.get("managedFields") or []
    writers = {
        (entry.get("manager"), entry.get("operation"))
        for entry in managed
        if "f:spec" in (entry.get("fieldsV1") or {}) and not entry.get("subresource")
    }
    return (
        INSTALLED_FOR_LABEL in (metadata.get("labels") or {})
        and LAST_APPLIED_ANNOTATION not in (metadata.get("annotations") or {})
        and (OPERATOR_CONTROLLER, "Apply") in writers
        and all(manager == OPERATOR_CONTROLLER for manager, _ in writers)
    )
