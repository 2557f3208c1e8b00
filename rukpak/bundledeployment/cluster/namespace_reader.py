"""Reads what a Namespace that is being deleted waits for: its conditions, and the objects in it that have finalizers.

Never writes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from olmkit.api.meta import Kind, Object
from olmkit.errors import ApiError
from olmkit.runtime.client import Client
from rukpak.bundledeployment.cluster.namespace_blockers import NamespaceBlockers, blockers_of, true_conditions
from rukpak.bundledeployment.cluster.rest_mapper import NAMESPACES
from rukpak.bundledeployment.cluster.transforms import object_key
from rukpak.format.objects import ObjectKey

FINALIZERS_REMAINING, CONTENT_REMAINING = "NamespaceFinalizersRemaining", "NamespaceContentRemaining"
"""Conditions of a Namespace that is being deleted: whether objects in it have finalizers; which resources remain."""
MAX_LISTED_PER_KIND = 20

Holders = dict[ObjectKey, tuple[str, ...]]


async def read_blockers(client: Client, kinds: Iterable[Kind], namespace: str) -> NamespaceBlockers:
    """Read the blockers of the Namespace, as far as they can be read."""
    try:
        found = await client.get(NAMESPACES, namespace)
        return replace(blockers_of(found), finalizers=await _finalizers(client, kinds, found))
    except ApiError:
        return NamespaceBlockers()


async def _finalizers(client: Client, kinds: Iterable[Kind], namespace: Object) -> Holders:
    """The finalizers of each object in it. Only kinds that the Namespace's own condition names are listed."""
    conditions = true_conditions(namespace)
    if FINALIZERS_REMAINING not in conditions:
        return {}
    resources = set(conditions.get(CONTENT_REMAINING, "").split())
    found: Holders = {}
    for kind in kinds:
        if f"{kind.plural}.{kind.group}" in resources:
            found |= await _held(client, kind, namespace["metadata"]["name"])
    return found


async def _held(client: Client, kind: Kind, namespace: str) -> Holders:
    async for page, _ in client.pages(kind, namespace, metadata_only=True, limit=MAX_LISTED_PER_KIND):
        keys = {object_key(obj): tuple(obj["metadata"].get("finalizers") or ()) for obj in page}
        return {key: finalizers for key, finalizers in keys.items() if finalizers}
    return {}
