"""Computes the remaining cost of an installation, so that small installations do not wait for large ones.

The queue of the controller compares the costs of its keys. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping

from rukpak.bundledeployment.rendered_bundle import RenderedBundle
from rukpak.bundledeployment.world import CRD, LastApplied, World
from rukpak.format.objects import ObjectKey

CRD_COST = 10
"""The cost of a CustomResourceDefinition. Any other object costs 1. The API server compiles the schema, publishes it, and starts
to serve a kind."""


def remaining_cost(world: World, last_applied: Mapping[ObjectKey, LastApplied]) -> int:
    """The cost of the objects of the target that have not been applied; 0 if the target is active, or not known yet.

    `last_applied` has the last apply of each object until now.
    """
    content = world.content
    if world.deployment.metadata.deleting or world.is_target_active or not isinstance(content, RenderedBundle):
        return 0
    return sum(
        CRD_COST if item.key[:2] == CRD else 1
        for item in content.objects()
        if item.key not in last_applied or last_applied[item.key].digest != item.digest
    )
