"""Looks up whether what a tool's labels and annotations name is still there.

Called by rukpak.bundledeployment.apply_errors when an object of the bundle exists already. Never writes, and never raises for
what it cannot read: that counts as there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from olmkit.errors import ApiError, NotFound
from olmkit.runtime.client import Client
from rukpak.bundledeployment.adoption import Claim, PossibleOwner, claims_of
from rukpak.bundledeployment.world import ConflictingObject


async def find_owners(client: Client, metadata: Mapping[str, Any]) -> dict[Claim, ConflictingObject | None]:
    """The claims to the object with this metadata that hold, in their order, and the object that makes each of them hold; None if
    that cannot be known."""
    claims = claims_of(metadata)
    answers = await asyncio.gather(*(_owner(client, claim) for claim in claims))
    return {claim: owner for claim, (holds, owner) in zip(claims, answers, strict=True) if holds}


async def _owner(client: Client, claim: Claim) -> tuple[bool, ConflictingObject | None]:
    """Whether the claim holds, and why, if that is known."""
    for possible in claim.owners:
        try:
            if (found := await _first(client, possible)) is not None:
                return True, found if possible.is_named else None
        except NotFound:
            continue  # the object, or its kind
        except ApiError:
            return True, None
    return not claim.owners, None


async def _first(client: Client, possible: PossibleOwner) -> ConflictingObject | None:
    """Raises ApiError."""
    kind, inside = possible.kind, possible.namespace or None
    if possible.name:
        metadata = (await client.get(kind, possible.name, inside))["metadata"]
        return ConflictingObject(kind, metadata.get("namespace", ""), metadata["name"])
    async for objects, _ in client.pages(kind, inside, possible.selector, metadata_only=True, limit=1):
        for obj in objects:
            return ConflictingObject(kind, obj["metadata"].get("namespace", ""), obj["metadata"]["name"])
    return None
