"""Decides whether a BundleDeployment takes over an object that exists already, when its apply fails because of that.

others have removed its label         it is taken back
another one has the object            ApplyRejected, which names the owner and says what to do
nobody has it                         taken over if the adoption policy allows that, or if it was left, see owner_lookup
the object exists, and was not known  BriefWait: the next pass observes it
it is being deleted                   Waiting

A Namespace is shared and never taken over. Reads the object and its owners, never writes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from olmkit.api.bundledeployments import OWNER_UID_LABEL, RELEASED_ANNOTATION, Reason
from olmkit.api.failures import FailureReason
from olmkit.api.meta import Kind, unchanged_precondition
from olmkit.api.ownership import has_applied_since, is_adopted, is_applied_by, manager_name
from olmkit.errors import NotFound, Waiting
from olmkit.gocompat.text import list_names
from olmkit.runtime.client import Client
from rukpak.bundledeployment.apply.object_owner import OLM_V0, SYSTEM, Claim, system_marks
from rukpak.bundledeployment.apply.owner_lookup import Departed, Ownership, find_ownership
from rukpak.bundledeployment.delays import (
    CHANGED_RETRY_DELAY,
    CONFLICT_RETRY_DELAY,
    NOT_FOUND_RETRY_DELAY,
    with_finalizers,
)
from rukpak.bundledeployment.world import CRD, NAMESPACE, ApplyRejected, BriefWait, ConflictingObject
from rukpak.format.objects import ObjectKey

DELETE_IT = "delete it, and the object of the bundle is installed"
SET_POLICY = "set adoptionPolicy to IfUnowned to take it over"
IS_TAKEN_OVER = "it is taken over"
WITH_RESOURCES = " with its custom resources"
"""The end of both for a CustomResourceDefinition, whose deletion no message advises: it deletes all custom resources."""

Object = Mapping[str, Any]


class Takeover(NamedTuple):
    """The way in which an object is taken over."""

    precondition: dict[str, str]
    """That it is as it was found."""
    is_adopted: bool = False
    """True if it was there before the BundleDeployment."""


@dataclass(frozen=True)
class Adoption:
    """Decides for the objects of one BundleDeployment."""

    client: Client
    """Sends requests as the account of the BundleDeployment, if it has one."""
    holder: Callable[[str], str]
    """The name of the BundleDeployment of a uid, empty when there is none."""
    adopts: bool = False
    """True if an object that nobody manages is taken over."""
    since: str = ""
    """The time when the BundleDeployment was created, as the API server writes it; empty: nothing has lost its label."""
    own: Client | None = None
    """Reads BundleDeployments, if `client` may not."""

    async def takeover(self, uid: str, kind: Kind, body: Object) -> Takeover | None:
        """The way in which the object that has this key is taken over; None if it is the one that was observed. Raises the error
        if it is not taken over."""
        key = key_of(kind, body)
        try:
            live = await self.client.get(kind, key.name, key.namespace or None)
        except NotFound:
            raise BriefWait(Reason.RETRYING, f"{key} was deleted", CHANGED_RETRY_DELAY) from None
        metadata = live["metadata"]
        if body["metadata"].get("uid") == metadata["uid"]:
            return None
        holder = (metadata.get("labels") or {}).get(OWNER_UID_LABEL, "")
        is_released = key[:2] == CRD and not holder and RELEASED_ANNOTATION in (metadata.get("annotations") or {})
        is_ours = is_applied_by(live, uid, self.holder(uid))
        if key[:2] == NAMESPACE or is_ours or is_released:
            raise BriefWait(Reason.RETRYING, f"{key} changed", CHANGED_RETRY_DELAY)
        if metadata.get("deletionTimestamp"):
            text = f"waiting until it is gone: {with_finalizers(key, metadata.get('finalizers') or ())}"
            raise Waiting(Reason.RETRYING, text, NOT_FOUND_RETRY_DELAY, [str(key)])
        found = await find_ownership(self.own or self.client, live, self.holder, self.holder(uid), self.client)
        if found.is_left and key[:2] == CRD:
            # Observed as released, it is compared with that of the bundle before it is replaced.
            raise BriefWait(Reason.RETRYING, f"{key} changed", CHANGED_RETRY_DELAY)
        is_own = self._has_lost_label(uid, key, live, found) or (not found.owner and self._was_kept(uid, key, live))
        if found.is_left or is_own:
            return Takeover(unchanged_precondition(live), is_own and is_adopted(live))
        if self.adopts and not found.owner:
            return Takeover(unchanged_precondition(live), is_adopted=True)
        claim, by = next((item for item in found.claims.items() if item[0].tool == found.owner), (None, None))
        conflicting = {ConflictingObject(kind, key.namespace, key.name), *((by,) if by is not None else ())}
        text = f"{key} already exists and {self._ownership(key, metadata, found, claim, by)}"
        subject = [f"{key} of {found.owner}"]
        raise ApplyRejected(
            Reason.BLOCKED,
            text,
            CONFLICT_RETRY_DELAY,
            subject,
            conflicting_objects=frozenset(conflicting),
            permitted_by=frozenset() if found.owner or self.adopts else frozenset({"adoptionPolicy"}),
            failure=FailureReason.OBJECT_EXISTS,
        )

    def _has_lost_label(self, uid: str, key: ObjectKey, live: Object, found: Ownership) -> bool:
        """Report whether this BundleDeployment has applied the object, and others have removed its label or given it another one.
        What an earlier one of its name has left without a label was left on purpose. A CustomResourceDefinition is never taken
        back: what replaces it would have to be compared with it first."""
        is_nobodys = not found.owner and found.departed is None and key[:2] != CRD
        return is_nobodys and has_applied_since(live, manager_name(self.holder(uid)), self.since)

    def _was_kept(self, uid: str, key: ObjectKey, live: Object) -> bool:
        """Report whether a BundleDeployment of this name has applied the object, and kept it when its chart lost it or was
        removed."""
        name = self.holder(uid)
        released_by = (live["metadata"].get("annotations") or {}).get(RELEASED_ANNOTATION)
        is_unlabeled = OWNER_UID_LABEL not in (live["metadata"].get("labels") or {})
        was_applied = has_applied_since(live, manager_name(name), "0")  # at any time
        return key[:2] != CRD and is_unlabeled and released_by == name and was_applied

    def _ownership(
        self, key: ObjectKey, metadata: Object, found: Ownership, claim: Claim | None, by: ConflictingObject | None
    ) -> str:
        """Say who has the object, and what to do: first what keeps it and its data."""
        owner = found.owner
        is_crd = key[:2] == CRD
        then = (IS_TAKEN_OVER if self.adopts else SET_POLICY) + (WITH_RESOURCES if is_crd else "")
        if (claim is not None and claim.tool in SYSTEM) or owner in SYSTEM:
            marks = list_names(system_marks(metadata))
            way = f"remove its {marks}, and {then}" if marks else DELETE_IT
            return f"seems to be a part of {owner}, which no bundle may replace: if it is not, {way}"
        if claim is not None and claim.tool == OLM_V0 and by is not None:
            whose = f"is managed by {OLM_V0} ({by.kind.kind} {by.namespace}/{by.name})"
            kept = f" ({OLM_V0} keeps CustomResourceDefinitions and their custom resources)" if is_crd else ""
            way = IS_TAKEN_OVER if self.adopts else SET_POLICY
            return f"{whose}: delete its Subscription and its ClusterServiceVersion, and {way}{kept}"
        if claim is not None and claim.names_nobody:
            whose = f"has the label {list_names(claim.keys)} of {OLM_V0}, which does not say whose it is"
            return f"{whose}: if it is of the operator that you move, remove the label, and {then}"
        if claim is not None:
            whose = f"is managed by {owner}" + (f" ({by.kind.kind} {by.namespace}/{by.name})" if by is not None else "")
            marks, delete = list_names(claim.keys), "" if is_crd else "; or remove it there"
            return f"{whose}: have {owner} let go of it without deleting it, remove its {marks}, and {then}{delete}"
        if found.is_held:
            return f"belongs to {owner}"
        if owner:
            return f"is managed by {owner}: {'remove it there' if not is_crd else f'have {owner} let go of it, and {then}'}"
        remedy = then if is_crd else f"{then}, or {DELETE_IT}"
        if found.departed is not None:
            return f"{_who_left(found.departed)}: {remedy}"
        holder = (metadata.get("labels") or {}).get(OWNER_UID_LABEL, "")
        if holder and not found.holder:
            return f"belongs to a BundleDeployment that does not exist (uid {holder}): {remedy}"
        managers = sorted({entry.get("manager", "") for entry in metadata.get("managedFields") or ()} - {""})
        by_whom = f" (written by {', '.join(managers)})" if managers else ""
        if holder:
            whose = f"has the label {OWNER_UID_LABEL} of BundleDeployment {found.holder}"
            return f"{whose}, which did not apply it{by_whom}: {remedy}"
        return f"is not managed by olm-suite{by_whom}: {remedy}"


def _who_left(departed: Departed) -> str:
    """Whose the object was, and why it is not taken over without being asked for."""
    if departed.is_replaced:
        text = f"an earlier BundleDeployment {departed.name} has left it (uid {departed.uid}); the one that has this name now"
        return f"{text} takes it over if it is in its bundle"
    return (
        f"BundleDeployment {departed.name}, which is gone, has left it, but {departed.changed_by} has changed it since"
    )


def key_of(kind: Kind, body: Object) -> ObjectKey:
    """The key of an object that is applied."""
    metadata = body["metadata"]
    return ObjectKey(kind.group, kind.kind, metadata.get("namespace") or "", metadata["name"])
