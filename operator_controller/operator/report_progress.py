"""The conditions Ready, Reconciling and Stalled of an Operator after a pass. `report` calls it. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, assert_never

from olmkit.api import bundledeployments
from olmkit.api.bundledeployments import ConditionType as DeploymentCondition
from olmkit.api.bundledeployments import Reason as DeploymentReason
from olmkit.api.conditions import Cause, ConditionValue, DesiredCondition, cause_of
from olmkit.api.meta import Condition
from olmkit.api.operators import ConditionType, Reason
from olmkit.errors import ApiError, OlmError, Waiting
from olmkit.gocompat.text import truncate
from olmkit.gocompat.versions import BadVersion, parse_bundle_version
from operator_controller.operator.evaluation import Held, Kept, Refused, Reported, Resolved, Selected, Unanswered
from operator_controller.operator.planned_bundle import NOT_INSTALLABLE
from operator_controller.operator.world import ObservedBundleDeployment, Outcome, World
from operator_controller.resolve.answers.answer import SelectedBundle
from operator_controller.resolve.explain.explanation import MAX_EXPLANATION_BYTES
from operator_controller.resolve.snapshot.package_snapshot import RunningBundle

_FAILED = (DeploymentReason.INSTALL_FAILED, *NOT_INSTALLABLE)
_REPORTED_WAITING_REASONS = (
    Reason.WAITING_FOR_CATALOG,
    Reason.WAITING_FOR_DEPENDENCIES,
    Reason.WAITING_FOR_DEPENDANTS,
    Reason.WAITING_FOR_OPERATORS,
    Reason.RESOLVING,
    Reason.INSTALLING,
)
"""Reasons of a Waiting that Reconciling reports as they are. It reports all other reasons as Retrying."""


class Progress(NamedTuple):
    """The condition Ready, the condition Reconciling or Stalled, and which notes their message has already. The explanation
    contains both notes."""

    conditions: list[DesiredCondition]
    has_hold_note: bool = False
    has_successor_note: bool = False


def ready_and_progress(world: World, outcome: Outcome, evaluation: Reported) -> Progress:
    """The progress after a pass."""
    if isinstance(outcome, OlmError):
        return _blocked(world, outcome, evaluation)
    if isinstance(outcome, Exception):
        message = error_text("the BundleDeployment could not be written", outcome)
        return Progress(not_ready(_not_ready_reason(world), message, Reason.RETRYING, cause_of(outcome)))
    if evaluation.consequences.successor is not None:
        return _following(evaluation)
    match evaluation:
        case Unanswered() | Refused():
            return _blocked(world, evaluation.blocker, evaluation)
        case Held() if world.owned_bundle_deployment is None:
            # Nobody works on it, and nothing is wrong: neither Reconciling nor Stalled.
            ready = DesiredCondition(ConditionType.READY, "False", evaluation.hold.reason, evaluation.explanation)
            return Progress([ready], has_hold_note=True, has_successor_note=_fits(evaluation.explanation))
        case Kept() | Held() | Selected():
            return _progress_of_deployment(world, evaluation)
        case _:
            assert_never(evaluation)


def _following(evaluation: Reported) -> Progress:
    """The progress while the successor of a deleted Catalog is being recorded."""
    note = evaluation.consequences.successor_note
    return Progress(not_ready(Reason.FOLLOWING_CATALOG, note, Reason.FOLLOWING_CATALOG), has_successor_note=True)


def _progress_of_deployment(world: World, evaluation: Resolved) -> Progress:
    comparison = evaluation.comparison
    deployment = comparison.current_deployment
    if deployment is None:
        if evaluation.consequences.successor_note and comparison.runs_image:
            return _following(evaluation)
        message = _progress_message(world, evaluation, _initial_state(evaluation))
        return Progress(not_ready(_not_ready_reason(world), message, Reason.INSTALLING))
    if comparison.runs_template and deployment.is_true(DeploymentCondition.READY):
        return _installed_and_ready(evaluation, deployment)
    return Progress(_unready(world, evaluation, deployment))


def error_text(what: str, error: Exception) -> str:
    """A failed write as a sentence. An unexpected error may not come from a write, so it is reported by its class."""
    return f"{what if isinstance(error, ApiError) else type(error).__name__}: {error}"


def _fits(*texts: str) -> bool:
    """Report whether a message of these texts fits without truncation."""
    return len("; ".join(texts).encode()) <= MAX_EXPLANATION_BYTES


def _blocked(world: World, blocker: OlmError, evaluation: Reported) -> Progress:
    progress: Reason | None = None
    if isinstance(blocker, Waiting):
        progress = next((known for known in _REPORTED_WAITING_REASONS if blocker.reason == known), Reason.RETRYING)
    match evaluation:
        case Kept() | Held() | Selected():
            return Progress(not_ready(_not_ready_reason(world), blocker.message, progress, cause_of(blocker)))
        case Unanswered() | Refused():
            notes = [note] if (note := note_of_hold(evaluation)) else []
            cause = evaluation.resolved.cause or cause_of(blocker)
            conditions = not_ready(Reason.NOT_RESOLVED, evaluation.explanation, progress, cause)
            return Progress(conditions, has_successor_note=_fits(evaluation.explanation, *notes))
        case _:
            assert_never(evaluation)


def _installed_and_ready(evaluation: Resolved, deployment: ObservedBundleDeployment) -> Progress:
    """The progress when the bundle is installed and ready. Its message has the losses and the explanation."""
    losses = [loss.sentence for loss in deployment.model.status.losses or ()]
    texts = [*losses, evaluation.explanation, *_kept_templates(deployment)]
    status: ConditionValue = "True"
    has_hold_note = False
    match evaluation:
        case Held():
            hold = evaluation.hold
            reason = hold.ready_reason
            # Held back as for the first installation: neither Reconciling nor Stalled.
            status = "False" if hold.excludes_running else "True"
            has_hold_note = _fits(*texts) or _fits(*losses, f"{hold.note}…")
        case Kept():
            reason = evaluation.ready_reason
        case Selected():
            reason = Reason.SUCCEEDED
        case _:
            assert_never(evaluation)
    ready = DesiredCondition(ConditionType.READY, status, reason, truncate("; ".join(texts), MAX_EXPLANATION_BYTES))
    return Progress([ready], has_hold_note, _fits(*texts))


def _kept_templates(deployment: ObservedBundleDeployment) -> Iterator[str]:
    """A note about Deployments that were taken over with their pods."""
    kept = deployment.model.status.kept_templates
    if kept:
        names = ", ".join(f"{each.namespace}/{each.name}" for each in kept)
        yield f"pods are as they were before, until the bundle changes them: Deployment.apps {names}"


def _unready(world: World, evaluation: Resolved, deployment: ObservedBundleDeployment) -> list[DesiredCondition]:
    """The conditions while the BundleDeployment is as desired but not ready: they report its state."""
    ready = deployment.condition(DeploymentCondition.READY)
    is_stalled, cause = deployment.is_true(DeploymentCondition.STALLED), cause_of_deployment(deployment)
    if ready is not None and ready.reason in (DeploymentReason.ROLLING_BACK, DeploymentReason.ROLLED_BACK):
        reason = Reason(ready.reason)
        return not_ready(reason, ready.message, None if is_stalled else reason, cause)
    message = _progress_message(world, evaluation, ready.message if ready else _initial_state(evaluation))
    if ready is not None and ready.reason == DeploymentReason.OPERATOR_CONDITION_NOT_UPGRADEABLE:
        return not_ready(Reason(ready.reason), message, Reason(ready.reason), cause)
    if (
        (is_stalled or installation_failure(deployment))
        and world.running is None
        and ready is not None
        and isinstance(evaluation, Selected)
    ):
        message = truncate(f"cannot install {evaluation.bundle.version}: {ready.message}", MAX_EXPLANATION_BYTES)
    is_installed = evaluation.comparison.runs_template and (ready is None or ready.reason != DeploymentReason.UPGRADING)
    if is_stalled or not is_installed:
        progress = None if is_stalled else _progress_reason(deployment)
        return not_ready(_not_ready_reason(world, is_installed=is_installed), message, progress, cause)
    if ready is not None and ready.reason == DeploymentReason.PROGRESSING:
        return not_ready(Reason.PROGRESSING, message, Reason.PROGRESSING)
    return not_ready(Reason.UNHEALTHY, message, _progress_reason(deployment), cause)


def _progress_reason(deployment: ObservedBundleDeployment) -> Reason:
    """The reason of an installation that is in progress, waits or is being retried."""
    reconciling = deployment.condition(DeploymentCondition.RECONCILING)
    if reconciling is not None and reconciling.reason == DeploymentReason.WAITING_FOR_NAMESPACE:
        return Reason.WAITING_FOR_NAMESPACE
    is_retrying = reconciling is not None and reconciling.reason in (DeploymentReason.RETRYING, *_FAILED)
    return Reason.RETRYING if is_retrying else Reason.INSTALLING


def _not_ready_reason(world: World, *, is_installed: bool = False) -> Reason | None:
    """The reason why Ready is False; None while nothing is installed, because Ready then has the reason of Reconciling or
    Stalled."""
    if is_installed:
        return Reason.UNHEALTHY
    is_deleting = world.owned_bundle_deployment is not None and world.owned_bundle_deployment.model.metadata.deleting
    return Reason.UPGRADING if world.running is not None and not is_deleting else None


def _initial_state(evaluation: Resolved) -> str:
    """The message until rukpak reports: the rule that selected the bundle."""
    rule = evaluation.short_reason if isinstance(evaluation, Selected) else ""
    return rule or "waiting for rukpak to report the state of the BundleDeployment"


def _progress_message(world: World, evaluation: Resolved, state: str) -> str:
    """The message that names the bundle that is being installed, and its progress."""
    if not isinstance(evaluation, Selected):
        return truncate(state, MAX_EXPLANATION_BYTES)
    bundle, running = evaluation.bundle, world.running
    if running is not None and running.name == bundle.name:
        message = (
            state if evaluation.comparison.runs_image else f"installing another image of {bundle.version}: {state}"
        )
        return truncate(message, MAX_EXPLANATION_BYTES)
    verb = f"{_direction(running, bundle)} from {running.version_text} to" if running is not None else "installing"
    progress = _without_activity(state, bundle.name)
    return truncate(f"{verb} {bundle.version}{f': {progress}' if progress else ''}", MAX_EXPLANATION_BYTES)


def _direction(running: RunningBundle, bundle: SelectedBundle) -> str:
    """The verb for a change of the installed version."""
    try:
        is_lower = running.version is not None and parse_bundle_version(bundle.version) < running.version
    except BadVersion:
        is_lower = False
    return "downgrading" if is_lower else "upgrading"


def _without_activity(state: str, bundle: str) -> str:
    """The state that rukpak reports without its opening "installing <bundle>" or "upgrading to <bundle>"."""
    for verb in ("installing", "upgrading to", "downgrading to"):
        rest = state.removeprefix(f"{verb} {bundle}")
        if rest != state and (not rest or rest.startswith((", ", "; ", ": "))):
            return rest[2:]
    return state


def not_ready(
    reason: Reason | None, message: str, progress: Reason | None, cause: Cause | None = None
) -> list[DesiredCondition]:
    """The condition Ready with status False, and Reconciling if `progress` is a reason, or Stalled if it is None. If `reason` is
    None, Ready has their reason."""
    text = truncate(message, MAX_EXPLANATION_BYTES)
    if progress is None and reason is Reason.UPGRADING:
        reason = Reason.BLOCKED  # nothing is being installed
    ready = DesiredCondition(ConditionType.READY, "False", reason or progress or Reason.BLOCKED, text, cause)
    if progress is None:
        return [ready, DesiredCondition(ConditionType.STALLED, "True", Reason.BLOCKED, text, cause)]
    return [ready, DesiredCondition(ConditionType.RECONCILING, "True", progress, text, cause)]


def note_of_hold(evaluation: Reported) -> str:
    """The reason why nothing is changed, as a note; empty if the bundle may be installed."""
    match evaluation:
        case Held():
            return evaluation.hold.note
        case Refused():
            return evaluation.paused_note
        case Unanswered() | Kept() | Selected():
            return ""
        case _:
            assert_never(evaluation)


def cause_of_deployment(deployment: ObservedBundleDeployment) -> Cause:
    """The cause of the state that a BundleDeployment reports: its conditions, and the objects that have failed."""
    status = deployment.model.status
    conditions = {f"{one.type} {one.status} {one.reason}" for one in status.conditions}
    failed = status.failed.objects if status.failed is not None else ()
    subject = conditions.union(f"{one.kind} {one.namespace}/{one.name}" for one in failed)
    return Cause(bundledeployments.KIND.kind, frozenset(subject))


def installation_failure(deployment: ObservedBundleDeployment) -> Condition | None:
    """The condition that explains why nothing is installed: the condition of the installation, else the condition of
    unpacking."""
    for name in (DeploymentCondition.INSTALLED, DeploymentCondition.HAS_VALID_BUNDLE):
        condition = deployment.condition(name)
        if condition is not None and condition.status == "False" and condition.reason in _FAILED:
            return condition
    return None
