"""Turns a failed apply into an error with a message for users. Never writes.

another object has the key            adoption.py decides whether it is taken over
no such kind, Namespace or role       Waiting
it or its Namespace is being deleted  Waiting
rejected (schema, admission)          ApplyRejected; of a change that a new object would not be refused for, it says so
no answer, too many requests          the ApiError itself: the queue backs off
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from olmkit.api.bundledeployments import Reason
from olmkit.api.failures import FailureReason
from olmkit.api.meta import Kind, apply_precondition
from olmkit.api.ownership import manager_name
from olmkit.errors import ApiError, Conflict, Forbidden, Invalid, NotFound, OlmError, Unavailable, Waiting
from olmkit.gocompat.text import truncate
from rukpak.bundledeployment.apply.adoption import Adoption, Takeover, key_of
from rukpak.bundledeployment.cluster.namespace_blockers import blockers_of
from rukpak.bundledeployment.cluster.rest_mapper import NAMESPACES
from rukpak.bundledeployment.delays import CHANGED_RETRY_DELAY, NOT_FOUND_RETRY_DELAY, with_blockers
from rukpak.bundledeployment.world import (
    CRD,
    NAMESPACE,
    ApplyRejected,
    BriefWait,
    FailedStep,
)
from rukpak.format.objects import ObjectKey
from rukpak.permissions.needed import BINDINGS

REJECTED_RETRY_DELAY = timedelta(seconds=2)
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

    adoption: Adoption

    async def explain(self, uid: str, kind: Kind, body: Object, error: ApiError) -> Takeover | None:
        """Raise what the failed apply of `body` means for the BundleDeployment of that uid.

        Returns how the object is taken over; None if the same apply is to be retried.
        """
        key = key_of(kind, body)
        if isinstance(error, Conflict) or (isinstance(error, Invalid) and "uid" in body["metadata"]):
            takeover = await self.adoption.takeover(uid, kind, body)
            if takeover is not None:
                return takeover
        if isinstance(error, Conflict):
            return None
        if isinstance(error, NotFound) and kind.group_kind in BINDINGS:  # the API server has not read its new role yet
            raise BriefWait(Reason.RETRYING, f"{key}: {error.message}", CHANGED_RETRY_DELAY, [str(key)]) from error
        if isinstance(error, NotFound):
            text, failure = f"{key}: {error.message}", FailureReason.APPLY_FAILED
            raise FailedStep(failure, Reason.RETRYING, text, NOT_FOUND_RETRY_DELAY, [str(key)]) from error
        # The API server answers 500 without a reason when fields do not fit the kind's schema.
        if isinstance(error, Unavailable) and not (error.status == 500 and not error.reason):
            return None
        await self._explain_namespace(key)
        advice = await self._advise_deletion(uid, kind, body, error)
        cause = truncate(error.message.rstrip(), MAX_CAUSE_BYTES) if advice else error.message
        text = f"{key}: {cause}{advice}"
        subject = [f"{key}: {error.reason}"]
        raise ApplyRejected(Reason.BLOCKED, text, REJECTED_RETRY_DELAY, subject, refused=frozenset({key})) from error

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
            await self.adoption.client.apply(
                kind, {**body, "metadata": metadata}, manager_name(self.adoption.holder(uid)), dry_run=True
            )
        except ApiError:
            return ""
        return f"; a new object would be accepted: delete this one, and it is created as the bundle has it.{_what_goes(kind)}"

    async def _explain_namespace(self, key: ObjectKey) -> None:
        """Raise Waiting if the Namespace is being deleted: nothing can be created in it."""
        if not key.namespace:
            return
        try:
            namespace = await self.adoption.client.get(NAMESPACES, key.namespace)
        except (NotFound, Forbidden):
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
        permitted_by = frozenset(field for error in rejected for field in error.permitted_by)
        is_permissible = all(error.permitted_by for error in rejected)
        return ApplyRejected(
            rejected[0].reason,
            "; ".join(sentences),
            after,
            subject,
            applied,
            conflicting,
            refused,
            permitted_by=permitted_by if is_permissible else frozenset(),
            failure=rejected[0].failure,
        )
    waiting = [error for error in ordered if isinstance(error, OlmError)]
    return (waiting or ordered)[0]


def _what_goes(kind: Kind) -> str:
    """Say what is deleted with an object of the kind, or may seem to be, as a sentence without its full stop."""
    if "." in kind.group and not kind.group.endswith(".k8s.io"):
        return " This deletes what its operator keeps for it, too"
    return WHAT_DELETION_TAKES.get(kind.group_kind, "")
