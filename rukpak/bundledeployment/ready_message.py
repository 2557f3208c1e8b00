"""The message of the condition Ready of a BundleDeployment: progress, error, or success with warnings. Also the conditions about
remaining work.

Pure.
"""

from __future__ import annotations

from collections.abc import Iterable

from olmkit.api.bundle_annotations import BUNDLE_NAME_ANNOTATION, VERSION_ANNOTATION
from olmkit.api.bundledeployment_status import Loss
from olmkit.api.bundledeployments import ConditionType, Reason
from olmkit.api.conditions import DesiredCondition, cause_of, find_condition
from olmkit.errors import Blocked, OlmError, Waiting
from olmkit.gocompat.text import list_names
from olmkit.gocompat.versions import BadVersion, parse_bundle_version
from rukpak.bundledeployment.apply.shared_namespaces import namespace_warnings
from rukpak.bundledeployment.delays import RETRIED
from rukpak.bundledeployment.drift import is_up_to_date
from rukpak.bundledeployment.evaluation import Evaluation
from rukpak.bundledeployment.plan import Apply, Done
from rukpak.bundledeployment.rendered_bundle import RenderedBundle
from rukpak.bundledeployment.world import ApplyRejected, World
from rukpak.format.objects import ObjectKey

_RECONCILING_REASONS = {
    Reason.UNPACK_PENDING,
    Reason.UNPACK_FAILED,
    Reason.WAITING_FOR_KIND,
    Reason.WAITING_FOR_WEBHOOK,
    Reason.WAITING_FOR_SERVICE_ACCOUNT,
    Reason.WAITING_FOR_NAMESPACE,
    Reason.OPERATOR_CONDITION_NOT_UPGRADEABLE,
    Reason.REMOVING,
}
"""Reasons of a Waiting that Reconciling reports as they are. It reports any other reason as Retrying."""
Outcome = Done | Exception
"""The outcome of the pass: its result, or the error that prevented one."""


def ready_message(
    world: World, evaluation: Evaluation, outcome: Outcome, active: str | None, *, is_repair_pending: bool
) -> str:
    """The message of Ready: the progress or the error. If there is neither, it says that the bundle is installed, with
    warnings."""
    is_installing = is_under_way(world, active)
    if isinstance(outcome, Done):
        if not is_installing:
            return "; ".join([f"Instantiated bundle {active} successfully", *_warnings(world)])
        said = (evaluation.irreversible, evaluation.permitted_loss, evaluation.interruption, evaluation.remarks)
        return "; ".join(filter(None, [_progress(world, outcome, active), *said]))
    reason = error_text(outcome)
    if isinstance(outcome, ApplyRejected) and outcome.refused_in and not _is_rolled_back_next(world, evaluation):
        reason = f"{reason}; {RETRIED}"
    if not is_installing:
        if world.account_refusal and (world.unsynced or not is_repair_pending):
            return f"the installed bundle is not maintained: {reason}"
        return _no_repair(outcome, reason, is_repair_pending=is_repair_pending)
    if active is None:
        return reason
    if isinstance(outcome, Waiting) and outcome.reason == Reason.OPERATOR_CONDITION_NOT_UPGRADEABLE:
        return f"the upgrade to {_target(world)} waits: {reason}"
    verb = _verb(world, active) if _is_pause(outcome) else f"cannot {_verb(world, active, doing=False)}"
    new = list_names(map(str, _new_objects(world, outcome)))
    # An upgrade that is refused before it begins has no effects.
    is_refused = isinstance(evaluation.blocker, Blocked | ApplyRejected) and not new
    effects = [] if is_refused else [evaluation.irreversible, evaluation.interruption]
    parts = [f"{verb} {_target(world)}: {reason}", f"already new: {new}" if new else "", *effects]
    return "; ".join(filter(None, parts))


def error_text(error: Exception) -> str:
    """The error as a sentence; one that is not written for people follows its class."""
    return str(error) if isinstance(error, OlmError) else f"{type(error).__name__}: {error}"


def _is_rolled_back_next(world: World, evaluation: Evaluation) -> bool:
    """Report whether a rejected apply ends the revision of the target: it is not retried, because what ran is brought back."""
    return world.target.revision is not None and world.fallback is not None and not evaluation.rollback_obstacle


def known_losses(world: World) -> tuple[Loss, ...]:
    """The objects that others have deleted since the spec changed, as the status reports them."""
    status = world.deployment.status
    is_current = status.observed_generation == world.deployment.metadata.generation
    return tuple(status.losses or ()) if is_current else ()


def is_under_way(world: World, active: str | None) -> bool:
    """Report whether the applied objects differ from the desired bundle. True also if the template was reverted during an
    upgrade, or if a change of the spec changes the installation."""
    if not world.is_target(active):
        return True
    status = world.deployment.status
    ready = find_condition(status.conditions, ConditionType.READY)
    was_under_way = ready is not None and ready.reason in (Reason.UPGRADING, Reason.ROLLING_BACK)
    is_new = status.observed_generation != world.deployment.metadata.generation
    if not (was_under_way or is_new) or world.active_bundle != world.target_bundle:
        return False
    content = world.content
    return not (isinstance(content, RenderedBundle) and all(is_up_to_date(world, item) for item in content.objects()))


def _no_repair(outcome: Exception, reason: str, *, is_repair_pending: bool) -> str:
    error = outcome.reason if isinstance(outcome, OlmError) else ""
    if error == Reason.UNPACK_PENDING:
        return "cannot repair: content unavailable"
    if error == Reason.UNPACK_FAILED:
        return f"cannot repair: content unavailable: {reason}"
    if _is_pause(outcome):
        return reason
    if isinstance(outcome, ApplyRejected) and outcome.missing and not is_repair_pending:
        return reason
    is_refused = isinstance(outcome, Blocked | ApplyRejected)
    return (
        f"cannot repair: {reason}" if is_refused or is_repair_pending else f"a request failed and is retried: {reason}"
    )


def _is_pause(outcome: Outcome) -> bool:
    return isinstance(outcome, Waiting) and not isinstance(outcome, ApplyRejected)


def _progress(world: World, done: Done, active: str | None) -> str:
    text = f"{_verb(world, active)} {_target(world)}"
    if isinstance(done.plan, Apply) and done.plan.content.bundle == world.target_bundle:
        content = done.plan.content
        text += f", phase {done.plan.steps[-1].phase} of {len(content.phases)}"
    return text


def _verb(world: World, active: str | None, *, doing: bool = True) -> str:
    if active is None:
        return "installing" if doing else "install"
    if world.target.is_rolled_back:
        return "returning to" if doing else "return to"
    if active == world.target_bundle and world.bundles.keys() > {active}:
        return "returning to" if doing else "return to"
    record = world.record(active)
    if active == world.target_bundle or (record is not None and record.name == _target(world)):
        return "changing" if doing else "change"
    if _is_downgrade(world, active):
        return "downgrading to" if doing else "downgrade to"
    return "upgrading to" if doing else "upgrade to"


def _is_downgrade(world: World, active: str) -> bool:
    """Report whether the target is known to be a lower version than the one that is installed."""
    record, metadata = world.record(active), world.deployment.spec.template.metadata
    wanted = ((metadata.annotations if metadata else None) or {}).get(VERSION_ANNOTATION)
    try:
        return parse_bundle_version(wanted or "") < parse_bundle_version(record.version or "" if record else "")
    except BadVersion:
        return False


def _target(world: World) -> str:
    """The name of the target, for users."""
    if world.target.is_rolled_back and world.target.revision is not None:
        return world.target.revision.name or world.target_bundle
    metadata = world.deployment.spec.template.metadata
    annotations = (metadata.annotations if metadata else None) or {}
    return annotations.get(BUNDLE_NAME_ANNOTATION) or world.target_bundle


def _new_objects(world: World, outcome: Outcome) -> list[ObjectKey]:
    """The applied objects of the desired bundle that the active bundle lacks or has in another form, without the objects that a
    rollback leaves."""
    if not isinstance(world.content, RenderedBundle) or not isinstance(world.active_content, RenderedBundle):
        return []
    old = {item.key: item.digest for item in world.active_content.objects()}
    now = outcome.applied if isinstance(outcome, ApplyRejected) else frozenset()
    return [
        item.key
        for item in world.content.objects()
        if old.get(item.key) != item.digest
        and not world.is_left(item.key)
        and (is_up_to_date(world, item) or item.key in now)
    ]


def _warnings(world: World) -> Iterable[str]:
    content = world.content
    yield from (loss.sentence for loss in known_losses(world))
    if not isinstance(content, RenderedBundle):
        return
    yield from content.warnings
    yield from namespace_warnings(world)
    if world.kept_templates:
        yield f"pods are as they were before, until the bundle changes them: {list_names(map(str, world.kept_templates))}"
    if content.left_out:
        yield f"left out, because the cluster lacks their kinds: {list_names(map(str, content.left_out))}"


def work_condition(world: World, error: Exception | None, active: str | None, message: str) -> DesiredCondition | None:
    """The condition Stalled, or Reconciling while the target is installed; None if the health of the installed objects
    decides."""
    cause = cause_of(error)
    if isinstance(error, Blocked | ApplyRejected):
        return DesiredCondition(ConditionType.STALLED, "True", Reason.BLOCKED, message, cause)
    if error is not None:
        reason = getattr(error, "reason", "")
        reason = reason if isinstance(error, Waiting) and reason in _RECONCILING_REASONS else Reason.RETRYING
    elif is_under_way(world, active):
        reason = Reason.UPGRADING if active else Reason.INSTALLING
    else:
        return None
    return DesiredCondition(ConditionType.RECONCILING, "True", reason, message, cause)
