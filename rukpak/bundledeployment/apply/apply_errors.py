"""Turns a failed apply into an error with a message for users, or decides that an object is taken over. Never writes.

others have removed its label         how it is taken back
another one has the object            ApplyRejected, which names the owner
nobody has it                         how it is taken over, if the adoption policy allows that, or it was left, see owner_lookup
the object exists, and was not known  BriefWait: the next pass observes it
no such kind or Namespace             Waiting
it or its Namespace is being deleted  Waiting
rejected (schema, admission)          ApplyRejected; of a change that a new object would not be refused for, it says so
no answer, too many requests          the ApiError itself: the queue backs off
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from olmkit.api.bundledeployments import OWNER_UID_LABEL, RELEASED_ANNOTATION, Reason
from olmkit.api.meta import Kind, apply_precondition, unchanged_precondition
from olmkit.api.ownership import has_applied_since, is_applied_by, manager_name
from olmkit.errors import ApiError, Conflict, Invalid, NotFound, OlmError, Unavailable, Waiting
from olmkit.gocompat.text import truncate
from olmkit.runtime.client import Client
from rukpak.bundledeployment.apply.adoption import OLM_V0, SYSTEM, Claim, system_marks
from rukpak.bundledeployment.apply.owner_lookup import Departed, Ownership, find_ownership
from rukpak.bundledeployment.cluster.namespace_blockers import blockers_of
from rukpak.bundledeployment.cluster.rest_mapper import NAMESPACES
from rukpak.bundledeployment.delays import with_blockers, with_finalizers
from rukpak.bundledeployment.world import (
    CRD,
    NAMESPACE,
    ApplyRejected,
    BriefWait,
    ConflictingObject,
)
from rukpak.format.objects import ObjectKey
from rukpak.format.text import list_names

CHANGED_RETRY_DELAY = timedelta(seconds=1)
NOT_FOUND_RETRY_DELAY = timedelta(seconds=5)
CONFLICT_RETRY_DELAY = timedelta(minutes=1)
REJECTED_RETRY_DELAY = timedelta(seconds=2)
DELETE_IT = "delete it, and the object of the bundle is installed"
SET_POLICY = "set adoptionPolicy to IfUnowned to take it over"
IS_TAKEN_OVER = "it is taken over"
WITH_RESOURCES = " with its custom resources"
"""The end of both for a CustomResourceDefinition, whose deletion no message advises: it deletes all custom resources."""
MAX_CAUSE_BYTES = 400
"""UTF-8 bytes of what the API server says before an advice: of a Job it prints the whole template, twice."""
NEVER_ADVISED = frozenset({CRD, NAMESPACE})
"""Kinds that no message advises to delete: other objects go with it."""
WHAT_DELETION_TAKES = {
    ("", "PersistentVolumeClaim"): " This deletes the data of its volume, unless the PersistentVolume is retained",
    (
        "apps",
        "StatefulSet",
    ): " Its PersistentVolumeClaims stay, unless its persistentVolumeClaimRetentionPolicy deletes them",
}
MAX_REJECTIONS_SHOWN = 3
"""Rejected objects that a message names; the conflicting objects among them are watched."""

Object = Mapping[str, Any]


@dataclass(frozen=True)
class ApplyErrors:
    """Reads the object or its Namespace if the error alone does not explain the failure."""

    client: Client
    holder: Callable[[str], str]
    """The name of the BundleDeployment of a uid, empty when there is none."""
    adopts: bool = False
    """True if an object that nobody manages is taken over."""
    since: str = ""
    """The time when the BundleDeployment was created, as the API server writes it; empty: nothing has lost its label."""

    async def explain(self, uid: str, kind: Kind, body: Object, error: ApiError) -> dict[str, str]:
        """Raise what the failed apply of `body` means for the BundleDeployment of that uid.

        Returns the precondition with which the object is taken over as it was found; empty if the same apply is to be retried.
        """
        key = _key(kind, body)
        if isinstance(error, Conflict) or (isinstance(error, Invalid) and "uid" in body["metadata"]):
            adopted = await self._explain_precondition(uid, kind, body)
            if adopted:
                return adopted
        if isinstance(error, Conflict):
            return {}
        if isinstance(error, NotFound):
            raise Waiting(Reason.RETRYING, f"{key}: {error.message}", NOT_FOUND_RETRY_DELAY, [str(key)]) from error
        # The API server answers 500 without a reason when fields do not fit the kind's schema.
        if isinstance(error, Unavailable) and not (error.status == 500 and not error.reason):
            return {}
        await self._explain_namespace(key)
        advice = await self._advise_deletion(uid, kind, body, error)
        cause = truncate(error.message.rstrip(), MAX_CAUSE_BYTES) if advice else error.message
        text = f"{key}: {cause}{advice}"
        subject = [f"{key}: {error.reason}"]
        raise ApplyRejected(Reason.BLOCKED, text, REJECTED_RETRY_DELAY, subject, refused=frozenset({key})) from error

    async def _explain_precondition(self, uid: str, kind: Kind, body: Object) -> dict[str, str]:
        """Raise the error if the object with this key is another one than was observed; the precondition of its takeover if it is
        to be taken over."""
        key = _key(kind, body)
        try:
            live = await self.client.get(kind, key.name, key.namespace or None)
        except NotFound:
            raise BriefWait(Reason.RETRYING, f"{key} was deleted", CHANGED_RETRY_DELAY) from None
        metadata = live["metadata"]
        if body["metadata"].get("uid") == metadata["uid"]:
            return {}
        holder = (metadata.get("labels") or {}).get(OWNER_UID_LABEL, "")
        is_released = key[:2] == CRD and not holder and RELEASED_ANNOTATION in (metadata.get("annotations") or {})
        is_ours = is_applied_by(live, uid, self.holder(uid))
        if key[:2] == NAMESPACE or is_ours or is_released:
            raise BriefWait(Reason.RETRYING, f"{key} changed", CHANGED_RETRY_DELAY)
        if metadata.get("deletionTimestamp"):
            text = f"waiting until it is gone: {with_finalizers(key, metadata.get('finalizers') or ())}"
            raise Waiting(Reason.RETRYING, text, NOT_FOUND_RETRY_DELAY, [str(key)])
        found = await find_ownership(self.client, live, self.holder, self.holder(uid))
        if found.is_left and key[:2] == CRD:
            # Observed as released, it is compared with that of the bundle before it is replaced.
            raise BriefWait(Reason.RETRYING, f"{key} changed", CHANGED_RETRY_DELAY)
        if found.is_left or (self.adopts and not found.owner) or self._has_lost_label(uid, key, live, found):
            return unchanged_precondition(live)
        claim, by = next((item for item in found.claims.items() if item[0].tool == found.owner), (None, None))
        conflicting = {ConflictingObject(kind, key.namespace, key.name), *((by,) if by is not None else ())}
        text = f"{key} already exists and {self._ownership(key, metadata, found, claim, by)}"
        subject = [f"{key} of {found.owner}"]
        raise ApplyRejected(
            Reason.BLOCKED, text, CONFLICT_RETRY_DELAY, subject, conflicting_objects=frozenset(conflicting)
        )

    def _has_lost_label(self, uid: str, key: ObjectKey, live: Object, found: Ownership) -> bool:
        """Report whether this BundleDeployment has applied the object, and others have removed its label or given it another one.
        What an earlier one of its name has left without a label was left on purpose. A CustomResourceDefinition is never taken
        back: what replaces it would have to be compared with it first."""
        is_nobodys = not found.owner and found.departed is None and key[:2] != CRD
        return is_nobodys and has_applied_since(live, manager_name(self.holder(uid)), self.since)

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

    async def _advise_deletion(self, uid: str, kind: Kind, body: Object, error: ApiError) -> str:
        """That deleting the object lets the change go on, if a new object of the same content would be accepted; else empty.

        The API server is asked, with a dry run under a name that is free: it alone knows which fields of a kind are immutable. An
        admission policy may judge another name differently, so its denial has no advice.
        """
        live = body["metadata"].get("uid")
        is_validated = isinstance(error, Invalid) and error.is_about_fields
        if not is_validated or not live or kind.group_kind in NEVER_ADVISED:
            return ""
        known = {name: value for name, value in body["metadata"].items() if name not in ("uid", "resourceVersion")}
        metadata = {**known, "name": f"dry-run-{live}", **apply_precondition(None)}
        try:
            await self.client.apply(kind, {**body, "metadata": metadata}, manager_name(self.holder(uid)), dry_run=True)
        except ApiError:
            return ""
        return f"; a new object would be accepted: delete this one, and it is created as the bundle has it.{_what_goes(kind)}"

    async def _explain_namespace(self, key: ObjectKey) -> None:
        """Raise Waiting if the Namespace is being deleted: nothing can be created in it."""
        if not key.namespace:
            return
        try:
            namespace = await self.client.get(NAMESPACES, key.namespace)
        except NotFound:
            return
        if namespace["metadata"].get("deletionTimestamp"):
            text = with_blockers(f"waiting until it is gone: Namespace {key.namespace}", blockers_of(namespace))
            raise Waiting(Reason.RETRYING, text, NOT_FOUND_RETRY_DELAY, [f"Namespace {key.namespace}"])


def combine(failed: Mapping[ObjectKey, Exception], applied: frozenset[ObjectKey]) -> Exception:
    """One error for several objects: the rejected ones if there are any, else the first that is waited for, else the first."""
    ordered = [error for _, error in sorted(failed.items())]
    rejected = [error for error in ordered if isinstance(error, ApplyRejected)]
    if rejected:
        named, more = rejected[:MAX_REJECTIONS_SHOWN], len(rejected) - MAX_REJECTIONS_SHOWN
        sentences = [error.message for error in named]
        sentences += [f"and {more} more"] if more > 0 else []
        conflicting = frozenset(item for error in named for item in error.conflicting_objects)
        refused = frozenset(key for error in rejected for key in error.refused)
        after = min(error.after for error in rejected)
        subject = [name for error in rejected for name in error.subject]
        return ApplyRejected(rejected[0].reason, "; ".join(sentences), after, subject, applied, conflicting, refused)
    waiting = [error for error in ordered if isinstance(error, OlmError)]
    return (waiting or ordered)[0]


def _who_left(departed: Departed) -> str:
    """Whose the object was, and why it is not taken over without being asked for."""
    if departed.is_replaced:
        text = f"an earlier BundleDeployment {departed.name} has left it (uid {departed.uid}); the one that has this name now"
        return f"{text} takes it over if it is in its bundle"
    return (
        f"BundleDeployment {departed.name}, which is gone, has left it, but {departed.changed_by} has changed it since"
    )


def _what_goes(kind: Kind) -> str:
    """Say what is deleted with an object of the kind, or may seem to be, as a sentence without its full stop."""
    if "." in kind.group and not kind.group.endswith(".k8s.io"):
        return " This deletes what its operator keeps for it, too"
    return WHAT_DELETION_TAKES.get(kind.group_kind, "")


def _key(kind: Kind, body: Object) -> ObjectKey:
    metadata = body["metadata"]
    return ObjectKey(kind.group, kind.kind, metadata.get("namespace") or "", metadata["name"])
