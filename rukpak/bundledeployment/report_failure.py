"""The field failure of the status of a BundleDeployment: why what spec asks for is not installed, or not healthy.

`report` calls it.

    an error that names a failure        that one
    any other error                      by its reason; a request that failed, or an unexpected error, is ApplyFailed
    any other wait                       none, until the revision has exceeded its deadline
    installed, and not healthy           DeadlineExceeded if an object was not healthy in time, else Unhealthy
    rolled back, or about to be          RolledBack, whatever else there is
    being deleted                        none

Never reads a message. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from olmkit.api.bundledeployment_status import MAX_FAILURE_OBJECTS, InstallFailure, Revision
from olmkit.api.bundledeployments import ConditionType, Reason
from olmkit.api.conditions import DesiredCondition
from olmkit.api.deployed_objects import FailedObjects, ObjectReference
from olmkit.api.failures import FailureReason
from olmkit.api.reported_failure import MAX_FAILURE_MESSAGE_BYTES
from olmkit.errors import OlmError, Waiting
from olmkit.gocompat.text import one_line, truncate
from rukpak.bundledeployment.object_references import key_of, reference
from rukpak.bundledeployment.ready_message import Outcome, error_text
from rukpak.bundledeployment.revisions.history import lateness
from rukpak.bundledeployment.world import ApplyRejected, BriefWait, FailedStep, Refused, World
from rukpak.format.objects import ObjectKey

_ROLLBACK = (Reason.ROLLING_BACK, Reason.ROLLED_BACK)
_BY_REASON: dict[str, FailureReason] = {
    Reason.UNPACK_FAILED: FailureReason.UNPACK_FAILED,
    Reason.BUNDLE_LOAD_FAILED: FailureReason.INVALID_BUNDLE,
    Reason.WAITING_FOR_KIND: FailureReason.KIND_MISSING,
    Reason.WAITING_FOR_NAMESPACE: FailureReason.NAMESPACE_MISSING,
    Reason.WAITING_FOR_SERVICE_ACCOUNT: FailureReason.SERVICE_ACCOUNT_MISSING,
    Reason.WAITING_FOR_WEBHOOK: FailureReason.APPLY_FAILED,
    Reason.OBJECT_LOOKUP_FAILURE: FailureReason.APPLY_FAILED,
}
"""Reason of an error that names no failure -> the failure."""


def failure_of(
    world: World,
    outcome: Outcome,
    conditions: Sequence[DesiredCondition],
    failed: FailedObjects | None,
    revisions: Sequence[Revision],
) -> InstallFailure | None:
    """The failure after a pass that reports this outcome, these conditions, these failed objects and these revisions."""
    if world.deployment.metadata.deleting:
        return None
    by_type = {condition.type: condition for condition in conditions}
    ready = by_type[ConditionType.READY]
    if ready.reason in _ROLLBACK:
        return _failure(FailureReason.ROLLED_BACK, ready.message)
    reason = _reason_of(outcome)
    if reason is not None and isinstance(outcome, Exception):
        modes = outcome.install_modes if isinstance(outcome, Refused) else ()
        return _failure(reason, error_text(outcome), _objects_of(outcome), modes)
    if late := lateness(world, revisions, outcome):
        return _failure(FailureReason.DEADLINE_EXCEEDED, late)
    if ready.reason != Reason.UNHEALTHY:
        return None
    objects = failed.objects if failed is not None else ()
    is_late = any(one.late for one in objects)
    reason = FailureReason.DEADLINE_EXCEEDED if is_late else FailureReason.UNHEALTHY
    return _failure(reason, by_type[ConditionType.HEALTHY].message, map(key_of, objects))


def _reason_of(outcome: Outcome) -> FailureReason | None:
    """The reason of a failed pass; None if nothing has failed."""
    match outcome:
        case ApplyRejected() | Refused() | FailedStep():
            return outcome.failure
        case BriefWait():
            return None
        case Waiting():
            return _BY_REASON.get(outcome.reason)
        case OlmError():
            return _BY_REASON.get(outcome.reason, FailureReason.APPLY_FAILED)
        case Exception():
            return FailureReason.APPLY_FAILED
        case _:
            return None


def _objects_of(outcome: Exception) -> Iterable[ObjectKey]:
    """The objects that were refused, or that others have."""
    if not isinstance(outcome, ApplyRejected):
        return ()
    conflicting = (ObjectKey(*one.kind.group_kind, one.namespace, one.name) for one in outcome.conflicting_objects)
    return outcome.refused.union(conflicting)


def _failure(
    reason: FailureReason, message: str, objects: Iterable[ObjectKey] = (), modes: Sequence[str] = ()
) -> InstallFailure:
    named: list[ObjectReference] = [reference(key) for key in sorted(objects)[:MAX_FAILURE_OBJECTS]]
    return InstallFailure(
        reason=reason,
        message=truncate(one_line(message), MAX_FAILURE_MESSAGE_BYTES),
        objects=named or None,
        install_modes=list(modes) or None,
    )
