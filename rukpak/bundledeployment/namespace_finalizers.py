"""Which objects block the deletion of a Namespace: those in it that have finalizers.

Called by rukpak.bundledeployment.reconciler for Namespaces that are being deleted. Never writes.
"""

from __future__ import annotations

from collections.abc import Iterable

from olmkit.api.meta import Kind, Object
from olmkit.errors import ApiError
from olmkit.runtime.client import Client
from rukpak.bundledeployment.rest_mapper import NAMESPACES
from rukpak.bundledeployment.transforms import object_key
from rukpak.format.objects import ObjectKey

FINALIZERS_REMAINING, CONTENT_REMAINING = "NamespaceFinalizersRemaining", "NamespaceContentRemaining"
"""Conditions of a Namespace that is being deleted: whether objects in it have finalizers; which resources remain."""
MAX_LISTED_PER_KIND = 20

Holders = dict[ObjectKey, tuple[str, ...]]


async def blocking_finalizers(client: Client, kinds: Iterable[Kind], namespace: str) -> Holders:
    """The finalizers of each object that the Namespace waits for; empty if there are none or they cannot be listed.

    Only kinds that the Namespace's own condition names are listed.
    """
    try:
        conditions = _conditions(await client.get(NAMESPACES, namespace))
        if FINALIZERS_REMAINING not in conditions:
            return {}
        resources = set(conditions.get(CONTENT_REMAINING, "").split())
        found: Holders = {}
        for kind in kinds:
            if f"{kind.plural}.{kind.group}" in resources:
                found |= await _held(client, kind, namespace)
    except ApiError:
        return {}
    return found


def _conditions(namespace: Object) -> dict[str, str]:
    """Message by type of the conditions that are True."""
    conditions = (namespace.get("status") or {}).get("conditions") or ()
    return {entry["type"]: entry.get("message", "") for entry in conditions if entry.get("status") == "True"}


async def _held(client: Client, kind: Kind, namespace: str) -> Holders:
    async for page, _ in client.pages(kind, namespace, metadata_only=True, limit=MAX_LISTED_PER_KIND):
        keys = {object_key(obj): tuple(obj["metadata"].get("finalizers") or ()) for obj in page}
        return {key: finalizers for key, finalizers in keys.items() if finalizers}
    return {}
