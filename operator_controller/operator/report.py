"""The status of an Operator after a pass: report(World, Evaluation, outcome) -> StatusReport.

The running bundle is reported during every failure and upgrade. It is read from the active Bundle, never from the desired one.
Fields of the status have the exact names of the catalog, because they are compared. Texts are one line of printable characters.
Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple, assert_never

from olmkit.api import bundledeployments
from olmkit.api.bundledeployments import ConditionType as DeploymentCondition
from olmkit.api.bundledeployments import Reason as DeploymentReason
from olmkit.api.conditions import (
    Cause,
    ConditionValue,
    DesiredCondition,
    PendingEvent,
    StatusReport,
    Transition,
    cause_of,
    causes_of,
    merge_conditions,
)
from olmkit.api.meta import Condition
from olmkit.api.operators import FINALIZER, AvailableBundle, ConditionType, OperatorStatus, Reason
from olmkit.errors import ApiError, Blocked, Conflict, OlmError, Waiting
from olmkit.gocompat.text import one_line, truncate
from olmkit.gocompat.versions import BadVersion, parse_bundle_version
from operator_controller.operator.crd_check import with_crd_check
from operator_controller.operator.dependencies import DeletionEvaluation
from operator_controller.operator.evaluation import (
    INSTALLATION_NOT_ATTEMPTED,
    Evaluation,
    Held,
    Kept,
    Outstanding,
    Refused,
    Reported,
    Resolved,
    Selected,
    Unanswered,
)
from operator_controller.operator.pause_and_approval import excluded_running_version, kept_out, requested_version
from operator_controller.operator.planned_bundle import NOT_INSTALLABLE
from operator_controller.operator.world import (
    UNREPORTED_PLANS,
    CreateDependency,
    Done,
    ObservedBundleDeployment,
    World,
)
from operator_controller.resolve.answers.answer import SelectedBundle
from operator_controller.resolve.answers.deprecations import Deprecations
from operator_controller.resolve.explain.explanation import MAX_EXPLANATION_BYTES
from operator_controller.resolve.explain.spec_hints import running_but_excluded
from operator_controller.resolve.snapshot.package_snapshot import RunningBundle

_TYPES = (
    ConditionType.DEPRECATED,
    ConditionType.PACKAGE_DEPRECATED,
    ConditionType.CHANNEL_DEPRECATED,
    ConditionType.BUNDLE_DEPRECATED,
)


STATUS_UNKNOWN = "bundledeployment status is unknown"
NOT_ATTEMPTED_DEPENDENCIES = "installation has not been attempted as dependencies are not installed"
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
Outcome = Done | Exception


def report(
    world: World, evaluation: Evaluation | DeletionEvaluation | None, outcome: Outcome
) -> StatusReport[OperatorStatus] | None:
    """The status and its transitions; None if the status stays as it is and the next pass reports. There is no evaluation if
    evaluating failed."""
    if isinstance(outcome, Conflict):
        return None
    if isinstance(outcome, Done) and isinstance(outcome.plan, UNREPORTED_PLANS):
        return None
    if isinstance(evaluation, DeletionEvaluation):
        if evaluation.is_outstanding or FINALIZER not in world.operator.metadata.finalizers:
            return None
        return _status(world, _deletion_conditions(world, outcome, evaluation.hold), None)
    if evaluation is None or isinstance(evaluation, Outstanding):
        return None
    outcome = _without_other_plan(outcome, evaluation)
    progress, known = _ready_and_progress(world, outcome, evaluation), evaluation.consequences
    conditions = [
        evaluation.resolved,
        _installed(world, outcome, evaluation),
        *progress.conditions,
        *deprecation_conditions(known.deprecations, world.operator.status.conditions),
    ]
    noted = _with_notes(conditions, progress, evaluation)
    excluded = excluded_running_version(world)
    for note in (known.kept_note, running_but_excluded(excluded) if excluded else ""):
        noted = _with_first_note(noted, note) if note else noted
    return _status(world, _with_missing_bundle(world, noted), evaluation)


def _with_first_note(desired: list[DesiredCondition], note: str) -> list[DesiredCondition]:
    """The conditions with the note at the beginning of the message of Ready."""
    return [
        replace(one, message=truncate(f"{note}; {one.message}", MAX_EXPLANATION_BYTES))
        if one.type == ConditionType.READY
        else one
        for one in desired
    ]


def _without_other_plan(outcome: Outcome, evaluation: Reported) -> Outcome:
    """The outcome to report. If the Plan that was carried out concerns other Operators, its result says nothing about the bundle,
    and the blocker of the installation is reported."""
    if not isinstance(outcome, Done) or evaluation.blocker is None:
        return outcome
    is_recorded_first = evaluation.consequences.successor is not None
    return outcome if is_recorded_first and not isinstance(outcome.plan, CreateDependency) else evaluation.blocker


def _with_notes(desired: list[DesiredCondition], progress: _Progress, evaluation: Reported) -> list[DesiredCondition]:
    """The conditions with notes. Ready names a Hold even while the installed bundle is not healthy, and the successor of a
    deleted Catalog until the record of the running bundle names this successor."""
    hold_note, successor_note = _hold_note(evaluation), evaluation.consequences.successor_note
    if hold_note and not progress.has_hold_note:
        desired = _with_note(desired, hold_note)
    if successor_note and not progress.has_successor_note:
        desired = _with_note(desired, successor_note)
    return desired


def _hold_note(evaluation: Reported) -> str:
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


def _with_missing_bundle(world: World, desired: list[DesiredCondition]) -> list[DesiredCondition]:
    """The conditions if the active Bundle is missing: Ready is not True, and its message ends with a note about the Bundle."""
    if not world.missing_bundle or world.running is None:
        return desired
    note = (
        f'the installed Bundle "{world.missing_bundle}" is missing: the installed objects cannot be repaired until rukpak has '
        "created it again"
    )
    ready = next(condition for condition in desired if condition.type == ConditionType.READY)
    if ready.status == "True":
        return [
            *(condition for condition in desired if condition is not ready),
            *_not_ready(
                Reason.UNHEALTHY, note, Reason.RETRYING, Cause(Reason.UNHEALTHY, frozenset({world.missing_bundle}))
            ),
        ]
    return _with_note(desired, note)


def _with_note(desired: list[DesiredCondition], note: str) -> list[DesiredCondition]:
    """The conditions with the note at the end of the messages of Ready, Reconciling and Stalled, which are truncated to make room
    for it."""
    room = MAX_EXPLANATION_BYTES - len(f"; {note}".encode())
    shown = (ConditionType.READY, ConditionType.RECONCILING, ConditionType.STALLED)
    return [
        replace(condition, message=f"{truncate(condition.message, room)}; {note}")
        if condition.type in shown
        else condition
        for condition in desired
    ]


def _status(world: World, desired: list[DesiredCondition], evaluation: Reported | None) -> StatusReport[OperatorStatus]:
    """The status. While the Operator is being deleted there is no evaluation, and the resolved bundle stays."""
    old, generation = world.operator.status, world.operator.metadata.generation
    conditions, transitions = merge_conditions(old.conditions, desired, generation, world.now)
    status = OperatorStatus(
        observed_generation=generation,
        conditions=conditions,
        wanted_version=_wanted_version(world, evaluation) if evaluation else old.wanted_version,
        resolved_bundle_resource=(_image(evaluation) or None) if evaluation else old.resolved_bundle_resource,
        installed_bundle_resource=(world.running.image or None) if world.running else None,
        installed=world.installed_status,
        available=_available(world, evaluation) if evaluation else None,
        dependencies=(list(evaluation.consequences.dependencies) or None) if evaluation else old.dependencies,
        resolution=one_line(evaluation.explanation) if evaluation else old.resolution,
    )
    return StatusReport(status, transitions, _available_events(old, status, transitions), causes=causes_of(desired))


def _image(evaluation: Reported) -> str:
    """The image of the resolved bundle; "" if none was resolved."""
    match evaluation:
        case Unanswered() | Refused():
            return ""
        case Kept() | Held():
            return evaluation.image
        case Selected():
            return evaluation.bundle.image
        case _:
            assert_never(evaluation)


def _available(world: World, evaluation: Reported) -> AvailableBundle | None:
    """The bundle that waits for a person, or else the bundle that another reason keeps from being installed."""
    kept = evaluation.consequences.available
    available = kept_out(world, kept) if kept is not None else None
    if isinstance(evaluation, Held) and evaluation.hold.available is not None:
        available = evaluation.hold.available
    return with_crd_check(world, available) if available is not None else None


def _available_events(
    old: OperatorStatus, new: OperatorStatus, transitions: tuple[Transition, ...]
) -> tuple[PendingEvent, ...]:
    """The Event for another bundle that waits. It is left out if Ready becomes True at the same time, because the Event of Ready
    names the bundle."""
    available, before = new.available, old.available
    if available is None or (
        before is not None and (before.version, before.reason) == (available.version, available.reason)
    ):
        return ()
    if any((one.type, one.status) == (ConditionType.READY, "True") for one in transitions):
        return ()
    reason = Reason.UPGRADE_AVAILABLE if new.installed is not None else available.reason
    return (PendingEvent("Normal", reason, truncate(available.message, MAX_EXPLANATION_BYTES), ConditionType.READY),)


def _wanted_version(world: World, evaluation: Reported) -> str | None:
    """The version that was selected or stays, else the version of the spec."""
    match evaluation:
        case Selected():
            return evaluation.bundle.version
        case Held():
            available = evaluation.hold.available
            return requested_version(world) or (available.version if available is not None else None)
        case Kept() if world.running is not None:
            return world.running.version_text or None
        case Unanswered() | Refused() | Kept():
            return world.operator.spec.version
        case _:
            assert_never(evaluation)


# --- Installed


def _installed(world: World, outcome: Outcome, evaluation: Reported) -> DesiredCondition:
    if world.running is not None:
        missing = f'; its Bundle "{world.missing_bundle}" is missing' if world.missing_bundle else ""
        return _installed_condition(
            "True", Reason.SUCCESS, f'installed from "{world.running.image or world.running.name}"{missing}'
        )
    if world.missing_bundle:
        return _installation_unknown(f'the installed Bundle "{world.missing_bundle}" is missing')
    existing = world.owned_bundle_deployment
    if existing is None and (not_attempted := _not_attempted(evaluation)):
        return _installation_unknown(not_attempted)
    if isinstance(evaluation, Unanswered | Refused):
        return _installed_as_reported(existing if existing is not None and existing.is_current else None)
    if isinstance(outcome, Blocked | ApiError):
        return _installed_condition("False", Reason.INSTALLATION_FAILED, str(outcome), cause_of(outcome))
    return _installed_as_reported(evaluation.comparison.current_deployment)


def _not_attempted(evaluation: Reported) -> str:
    """Explain why the first installation has not been attempted; "" if it has been."""
    match evaluation:
        case Unanswered():
            return evaluation.not_attempted
        case Refused():
            return INSTALLATION_NOT_ATTEMPTED
        case Held():
            is_paused = evaluation.hold.reason is Reason.PAUSED
            cause = "the Operator is paused" if is_paused else "it is not approved"
            return f"installation has not been attempted as {cause}"
        case Kept() | Selected():
            blocker = evaluation.blocker
            is_waiting = blocker is not None and blocker.reason == Reason.WAITING_FOR_DEPENDENCIES
            return NOT_ATTEMPTED_DEPENDENCIES if is_waiting else ""
        case _:
            assert_never(evaluation)


def _installed_as_reported(deployment: ObservedBundleDeployment | None) -> DesiredCondition:
    """The condition Installed as rukpak reports it. `deployment` is None if rukpak has not reported its state."""
    if deployment is None:
        return _installation_unknown(STATUS_UNKNOWN)
    if (failure := _failure(deployment)) is not None:
        message = f"bundledeployment not ready: {failure.message}"
        return _installed_condition("False", Reason.INSTALLATION_FAILED, message, _cause(deployment))
    known = deployment.condition(DeploymentCondition.INSTALLED)
    return _installation_unknown(f"bundledeployment not ready: {known.message}" if known else STATUS_UNKNOWN)


def _installation_unknown(message: str) -> DesiredCondition:
    return _installed_condition("Unknown", Reason.INSTALLATION_STATUS_UNKNOWN, message)


def _installed_condition(
    status: ConditionValue, reason: Reason, message: str, cause: Cause | None = None
) -> DesiredCondition:
    return DesiredCondition(ConditionType.INSTALLED, status, reason, message, cause)


def _cause(deployment: ObservedBundleDeployment) -> Cause:
    """The cause of the state that a BundleDeployment reports: its conditions, and the objects that have failed."""
    status = deployment.model.status
    conditions = {f"{one.type} {one.status} {one.reason}" for one in status.conditions}
    failed = status.failed.objects if status.failed is not None else ()
    subject = conditions.union(f"{one.kind} {one.namespace}/{one.name}" for one in failed)
    return Cause(bundledeployments.KIND.kind, frozenset(subject))


def _failure(deployment: ObservedBundleDeployment) -> Condition | None:
    """The condition that explains why nothing is installed: the condition of the installation, else the condition of
    unpacking."""
    for name in (DeploymentCondition.INSTALLED, DeploymentCondition.HAS_VALID_BUNDLE):
        condition = deployment.condition(name)
        if condition is not None and condition.status == "False" and condition.reason in _FAILED:
            return condition
    return None


# --- Ready, Reconciling, Stalled


class _Progress(NamedTuple):
    """The condition Ready, the condition Reconciling or Stalled, and which notes their message has already. The explanation
    contains both notes."""

    conditions: list[DesiredCondition]
    has_hold_note: bool = False
    has_successor_note: bool = False


def _ready_and_progress(world: World, outcome: Outcome, evaluation: Reported) -> _Progress:
    if isinstance(outcome, OlmError):
        return _blocked(world, outcome, evaluation)
    if isinstance(outcome, Exception):
        message = _error_text("the BundleDeployment could not be written", outcome)
        return _Progress(_not_ready(_not_ready_reason(world), message, Reason.RETRYING, cause_of(outcome)))
    if evaluation.consequences.successor is not None:
        return _following(evaluation)
    match evaluation:
        case Unanswered() | Refused():
            return _blocked(world, evaluation.blocker, evaluation)
        case Held() if world.owned_bundle_deployment is None:
            # Nobody works on it, and nothing is wrong: neither Reconciling nor Stalled.
            ready = DesiredCondition(ConditionType.READY, "False", evaluation.hold.reason, evaluation.explanation)
            return _Progress([ready], has_hold_note=True, has_successor_note=_fits(evaluation.explanation))
        case Kept() | Held() | Selected():
            return _progress_of_deployment(world, evaluation)
        case _:
            assert_never(evaluation)


def _following(evaluation: Reported) -> _Progress:
    """The progress while the successor of a deleted Catalog is being recorded."""
    note = evaluation.consequences.successor_note
    return _Progress(_not_ready(Reason.FOLLOWING_CATALOG, note, Reason.FOLLOWING_CATALOG), has_successor_note=True)


def _progress_of_deployment(world: World, evaluation: Resolved) -> _Progress:
    comparison = evaluation.comparison
    deployment = comparison.current_deployment
    if deployment is None:
        if evaluation.consequences.successor_note and comparison.runs_image:
            return _following(evaluation)
        message = _progress_message(world, evaluation, _initial_state(evaluation))
        return _Progress(_not_ready(_not_ready_reason(world), message, Reason.INSTALLING))
    if comparison.runs_template and deployment.is_true(DeploymentCondition.READY):
        return _installed_and_ready(evaluation, deployment)
    return _Progress(_unready(world, evaluation, deployment))


def _error_text(what: str, error: Exception) -> str:
    """A failed write as a sentence. An unexpected error may not come from a write, so it is reported by its class."""
    return f"{what if isinstance(error, ApiError) else type(error).__name__}: {error}"


def _fits(*texts: str) -> bool:
    """Report whether a message of these texts fits without truncation."""
    return len("; ".join(texts).encode()) <= MAX_EXPLANATION_BYTES


def _blocked(world: World, blocker: OlmError, evaluation: Reported) -> _Progress:
    progress: Reason | None = None
    if isinstance(blocker, Waiting):
        progress = next((known for known in _REPORTED_WAITING_REASONS if blocker.reason == known), Reason.RETRYING)
    match evaluation:
        case Kept() | Held() | Selected():
            return _Progress(_not_ready(_not_ready_reason(world), blocker.message, progress, cause_of(blocker)))
        case Unanswered() | Refused():
            notes = [note] if (note := _hold_note(evaluation)) else []
            cause = evaluation.resolved.cause or cause_of(blocker)
            conditions = _not_ready(Reason.NOT_RESOLVED, evaluation.explanation, progress, cause)
            return _Progress(conditions, has_successor_note=_fits(evaluation.explanation, *notes))
        case _:
            assert_never(evaluation)


def _installed_and_ready(evaluation: Resolved, deployment: ObservedBundleDeployment) -> _Progress:
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
    return _Progress([ready], has_hold_note, _fits(*texts))


def _kept_templates(deployment: ObservedBundleDeployment) -> Iterator[str]:
    """A note about Deployments that were taken over with their pods."""
    kept = deployment.model.status.kept_templates
    if kept:
        names = ", ".join(f"{each.namespace}/{each.name}" for each in kept)
        yield f"pods are as they were before, until the bundle changes them: Deployment.apps {names}"


def _unready(world: World, evaluation: Resolved, deployment: ObservedBundleDeployment) -> list[DesiredCondition]:
    """The conditions while the BundleDeployment is as desired but not ready: they report its state."""
    ready = deployment.condition(DeploymentCondition.READY)
    is_stalled, cause = deployment.is_true(DeploymentCondition.STALLED), _cause(deployment)
    if ready is not None and ready.reason in (DeploymentReason.ROLLING_BACK, DeploymentReason.ROLLED_BACK):
        reason = Reason(ready.reason)
        return _not_ready(reason, ready.message, None if is_stalled else reason, cause)
    message = _progress_message(world, evaluation, ready.message if ready else _initial_state(evaluation))
    if ready is not None and ready.reason == DeploymentReason.OPERATOR_CONDITION_NOT_UPGRADEABLE:
        return _not_ready(Reason(ready.reason), message, Reason(ready.reason), cause)
    if (
        (is_stalled or _failure(deployment))
        and world.running is None
        and ready is not None
        and isinstance(evaluation, Selected)
    ):
        message = truncate(f"cannot install {evaluation.bundle.version}: {ready.message}", MAX_EXPLANATION_BYTES)
    is_installed = evaluation.comparison.runs_template and (ready is None or ready.reason != DeploymentReason.UPGRADING)
    if is_stalled or not is_installed:
        progress = None if is_stalled else _progress_reason(deployment)
        return _not_ready(_not_ready_reason(world, is_installed=is_installed), message, progress, cause)
    if ready is not None and ready.reason == DeploymentReason.PROGRESSING:
        return _not_ready(Reason.PROGRESSING, message, Reason.PROGRESSING)
    return _not_ready(Reason.UNHEALTHY, message, _progress_reason(deployment), cause)


def _progress_reason(deployment: ObservedBundleDeployment) -> Reason:
    """The reason of an installation that is in progress or being retried."""
    reconciling = deployment.condition(DeploymentCondition.RECONCILING)
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


def _not_ready(
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


# --- deletion


def _deletion_conditions(world: World, outcome: Outcome, hold: str) -> list[DesiredCondition]:
    """The conditions while the Operator is being deleted. Resolved and Installed stay. The progress is the error, or the state of
    the removal that the BundleDeployment reports."""
    unchanged = [
        DesiredCondition(one.type, one.status, one.reason, one.message)
        for one in world.operator.status.conditions
        if one.type in (ConditionType.RESOLVED, ConditionType.INSTALLED)
    ]
    deployment = world.owned_bundle_deployment
    is_waiting = bool(hold) and deployment is not None and not deployment.model.metadata.deleting
    if is_waiting and not isinstance(outcome, Exception):
        message = f"the deletion waits: {hold}"
        return [*unchanged, *_not_ready(Reason.DELETION_BLOCKED, message, Reason.DELETION_BLOCKED)]
    ready = deployment.condition(DeploymentCondition.READY) if deployment else None
    is_reported = deployment is not None and deployment.model.metadata.deleting and ready is not None
    left = f": {ready.message}" if is_reported and ready else ""
    if isinstance(outcome, Exception):
        write = "the BundleDeployment could not be deleted" if deployment else "the finalizer could not be removed"
        left = f": {_error_text(write, outcome)}"
    is_installed = world.running is not None or world.installed_status is not None
    subject = "installed bundle" if is_installed else "BundleDeployment" if deployment else "Operator"
    return [*unchanged, *_not_ready(Reason.REMOVING, f"removing the {subject}{left}", Reason.REMOVING)]


def deprecation_conditions(known: Deprecations | None, before: Sequence[Condition]) -> list[DesiredCondition]:
    """A condition for each part that is deprecated, and Deprecated with all messages; the previous conditions if nothing is
    known."""
    if known is None:
        return [DesiredCondition(one.type, one.status, one.reason, one.message) for one in before if one.type in _TYPES]
    messages = (known.package, known.channel, known.bundle)
    found = [(kind, message) for kind, message in zip(_TYPES[1:], messages, strict=True) if message]
    if found:
        found.insert(0, (ConditionType.DEPRECATED, "; ".join(dict.fromkeys(message for _, message in found))))
    return [
        DesiredCondition(kind, "True", Reason.DEPRECATED, message, Cause(Reason.DEPRECATED, frozenset({message})))
        for kind, message in found
    ]
