"""Decides whether a BundleDeployment that is being deleted removes its CustomResourceDefinitions with all custom resources of
theirs.

While it does, whatever is created of such a kind is deleted at once: the kind counts as not served for all others. Called by
events with BundleDeployments as read, and by rukpak.admission.deletions; rukpak.bundledeployment.deletion.finalize does what
is said here. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from olmkit.api.bundledeployments import DELETION_HOLD_ANNOTATION, FINALIZER

CASCADE = "Cascade"
"""The default of deletionPolicy: custom resources are deleted too."""
ORPHAN = "Orphan"
"""The deletionPolicy that keeps everything."""


def policy_of(deployment: Mapping[str, Any]) -> str:
    """The deletion policy of the BundleDeployment's own spec."""
    policy: str = deployment["spec"].get("deletionPolicy", CASCADE)
    return policy


def removes_custom_resources(deployment: Mapping[str, Any]) -> bool:
    """Report whether its deletion has begun, is not held, and removes custom resources; not before that, and not after it."""
    metadata = deployment["metadata"]
    is_deleting = "deletionTimestamp" in metadata and FINALIZER in (metadata.get("finalizers") or ())
    is_held = bool((metadata.get("annotations") or {}).get(DELETION_HOLD_ANNOTATION))
    return is_deleting and not is_held and policy_of(deployment) == CASCADE
