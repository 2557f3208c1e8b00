"""The status of an Operator that is true after a pass.

Called by reconciler.py. What runs is told through every failure and upgrade, and read from the Bundle that is active, never from
the one that is wanted; Ready compares generations. Pure.
"""

from __future__ import annotations

from dataclasses import replace

from olmkit.api.bundledeployments import ConditionType as DeploymentCondition
from olmkit.api.bundledeployments import Reason as DeploymentReason
from olmkit.api.conditions import ConditionValue, DesiredCondition, StatusReport, merge_conditions, truncate
from olmkit.api.meta import Condition
from olmkit.api.operators import FINALIZER, ConditionType, OperatorStatus, Reason
from olmkit.errors import ApiError, Blocked, Conflict, OlmError, Waiting
from operator_controller.operator.decide import (
    AddFinalizer,
    ApplyBundleDeployment,
    Done,
    RemoveFinalizer,
    bundle_deployment_for,
    differs,
    has_image,
    runs_template,
    successor_record,
)
from operator_controller.operator.evaluate import Evaluation, WaitingUnreported, evaluate
from operator_controller.operator.world import ObservedBundleDeployment, World
from operator_controller.resolve.explain import MAX_EXPLANATION_BYTES

STATUS_UNKNOWN = "bundledeployment status is unknown"
_FAILED = (DeploymentReason.INSTALL_FAILED, DeploymentReason.UNPACK_FAILED, DeploymentReason.BUNDLE_LOAD_FAILED)
_REPORTED_WAITING_REASONS = (Reason.WAITING_FOR_CATALOG, Reason.INSTALLING)
"""Reasons that Reconciling takes over from what was waited for; everything else is Retrying."""
Outcome = Done | Exception


def report(world: World, outcome: Outcome) -> StatusReport[OperatorStatus] | None:
    """Status and transitions; None: say nothing new now, the next pass will."""
    if isinstance(outcome, WaitingUnreported | Conflict):
        return None
    if isinstance(outcome, Done) and isinstance(outcome.plan, AddFinalizer | RemoveFinalizer):
        return None
    if world.operator.metadata.deleting:
        return (
            _status(world, _deletion_conditions(world, outcome), None)
            if FINALIZER in world.operator.metadata.finalizers
            else None
        )
    verdict = evaluate(world)
    conditions = [verdict.resolved, _installed(world, outcome, verdict), *_ready_and_progress(world, outcome, verdict)]
    return _status(world, _with_missing_bundle(world, _with_successor_note(conditions, verdict)), verdict)


def _with_missing_bundle(world: World, wanted: list[DesiredCondition]) -> list[DesiredCondition]:
    """The active Bundle is missing: Ready is not True, and its message says so whatever else it says."""
    if not world.missing_bundle or world.running is None:
        return wanted
    note = (
        f'the Bundle "{world.missing_bundle}" of what runs is missing: until rukpak has made it again, what runs cannot be '
        "repaired"
    )
    ready = next(want for want in wanted if want.type == ConditionType.READY)
    if ready.status == "True":
        return [*(want for want in wanted if want is not ready), *_not_ready(Reason.UNHEALTHY, note, Reason.RETRYING)]
    return _with_note(wanted, note)


def _with_successor_note(wanted: list[DesiredCondition], verdict: Evaluation) -> list[DesiredCondition]:
    """Another Catalog takes the place of a deleted one: said whatever else is, until what runs is recorded as of that one."""
    ready = next(want for want in wanted if want.type == ConditionType.READY)
    return wanted if verdict.followed in ready.message else _with_note(wanted, verdict.followed)


def _with_note(wanted: list[DesiredCondition], note: str) -> list[DesiredCondition]:
    """The note at the end of what is read at a glance; what was there is cut for it, never the note."""
    room = MAX_EXPLANATION_BYTES - len(f"; {note}".encode())
    shown = (ConditionType.READY, ConditionType.RECONCILING, ConditionType.STALLED)
    return [
        replace(want, message=f"{truncate(want.message, room)}; {note}") if want.type in shown else want
        for want in wanted
    ]


def _status(world: World, wanted: list[DesiredCondition], verdict: Evaluation | None) -> StatusReport[OperatorStatus]:
    old, generation = world.operator.status, world.operator.metadata.generation
    conditions, transitions = merge_conditions(old.conditions, wanted, generation, world.now)
    status = OperatorStatus(
        observed_generation=generation,
        conditions=conditions,
        wanted_version=_wanted_version(world, verdict) if verdict else old.wanted_version,
        resolved_bundle_resource=(verdict.image or None) if verdict else old.resolved_bundle_resource,
        installed_bundle_resource=world.running.image if world.running else None,
        installed=world.installed_status,
        resolution=verdict.explanation if verdict else old.resolution,
    )
    return StatusReport(status, transitions)


def _wanted_version(world: World, verdict: Evaluation) -> str | None:
    """The version that was chosen or stays; while none was, what the spec asks for."""
    if verdict.candidate is not None:
        return str(verdict.candidate.version)
    if verdict.is_resolved and world.running is not None:
        return world.running.version_text or None
    return world.operator.spec.version


# --- what runs


def _installed(world: World, outcome: Outcome, verdict: Evaluation) -> DesiredCondition:
    if world.running is not None:
        missing = f'; its Bundle "{world.missing_bundle}" is missing' if world.missing_bundle else ""
        return _installed_condition("True", Reason.SUCCESS, f'installed from "{world.running.image}"{missing}')
    if world.missing_bundle:
        message = f'the Bundle "{world.missing_bundle}" of what is installed is missing'
        return _installed_condition("Unknown", Reason.INSTALLATION_STATUS_UNKNOWN, message)
    if not verdict.is_resolved and world.owned_bundle_deployment is None:
        return _installed_condition("Unknown", Reason.INSTALLATION_STATUS_UNKNOWN, verdict.not_attempted)
    if verdict.is_resolved and isinstance(outcome, Blocked | ApiError):
        return _installed_condition("False", Reason.INSTALLATION_FAILED, str(outcome))
    deployment = _current_bundle_deployment(world, verdict)
    failure = _failure(deployment) if deployment else None
    if failure is not None:
        message = f"bundledeployment not ready: {failure.message}"
        return _installed_condition("False", Reason.INSTALLATION_FAILED, message)
    known = deployment.condition(DeploymentCondition.INSTALLED) if deployment else None
    message = f"bundledeployment not ready: {known.message}" if known else STATUS_UNKNOWN
    return _installed_condition("Unknown", Reason.INSTALLATION_STATUS_UNKNOWN, message)


def _installed_condition(status: ConditionValue, reason: Reason, message: str) -> DesiredCondition:
    return DesiredCondition(ConditionType.INSTALLED, status, reason, message)


def _current_bundle_deployment(world: World, verdict: Evaluation) -> ObservedBundleDeployment | None:
    """The BundleDeployment, if it asks for what was resolved and its status speaks of that."""
    deployment = world.owned_bundle_deployment
    if deployment is None or not deployment.is_current:
        return None
    if verdict.candidate is None:
        return deployment
    return None if differs(deployment, bundle_deployment_for(world.operator, verdict.candidate)) else deployment


def _failure(deployment: ObservedBundleDeployment) -> Condition | None:
    """The condition that says why nothing is installed: the installation's own, else that of unpacking."""
    for name in (DeploymentCondition.INSTALLED, DeploymentCondition.HAS_VALID_BUNDLE):
        condition = deployment.condition(name)
        if condition is not None and condition.status == "False" and condition.reason in _FAILED:
            return condition
    return None


# --- how it goes


def _ready_and_progress(world: World, outcome: Outcome, verdict: Evaluation) -> list[DesiredCondition]:
    """Ready, and Reconciling or Stalled."""
    if isinstance(outcome, OlmError):
        return _not_possible(world, outcome, verdict)
    if isinstance(outcome, Exception):
        said = _error_text("the BundleDeployment could not be written", outcome)
        return _not_ready(_not_ready_reason(world), said, Reason.RETRYING)
    if successor_record(world, verdict) is not None:
        return _not_ready(Reason.FOLLOWING_CATALOG, verdict.followed, Reason.FOLLOWING_CATALOG)
    deployment = _current_bundle_deployment(world, verdict)
    if deployment is None or isinstance(outcome.plan, ApplyBundleDeployment):
        if verdict.followed and _runs_wanted(world, verdict):
            return _not_ready(Reason.FOLLOWING_CATALOG, verdict.followed, Reason.FOLLOWING_CATALOG)
        return _not_ready(
            _not_ready_reason(world), _progress_message(world, verdict, _initial_state(verdict)), Reason.INSTALLING
        )
    return _from_bundle_deployment(world, verdict, deployment)


def _error_text(what: str, error: Exception) -> str:
    """A write that failed, in a sentence; of what nobody foresaw it is not known whether it was one."""
    return f"{what if isinstance(error, ApiError) else type(error).__name__}: {error}"


def _not_possible(world: World, problem: OlmError, verdict: Evaluation) -> list[DesiredCondition]:
    reason = _not_ready_reason(world) if verdict.is_resolved else Reason.NOT_RESOLVED
    message = problem.message if verdict.is_resolved else verdict.explanation
    if isinstance(problem, Waiting):
        progress = next((known for known in _REPORTED_WAITING_REASONS if problem.reason == known), Reason.RETRYING)
        return _not_ready(reason, message, progress)
    return _not_ready(reason, message, None)


def _from_bundle_deployment(
    world: World, verdict: Evaluation, deployment: ObservedBundleDeployment
) -> list[DesiredCondition]:
    """The BundleDeployment knows what is wanted: its state is ours."""
    ready = deployment.condition(DeploymentCondition.READY)
    runs_it = runs_template(world, deployment)
    if runs_it and deployment.is_true(DeploymentCondition.READY):
        return [
            DesiredCondition(
                ConditionType.READY, "True", verdict.ready, truncate(verdict.explanation, MAX_EXPLANATION_BYTES)
            )
        ]
    message = _progress_message(world, verdict, ready.message if ready else _initial_state(verdict))
    if deployment.is_true(DeploymentCondition.STALLED):
        if world.running is None and ready is not None and verdict.candidate is not None:
            message = truncate(f"cannot install {verdict.candidate.version}: {ready.message}", MAX_EXPLANATION_BYTES)
        return _not_ready(_not_ready_reason(world, runs_it=runs_it), message, None)
    if not runs_it:
        return _not_ready(_not_ready_reason(world), message, _progress_reason(deployment))
    if ready is not None and ready.reason == DeploymentReason.PROGRESSING:
        return _not_ready(Reason.PROGRESSING, message, Reason.PROGRESSING)
    return _not_ready(Reason.UNHEALTHY, message, _progress_reason(deployment))


def _progress_reason(deployment: ObservedBundleDeployment) -> Reason:
    """Whether it goes on or is tried again."""
    reconciling = deployment.condition(DeploymentCondition.RECONCILING)
    is_again = reconciling is not None and reconciling.reason in (DeploymentReason.RETRYING, *_FAILED)
    return Reason.RETRYING if is_again else Reason.INSTALLING


def _not_ready_reason(world: World, *, runs_it: bool = False) -> Reason:
    if runs_it:
        return Reason.UNHEALTHY
    is_going = world.owned_bundle_deployment is not None and world.owned_bundle_deployment.model.metadata.deleting
    return Reason.UPGRADING if world.running is not None and not is_going else Reason.NOT_INSTALLED


def _initial_state(verdict: Evaluation) -> str:
    """While nothing is heard of the installation yet: why it is this one."""
    return verdict.why or "the BundleDeployment is asked for, and nothing is heard of it yet"


def _runs_wanted(world: World, verdict: Evaluation) -> bool:
    """What runs is the image that is wanted: only what is recorded of it changes."""
    return world.running is not None and has_image(world.running, verdict.image)


def _progress_message(world: World, verdict: Evaluation, state: str) -> str:
    """What is under way, and how far it is."""
    candidate, running = verdict.candidate, world.running
    if candidate is None:
        return truncate(state, MAX_EXPLANATION_BYTES)
    if running is not None and running.name == candidate.bundle.name:
        is_other = not has_image(running, candidate.bundle.image)
        return truncate(
            f"installing another image of {candidate.version}: {state}" if is_other else state, MAX_EXPLANATION_BYTES
        )
    verb = f"upgrading from {running.version_text} to" if running is not None else "installing"
    return truncate(f"{verb} {candidate.version}: {state}", MAX_EXPLANATION_BYTES)


def _not_ready(reason: Reason, message: str, progress: Reason | None) -> list[DesiredCondition]:
    """Ready False with either Reconciling (a reason for it) or Stalled (None)."""
    text = truncate(message, MAX_EXPLANATION_BYTES)
    ready = DesiredCondition(ConditionType.READY, "False", reason, text)
    if progress is None:
        return [ready, DesiredCondition(ConditionType.STALLED, "True", Reason.BLOCKED, text)]
    return [ready, DesiredCondition(ConditionType.RECONCILING, "True", progress, text)]


# --- the end


def _deletion_conditions(world: World, outcome: Outcome) -> list[DesiredCondition]:
    """What was said of the bundle stays; progress is what the BundleDeployment says is left, or what went wrong."""
    kept = [
        DesiredCondition(one.type, one.status, one.reason, one.message)
        for one in world.operator.status.conditions
        if one.type in (ConditionType.RESOLVED, ConditionType.INSTALLED)
    ]
    deployment = world.owned_bundle_deployment
    ready = deployment.condition(DeploymentCondition.READY) if deployment else None
    is_telling = deployment is not None and deployment.model.metadata.deleting and ready is not None
    left = f": {ready.message}" if is_telling and ready else ""
    if isinstance(outcome, Exception):
        write = "the BundleDeployment could not be deleted" if deployment else "the finalizer could not be removed"
        left = f": {_error_text(write, outcome)}"
    return [*kept, *_not_ready(Reason.REMOVING, f"removing what was installed{left}", Reason.REMOVING)]
