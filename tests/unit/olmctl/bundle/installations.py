"""BundleDeployments as `olm bundle run` and others leave them, for the tests of commands."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]
PACKAGE = "operators.operatorframework.io/package"


def deployment(
    name: str, package: str = "widgets", *, manager: str = "olm", owner: str = "", installed: Object | None = None
) -> Object:
    """The BundleDeployment; its template was applied by `manager`."""
    entry = {
        "manager": manager,
        "operation": "Apply",
        "time": "2026-01-01T00:00:00Z",
        "fieldsV1": {"f:spec": {"f:template": {}}},
    }
    metadata: Object = {
        "name": name,
        "uid": name,
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "managedFields": [entry],
    }
    if owner:
        metadata["ownerReferences"] = [{"kind": "Operator", "name": owner, "controller": True}]
    template = {"metadata": {"annotations": {PACKAGE: package} if package else {}}}
    return {
        "metadata": metadata,
        "spec": {"template": template},
        "status": {"installed": installed} if installed else {},
    }
