"""Keeps the protection from deletion on the BundleDeployment as on its Operator.

Deleting the BundleDeployment would delete the same custom resources. rukpak answers the API server for both, and looks at the
Operator first; the annotation of the BundleDeployment only has the API server ask. Pure.
"""

from __future__ import annotations

from olmkit.api.operators import has_protection
from operator_controller.operator.world import ProtectDeployment, World


def protection_plan(world: World) -> ProtectDeployment | None:
    """Add the annotation to the BundleDeployment, or remove it; None: it is as it should be."""
    deployment = world.owned_bundle_deployment
    if deployment is None:
        return None
    metadata = deployment.model.metadata
    is_protected = has_protection(world.operator.metadata.annotations)
    if has_protection(metadata.annotations) == is_protected:
        return None
    return ProtectDeployment(metadata.name, metadata.uid, is_protected)
