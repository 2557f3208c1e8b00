"""The rules of kstatus for custom resources, in their order: what Flux, Helm 4 and similar tools conclude from an object.

Rules for built-in kinds are not here.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

Object = dict[str, Any]


class KStatus(StrEnum):
    """Where an object is on the way to what its spec asks for."""

    TERMINATING = "Terminating"
    IN_PROGRESS = "InProgress"
    FAILED = "Failed"
    CURRENT = "Current"


def compute(obj: Object) -> KStatus:
    """The status of a custom resource. An object without a status is Current, as its kind may have none."""
    if obj["metadata"].get("deletionTimestamp"):
        return KStatus.TERMINATING
    status = obj.get("status") or {}
    if "observedGeneration" in status and status["observedGeneration"] != obj["metadata"]["generation"]:
        return KStatus.IN_PROGRESS
    conditions = status.get("conditions") or []
    for condition in conditions:
        if condition["type"] == "Reconciling" and condition["status"] == "True":
            return KStatus.IN_PROGRESS
        if condition["type"] == "Stalled" and condition["status"] == "True":
            return KStatus.FAILED
    for condition in conditions:
        if condition["type"] == "Ready":
            return KStatus.CURRENT if condition["status"] == "True" else KStatus.IN_PROGRESS
    return KStatus.CURRENT
