"""The status of an Operator after a pass: report(World, Evaluation, outcome) -> StatusReport.

The running bundle is reported during every failure and upgrade. It is read from the active Bundle, never from the desired one.
Fields of the status have the exact names of the catalog, because they are compared. Texts are one line of printable characters.
Pure.
"""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from olmkit.api.bundledeployments import ConditionType as DeploymentCondition
from olmkit.api.conditions import (
    Cause,
    ConditionValue,
    DesiredCondition,
    PendingEvent,
    StatusReport,
    Transition,
    cause_of,
    causes_of,
    find_condition,
    merge_conditions,
)
from olmkit.api.operator_status import AvailableBundle, InstalledHealth, OperatorStatus
from olmkit.api.operators import FINALIZER, ConditionType, Reason
from olmkit.api.reported_failure import MAX_FAILURE_MESSAGE_BYTES
from olmkit.errors import ApiError, Blocked, Conflict
from olmkit.gocompat.text import one_line, truncate
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
    Selected,
    Unanswered,
)
from operator_controller.operator.failure import failure_of
from operator_controller.operator.pause_and_approval import excluded_running_version, kept_out, requested_version
from operator_controller.operator.report_deletion import deletion_conditions
from operator_controller.operator.report_deprecations import deprecation_conditions, known_deprecations
from operator_controller.operator.report_progress import (
    Progress,
    cause_of_deployment,
    installation_failure,
    not_ready,
    note_of_hold,
    ready_and_progress,
)
from operator_controller.operator.wanted import wanted_bundle
from operator_controller.operator.world import (
    UNREPORTED_PLANS,
    CreateDependency,
    Done,
    ObservedBundleDeployment,
    Outcome,
    World,
)
from operator_controller.resolve.explain.explanation import MAX_EXPLANATION_BYTES
from operator_controller.resolve.explain.spec_hints import running_but_excluded

STATUS_UNKNOWN = "bundledeployment status is unknown"
NOT_ATTEMPTED_DEPENDENCIES = "installation has not been attempted as dependencies are not installed"


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
        return _status(world, deletion_conditions(world, outcome, evaluation.hold), outcome, None)
    if evaluation is None or isinstance(evaluation, Outstanding):
        return None
    outcome = _without_other_plan(outcome, evaluation)
    progress, known = ready_and_progress(world, outcome, evaluation), evaluation.consequences
    conditions = [
        evaluation.resolved,
        _installed(world, outcome, evaluation),
        *progress.conditions,
        *deprecation_conditions(known.deprecations, world.operator.status.conditions),
    ]
    noted = _with_notes(conditions, progress, evaluation)
    excluded = excluded_running_version(world)
    for note in (known.kept_note, running_but_excluded(excluded, world.terms) if excluded else ""):
        noted = _with_first_note(noted, note) if note else noted
    return _status(world, _with_missing_bundle(world, noted), outcome, evaluation)


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


def _with_notes(desired: list[DesiredCondition], progress: Progress, evaluation: Reported) -> list[DesiredCondition]:
    """The conditions with notes. Ready names a Hold even while the installed bundle is not healthy, and the successor of a
    deleted Catalog until the record of the running bundle names this successor."""
    hold_note, successor_note = note_of_hold(evaluation), evaluation.consequences.successor_note
    if hold_note and not progress.has_hold_note:
        desired = _with_note(desired, hold_note)
    if successor_note and not progress.has_successor_note:
        desired = _with_note(desired, successor_note)
    return desired


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
            *not_ready(
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


def _status(
    world: World, desired: list[DesiredCondition], outcome: Outcome, evaluation: Reported | None
) -> StatusReport[OperatorStatus]:
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
        health=_health(world),
        available=_available(world, evaluation) if evaluation else None,
        wanted=wanted_bundle(world, evaluation) if evaluation else old.wanted,
        failure=failure_of(world, evaluation, outcome) if evaluation else None,
        deprecations=known_deprecations(world, evaluation) if evaluation else old.deprecations,
        dependencies=(list(evaluation.consequences.dependencies) or None) if evaluation else old.dependencies,
        resolution=one_line(evaluation.explanation) if evaluation else old.resolution,
    )
    return StatusReport(status, transitions, _available_events(old, status, transitions), causes=causes_of(desired))


def _health(world: World) -> InstalledHealth | None:
    """The health of what is installed, which no newer spec of the BundleDeployment changes; None if nothing is."""
    deployment = world.owned_bundle_deployment
    if deployment is None or world.running is None:
        return None
    healthy = find_condition(deployment.model.status.conditions, DeploymentCondition.HEALTHY)
    if healthy is None:
        return None
    message = truncate(healthy.message, MAX_FAILURE_MESSAGE_BYTES)
    return InstalledHealth(status=healthy.status, reason=healthy.reason, message=message)


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
    if (failure := installation_failure(deployment)) is not None:
        message = f"bundledeployment not ready: {failure.message}"
        return _installed_condition("False", Reason.INSTALLATION_FAILED, message, cause_of_deployment(deployment))
    known = deployment.condition(DeploymentCondition.INSTALLED)
    return _installation_unknown(f"bundledeployment not ready: {known.message}" if known else STATUS_UNKNOWN)


def _installation_unknown(message: str) -> DesiredCondition:
    return _installed_condition("Unknown", Reason.INSTALLATION_STATUS_UNKNOWN, message)


def _installed_condition(
    status: ConditionValue, reason: Reason, message: str, cause: Cause | None = None
) -> DesiredCondition:
    return DesiredCondition(ConditionType.INSTALLED, status, reason, message, cause)
