"""Looks up whether what an object's labels and annotations name is still there: a BundleDeployment, or what a tool has made.

Asks the API server, because an informer may not show yet what another process has done. Never writes, and never raises for what a
tool's marks name and it cannot read: that counts as there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from olmkit.api import bundledeployments, customresourcedefinitions
from olmkit.api.bundledeployments import OWNER_UID_LABEL
from olmkit.api.customresourcedefinitions import CustomResourceDefinition
from olmkit.api.names import is_dns1123_subdomain
from olmkit.api.ownership import MANAGER_PREFIX, apply_entries
from olmkit.errors import ApiError, NotFound
from olmkit.runtime.client import Client
from rukpak.bundledeployment.apply.object_owner import Claim, PossibleOwner, claims_of, described, owner_of
from rukpak.bundledeployment.cluster.transforms import last_changed_by
from rukpak.bundledeployment.world import ConflictingObject


@dataclass(frozen=True)
class Departed:
    """The BundleDeployment that has applied an object with the label of its uid, and that does not exist any more."""

    name: str
    uid: str
    is_replaced: bool = False
    """True if another one of its name exists: it takes over what is in its bundle."""
    changed_by: str = ""
    """The field manager of others that has written to the object; empty: it is as it was left."""


@dataclass(frozen=True)
class Ownership:
    """The owners of an object that exists already."""

    owner: str
    """For messages; empty: nobody."""
    holder: str = ""
    """The name of the BundleDeployment of the uid in its label, which may be a copy; empty: there is none."""
    claims: Mapping[Claim, ConflictingObject | None] = field(default_factory=dict)
    """The claims of tools that hold, and the object that makes each of them hold; None if that cannot be known."""
    departed: Departed | None = None

    @property
    def is_held(self) -> bool:
        """True if the BundleDeployment of its label is the owner."""
        return bool(self.holder) and self.owner == described(self.holder)

    @property
    def is_left(self) -> bool:
        """True if it may be taken over with any adoption policy: a BundleDeployment has left it, and nobody else wants it."""
        return (
            not self.owner and self.departed is not None and not (self.departed.is_replaced or self.departed.changed_by)
        )


async def find_ownership(
    client: Client,
    obj: Mapping[str, Any],
    name_of: Callable[[str], str],
    asking: str,
    as_account: Client | None = None,
) -> Ownership:
    """Find who has the object, for the BundleDeployment of the name `asking`, which does not have it.

    `as_account` reads what the marks of the object name, `client` all else, or everything. `name_of` returns the name of the
    BundleDeployment of a uid, empty when the informers show none. Raises ApiError if it cannot be known whether a
    BundleDeployment exists.
    """
    holder, departed = await _holder(client, obj, name_of, asking)
    metadata = obj["metadata"]
    claims = await find_owners(as_account or client, metadata)
    gone = {claim.tool for claim in claims_of(metadata)} - {claim.tool for claim in claims}
    return Ownership(owner_of(metadata, lambda _: holder, gone), holder, claims, departed)


async def observed_definition(
    client: Client, crd: CustomResourceDefinition, name_of: Callable[[str], str], asking: str
) -> CustomResourceDefinition:
    """A definition of the informers, for the BundleDeployment of the name `asking`. One that a deleted BundleDeployment has left
    counts as released by it: the request of a leader that has died may be carried out after everything else was removed."""
    if crd.is_terminating or not crd.is_installed or name_of(crd.owner_uid):
        return crd
    try:
        live = await client.get(customresourcedefinitions.KIND, crd.name)
        found = await find_ownership(client, live, name_of, asking)
    except ApiError:  # the apply finds it out
        return crd
    is_same = live["metadata"]["uid"] == crd.uid
    return (
        replace(crd, owner_uid="", released_by=found.departed.name)
        if is_same and found.departed and found.is_left
        else crd
    )


async def find_owners(client: Client, metadata: Mapping[str, Any]) -> dict[Claim, ConflictingObject | None]:
    """The claims to the object with this metadata that hold, in their order, and the object that makes each of them hold; None if
    that cannot be known."""
    claims = claims_of(metadata)
    answers = await asyncio.gather(*(_owner(client, claim) for claim in claims))
    return {claim: owner for claim, (holds, owner) in zip(claims, answers, strict=True) if holds}


async def _holder(
    client: Client, obj: Mapping[str, Any], name_of: Callable[[str], str], asking: str
) -> tuple[str, Departed | None]:
    """The name of the BundleDeployment of the uid in the label, and the one that has left the object, if that one does not exist
    and has applied the object."""
    uid = (obj["metadata"].get("labels") or {}).get(OWNER_UID_LABEL, "")
    known = name_of(uid) if uid else ""
    names = sorted({entry["manager"].removeprefix(MANAGER_PREFIX) for entry in apply_entries(obj)})
    if known or not (uid and names):
        return known, None
    if asking in names:  # which has another uid, and there is only one of this name
        return "", Departed(asking, uid)
    found = {name: await _uid_of(client, name) for name in names if is_dns1123_subdomain(name)}
    holder = next((name for name, current in found.items() if current == uid), "")
    if holder or not found:
        return holder, None
    return "", Departed(next(iter(found)), uid, any(found.values()), last_changed_by(obj))


async def _uid_of(client: Client, name: str) -> str:
    """The uid of the BundleDeployment of this name; empty: there is none. A list tells that from a kind that is not served."""
    selector = f"metadata.name={name}"
    found, _ = await client.list(bundledeployments.KIND, field_selector=selector, metadata_only=True)
    return str(found[0]["metadata"]["uid"]) if found else ""


async def _owner(client: Client, claim: Claim) -> tuple[bool, ConflictingObject | None]:
    """Report whether the claim holds, and return the object that makes it hold, if that is known."""
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
