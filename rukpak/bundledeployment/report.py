"""The status of a BundleDeployment that is true after a pass, from its World, the evaluation and the outcome.

A failed attempt changes the report about progress, never the report about the installed bundle. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from olmkit.api.bundledeployment_status import MAX_REFERENCES, BundleDeploymentStatus
from olmkit.api.bundledeployments import ConditionType, Reason
from olmkit.api.conditions import (
    Cause,
    DesiredCondition,
    StatusReport,
    cause_of,
    causes_of,
    find_condition,
    merge_conditions,
)
from olmkit.api.deployed_objects import MAX_FAILED_OBJECTS, FailedObject, FailedObjects, ObjectReference
from olmkit.api.meta import Condition
from olmkit.errors import Blocked, Conflict, OlmError, Waiting
from olmkit.gocompat.text import list_names
from olmkit.stored_times import has_passed
from rukpak.bundledeployment import announcements
from rukpak.bundledeployment.apply import created_namespaces
from rukpak.bundledeployment.apply.install import has_pending
from rukpak.bundledeployment.apply.notes import reported
from rukpak.bundledeployment.apply.repairs import MAX_SENTENCES_SHOWN, losses, new_losses
from rukpak.bundledeployment.bundle_info import UnpackState
from rukpak.bundledeployment.count_schedule import is_count_wanted
from rukpak.bundledeployment.deletion.removal_message import removal_message
from rukpak.bundledeployment.evaluate import evaluate, unpacking
from rukpak.bundledeployment.evaluation import Evaluation
from rukpak.bundledeployment.health.progress import HealthEvaluation, evaluate_health
from rukpak.bundledeployment.object_references import key_of, reference, references
from rukpak.bundledeployment.pass_events import pass_events, released_warning
from rukpak.bundledeployment.plan import (
    Activate,
    Announce,
    Apply,
    BeginRevision,
    CheckExistingObjects,
    CheckPermissions,
    CheckRemovalPermissions,
    CopyConditions,
    DeleteBundles,
    Done,
    ForgetNotes,
    ListForeignObjects,
    ReadUsage,
    RecordNamespaces,
    RecordTemplates,
    RemoveFinalizer,
    RenderChart,
    RollBack,
    UpdateInventory,
    WriteCertificates,
)
from rukpak.bundledeployment.ready_message import Outcome, is_under_way, ready_message, work_condition
from rukpak.bundledeployment.rendered_bundle import RenderedBundle
from rukpak.bundledeployment.report_failure import failure_of
from rukpak.bundledeployment.report_refusals import refusals
from rukpak.bundledeployment.revisions.history import next_history
from rukpak.bundledeployment.revisions.rollback import before_rollback, with_rollback
from rukpak.bundledeployment.world import CRD, NAMESPACE, ApplyRejected, BriefWait, DeletedWorld, World
from rukpak.format.objects import ObjectKey

MAX_SILENT_WAIT = timedelta(seconds=30)
"""A BriefWait is reported only after this long."""
_REPORTED_FIRST = (Announce, BeginRevision, ForgetNotes, RecordNamespaces, RecordTemplates, RollBack)
"""Plans whose status is written before the writes that depend on it."""
_KEPT_WHILE_REMOVING = (ConditionType.HAS_VALID_BUNDLE, ConditionType.INSTALLED, ConditionType.HEALTHY)
_UNREPAIRABLE_REASONS = (
    Reason.UNPACK_PENDING,
    Reason.UNPACK_FAILED,
    Reason.WAITING_FOR_KIND,
    Reason.WAITING_FOR_WEBHOOK,
    Reason.WAITING_FOR_SERVICE_ACCOUNT,
    Reason.WAITING_FOR_NAMESPACE,
)
"""Reasons of a Waiting during which installed objects cannot be repaired. Ready is False with these reasons."""
_UNPACKED_REASONS = (
    Reason.WAITING_FOR_KIND,
    Reason.WAITING_FOR_NAMESPACE,
    Reason.BLOCKED,
    Reason.RETRYING,
    Reason.OPERATOR_CONDITION_NOT_UPGRADEABLE,
)
"""Reasons of a blocker that say nothing about the Bundle itself."""


@dataclass(frozen=True)
class BundleDeploymentReport(StatusReport[BundleDeploymentStatus]):
    """The report of one pass."""

    raw: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """The BundleDeployment that the status is written to: as observed, or as written in this pass."""
    brief_wait_since: datetime | None = None
    """The end of the first of the consecutive passes that ended with a BriefWait; None if this pass did not."""


def report(
    world: World | DeletedWorld, evaluation: Evaluation | None, outcome: Outcome
) -> BundleDeploymentReport | None:
    """The status that is true after the pass, and its transitions; None if the BundleDeployment is gone.

    If the next pass follows immediately, the pass leaves a status of this generation unchanged. A BriefWait also leaves the
    status of a new BundleDeployment unchanged.
    """
    if isinstance(world, DeletedWorld) or (isinstance(outcome, Done) and isinstance(outcome.plan, RemoveFinalizer)):
        return None
    evaluation = evaluation or world.evaluation or evaluate(world)
    written = outcome.written if isinstance(outcome, Done) else None
    return replace(_report(world, evaluation, outcome), raw=written or world.raw)


def _report(world: World, evaluation: Evaluation, outcome: Outcome) -> BundleDeploymentReport:
    status, generation = world.deployment.status, world.deployment.metadata.generation
    since, events = _brief_wait_since(world, outcome), pass_events(world, evaluation, outcome)
    is_new = isinstance(outcome, BriefWait) and status.observed_generation < 0
    if isinstance(outcome, Conflict) or (
        _is_passing(world, outcome)
        and not new_losses(world, outcome)
        and (is_new or status.observed_generation == generation)
    ):
        return BundleDeploymentReport(status, events=events, brief_wait_since=since)
    active = world.target_bundle if _is_activated(outcome) else world.active_bundle
    (released, released_truncated), failed = _released(world), status.failed
    if world.deployment.metadata.deleting:
        wanted = _removing(world, evaluation, outcome)
    else:
        events += released_warning(world, released or ())
        wanted, failed = _installing(world, evaluation, outcome, active)
    history, shown = next_history(world, outcome, wanted), _reported_outcome(world, evaluation, outcome, active)
    wanted = before_rollback(world, history.revisions, evaluation.rollback_obstacle, wanted)
    conditions, transitions = merge_conditions(status.conditions, wanted, generation, world.now)
    new = BundleDeploymentStatus(
        observed_generation=generation,
        conditions=conditions,
        active_bundle=active,
        installed=world.record(active),
        applied_digest=reported(world, outcome),
        **history.fields(),
        **refusals(world, outcome, shown, active),
        failure=failure_of(world, shown, wanted, failed, history.revisions),
        install_namespace=_install_namespace(world, active),
        created_namespaces=created_namespaces.reported(world, outcome),
        **_left_out(world, outcome),
        released=released,
        released_truncated=released_truncated,
        failed=failed,
        announced=announcements.reported(world, evaluation, outcome),
        losses=losses(world, outcome),
        **_counts(world),
    )
    is_required = isinstance(outcome, Done) and isinstance(outcome.plan, _REPORTED_FIRST)
    return BundleDeploymentReport(new, transitions, events, is_required, causes_of(wanted), brief_wait_since=since)


def _installing(
    world: World, evaluation: Evaluation, outcome: Outcome, active: str | None
) -> tuple[list[DesiredCondition], FailedObjects | None]:
    """The conditions of a BundleDeployment that is not being deleted, and the objects that failed."""
    health = _health(world, shown := _reported_outcome(world, evaluation, outcome, active), active)
    wanted = _conditions(world, evaluation, shown, active, health)
    return with_rollback(world, outcome, evaluation.rollback_obstacle, wanted), _failed(world, health, outcome)


def _brief_wait_since(world: World, outcome: Outcome) -> datetime | None:
    return (world.brief_wait_since or world.now) if isinstance(outcome, BriefWait) else None


def _is_activated(outcome: Outcome) -> bool:
    return isinstance(outcome, Done) and isinstance(outcome.plan, Activate)


def _is_passing(world: World, outcome: Outcome) -> bool:
    """Report whether the next pass follows at once and reports more."""
    if isinstance(outcome, BriefWait):
        return world.brief_wait_since is None or not has_passed(world.brief_wait_since, MAX_SILENT_WAIT, world.now)
    if isinstance(outcome, Done) and isinstance(outcome.plan, Apply):
        return outcome.plan.steps[-1].phase == len(outcome.plan.content.phases)
    if isinstance(outcome, Done) and isinstance(outcome.plan, DeleteBundles):
        return any(bundle in (*world.changed_bundles, world.left_bundle) for bundle in outcome.plan.bundles)
    return isinstance(outcome, Done) and isinstance(
        outcome.plan,
        UpdateInventory
        | CheckPermissions
        | CheckRemovalPermissions
        | CheckExistingObjects
        | RenderChart
        | CopyConditions
        | WriteCertificates
        | ReadUsage
        | ListForeignObjects,
    )


def _reported_outcome(world: World, evaluation: Evaluation, outcome: Outcome, active: str | None) -> Outcome:
    """The outcome to report: the blocker, if the pass only took a step that is possible while the blocker lasts."""
    is_waited_for = isinstance(outcome, Done) and not world.is_target(active)
    return (evaluation.blocker or outcome) if is_waited_for else outcome


def _conditions(
    world: World, evaluation: Evaluation, outcome: Outcome, active: str | None, health: HealthEvaluation
) -> list[DesiredCondition]:
    error = outcome if isinstance(outcome, Exception) else None
    cause = cause_of(error)
    healthy = _healthy(active, health, cause)
    serves = _serves(world, healthy, health)
    is_repair_pending = error is not None and has_pending(world)
    message = ready_message(world, evaluation, outcome, active, is_repair_pending=is_repair_pending)
    is_broken = is_repair_pending and not isinstance(error, BriefWait)
    work = work_condition(world, error, active, message)
    unready: str | None = work.reason if work is not None else None
    if active:
        unready = _unready_reason(world, error, active, is_broken=is_broken)
    conditions = [
        _has_valid_bundle(world, evaluation.blocker, error),
        _installed(error, active, message, cause),
        healthy,
        _ready(unready, healthy, message, cause, serves=serves),
    ]
    if work is not None:
        return [*conditions, work]
    return conditions if serves else [*conditions, *_unfinished(healthy, health)]


def _health(world: World, outcome: Outcome, active: str | None) -> HealthEvaluation:
    if not active:
        return HealthEvaluation()
    applied = outcome.applied if isinstance(outcome, Done | ApplyRejected) else frozenset()
    return evaluate_health(world, active, applied, is_activated=_is_activated(outcome))


def _failed(world: World, health: HealthEvaluation, outcome: Outcome) -> FailedObjects | None:
    """The objects that make Healthy False, recorded for the next passes. Those of which nothing is known now stay as reported,
    unless the pass makes the objects those of another bundle."""
    is_other = isinstance(outcome, Done) and isinstance(outcome.plan, Activate | RollBack)
    before = None if is_other else world.deployment.status.failed
    objects = [
        FailedObject(**reference(one.key).model_dump(), absent=one.is_absent or None, late=one.is_late or None)
        for one in health.failed[: MAX_FAILED_OBJECTS + 1]
    ]
    is_truncated = False
    if before is not None:
        objects += [one for one in before.objects if _is_unknown(world, one, health)]
        is_truncated = bool(before.truncated and health.unlisted)
    is_truncated |= len(objects) > MAX_FAILED_OBJECTS
    return FailedObjects(objects=objects[:MAX_FAILED_OBJECTS], truncated=is_truncated or None) if objects else None


def _is_unknown(world: World, one: FailedObject, health: HealthEvaluation) -> bool:
    """Report whether the state of an object is not known: its kind cannot be listed, or it was absent and nobody knows whether it
    is part of the bundle."""
    key = key_of(one)
    if key in world.owned:
        return False
    return key[:2] in world.unsynced or (bool(one.absent) and not health.is_complete)


def _serves(world: World, healthy: DesiredCondition, health: HealthEvaluation) -> bool:
    """Report whether an installed bundle that was Ready stays Ready: its workload is being scaled, and the other replicas serve.

    If another client changed more than the scale, this is known as soon as the controller of the workload has observed the
    change.
    """
    ready = find_condition(world.deployment.status.conditions, ConditionType.READY)
    was_ready = ready is not None and ready.status == "True"
    is_known = was_ready and world.deployment.status.observed_generation == world.deployment.metadata.generation
    return is_known and healthy.reason == Reason.PROGRESSING and health.is_serving


def _unfinished(healthy: DesiredCondition, health: HealthEvaluation) -> list[DesiredCondition]:
    """The condition Stalled or Reconciling of an installed bundle that is not healthy."""
    if healthy.status == "True":
        return []
    if health.failed and healthy.reason == Reason.UNHEALTHY:
        return [DesiredCondition(ConditionType.STALLED, "True", Reason.UNHEALTHY, healthy.message, healthy.cause)]
    reason = Reason.PROGRESSING if healthy.reason == Reason.PROGRESSING else Reason.RETRYING
    return [DesiredCondition(ConditionType.RECONCILING, "True", reason, healthy.message, healthy.cause)]


def _has_valid_bundle(world: World, blocker: OlmError | None, error: Exception | None) -> DesiredCondition:
    kind, bundle = ConditionType.HAS_VALID_BUNDLE, world.bundles.get(world.target_bundle)
    if blocker is None or blocker.reason in _UNPACKED_REASONS:
        text = f"Successfully unpacked the {world.target_bundle} Bundle"
        return DesiredCondition(kind, "True", Reason.UNPACK_SUCCESSFUL, text)
    if bundle is None and isinstance(error, Blocked):  # the Bundle is not created
        return DesiredCondition(kind, "False", error.reason, error.message, cause_of(error))
    pending = bundle is None or bundle.unpack_state in (UnpackState.PENDING, UnpackState.DONE)
    if pending and blocker.reason == Reason.UNPACK_PENDING:
        return DesiredCondition(kind, "False", Reason.UNPACK_PENDING, unpacking(world), cause_of(blocker))
    return DesiredCondition(kind, "False", blocker.reason, blocker.message, cause_of(blocker))


def _installed(error: Exception | None, active: str | None, message: str, cause: Cause | None) -> DesiredCondition:
    kind = ConditionType.INSTALLED
    if active:
        return DesiredCondition(
            kind, "True", Reason.INSTALLATION_SUCCEEDED, f"Instantiated bundle {active} successfully"
        )
    if error is None:
        return DesiredCondition(kind, "False", Reason.INSTALLING, message)
    if isinstance(error, Waiting) and not isinstance(error, ApplyRejected):
        return DesiredCondition(kind, "Unknown", Reason.INSTALL_PENDING, message, cause)
    return DesiredCondition(kind, "False", Reason.INSTALL_FAILED, message, cause)


def _healthy(active: str | None, health: HealthEvaluation, unready: Cause | None) -> DesiredCondition:
    """The condition Healthy. `unready`: the reason why nothing is installed."""
    kind = ConditionType.HEALTHY
    if not active:
        text = "Installed condition is false"
        return DesiredCondition(kind, "False", Reason.INSTALLATION_STATUS_FALSE, text, unready)
    if health.unlisted:
        text = f"cannot be read now: {list_names(health.unlisted)}"
        cause = Cause(Reason.OBJECT_LOOKUP_FAILURE, frozenset(health.unlisted))
        return DesiredCondition(kind, "Unknown", Reason.OBJECT_LOOKUP_FAILURE, text, cause)
    unhealthy = [*map(str, health.failed), *health.contested]
    if unhealthy:
        names = frozenset(health.contested).union(*(one.subject for one in health.failed))
        return DesiredCondition(kind, "False", Reason.UNHEALTHY, _summarize(unhealthy), Cause(Reason.UNHEALTHY, names))
    if health.in_progress:
        return DesiredCondition(kind, "Unknown", Reason.PROGRESSING, _summarize(list(map(str, health.in_progress))))
    if not health.is_complete:
        text = "not known while the content of the bundle is unavailable: objects may be missing"
        return DesiredCondition(kind, "Unknown", Reason.OBJECT_LOOKUP_FAILURE, text)
    return DesiredCondition(kind, "True", Reason.HEALTHY, "BundleDeployment is healthy")


def _summarize(sentences: list[str]) -> str:
    more = len(sentences) - MAX_SENTENCES_SHOWN
    return "; ".join(sentences[:MAX_SENTENCES_SHOWN]) + (f"; and {more} more" if more > 0 else "")


def _unready_reason(world: World, error: Exception | None, active: str, *, is_broken: bool) -> str | None:
    """The reason why Ready is False even if the installed objects are healthy; None if their health decides."""
    if isinstance(error, Waiting) and error.reason == Reason.OPERATOR_CONDITION_NOT_UPGRADEABLE:
        return error.reason
    if is_under_way(world, active):
        return Reason.UPGRADING
    if isinstance(error, Blocked | ApplyRejected):
        return Reason.BLOCKED
    if isinstance(error, Waiting) and error.reason in _UNREPAIRABLE_REASONS:
        return error.reason
    return Reason.RETRYING if is_broken else None


def _ready(
    reason: str | None, healthy: DesiredCondition, message: str, cause: Cause | None, *, serves: bool
) -> DesiredCondition:
    kind = ConditionType.READY
    if reason is not None:
        return DesiredCondition(kind, "False", reason, message, cause)
    if serves:
        return DesiredCondition(kind, "True", Reason.SUCCEEDED, f"{message}; {healthy.message}")
    if healthy.status != "True":
        return DesiredCondition(kind, "False", healthy.reason, healthy.message, healthy.cause)
    return DesiredCondition(kind, "True", Reason.SUCCEEDED, message)


# --- the other fields


def _install_namespace(world: World, active: str | None) -> str | None:
    content = world.content if active is None or world.is_target(active) else world.active_content
    return content.namespace if isinstance(content, RenderedBundle) else world.deployment.status.install_namespace


def _left_out(world: World, outcome: Outcome) -> dict[str, Any]:
    """Everything of the bundle that is not applied: objects, and pod templates, which are named before they are left out."""
    is_recorded = isinstance(outcome, Done) and isinstance(outcome.plan, RecordTemplates)
    waiting = world.prepared_templates if is_recorded else world.prepared_templates & world.named_templates
    kept = dict.fromkeys([*world.kept_templates, *sorted(waiting)])
    return {**_left_out_objects(world), "kept_templates": references(sorted([*kept][:MAX_REFERENCES]))[0]}


def _left_out_objects(world: World) -> dict[str, Any]:
    """leftOut and leftOutTruncated."""
    status = world.deployment.status
    if not isinstance(world.content, RenderedBundle):
        return {"left_out": status.left_out, "left_out_truncated": status.left_out_truncated}
    named, truncated = references(sorted(world.content.left_out))
    return {"left_out": named, "left_out_truncated": truncated}


def _released(world: World) -> tuple[list[ObjectReference] | None, bool | None]:
    """released and releasedTruncated: the objects whose annotation says that this BundleDeployment released them, unless they
    have an owner again."""
    namespaces = [
        entry.name for entry in world.namespaces.values() if entry.released_by == world.name and not entry.members
    ]
    crds = [crd.name for crd in world.crds.values() if crd.released_by == world.name and not crd.owner_uid]
    keys = [ObjectKey(*NAMESPACE, "", name) for name in sorted(namespaces)]
    keys += [ObjectKey(*CRD, "", name) for name in sorted(crds)]
    return references(keys)


def _counts(world: World) -> dict[str, Any]:
    """customResources and lastHandledCount of the last count, else as reported; empty if no count is wanted."""
    counts, status = world.custom_resource_counts, world.deployment.status
    if not is_count_wanted(world.deployment):
        return {}
    if counts is None:
        return {"custom_resources": status.custom_resources, "last_handled_count": status.last_handled_count}
    return {"custom_resources": list(counts.counts) or None, "last_handled_count": counts.request or None}


# --- deletion


def _removing(world: World, evaluation: Evaluation, outcome: Outcome) -> list[DesiredCondition]:
    """The conditions while the BundleDeployment is being deleted: the conditions about the bundle stay, and Ready reports the
    removal."""
    old = {condition.type: condition for condition in world.deployment.status.conditions}
    kept = [_unchanged(old[kind]) for kind in _KEPT_WHILE_REMOVING if kind in old]
    text = evaluation.deletion_hold or "; ".join(
        filter(None, (removal_message(world, outcome), evaluation.foreign_objects))
    )
    reason = Reason.DELETION_HELD if evaluation.deletion_hold else Reason.REMOVING
    return [
        *kept,
        DesiredCondition(ConditionType.READY, "False", reason, text),
        DesiredCondition(ConditionType.RECONCILING, "True", reason, text),
    ]


def _unchanged(condition: Condition) -> DesiredCondition:
    return DesiredCondition(condition.type, condition.status, condition.reason, condition.message)
