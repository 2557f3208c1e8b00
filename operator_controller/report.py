"""The status of an Operator that is true after a pass.

Called by reconciler.py. What runs is told through every failure and upgrade, and read from the Bundle that is active, never from
the one that is wanted; Ready compares generations. Pure.
"""

from __future__ import annotations

from olmkit.api.bundledeployments import BUNDLE_NAME_ANNOTATION
from olmkit.api.bundledeployments import ConditionType as DeploymentCondition
from olmkit.api.bundledeployments import Reason as DeploymentReason
from olmkit.api.meta import Condition
from olmkit.api.operators import FINALIZER, ConditionType, OperatorStatus, Reason
from olmkit.conditions import ConditionValue, Report, Wanted, cut, merge
from olmkit.errors import ApiError, Blocked, Conflict, OlmError, Waiting
from operator_controller.decide import Done, Hold, Install, Release, deployment_for, differs
from operator_controller.judge import Settling, Verdict, judge
from operator_controller.resolve.explain import LIMIT
from operator_controller.world import Deployment, World

STATUS_UNKNOWN = "bundledeployment status is unknown"
_FAILED = (DeploymentReason.INSTALL_FAILED, DeploymentReason.UNPACK_FAILED, DeploymentReason.BUNDLE_LOAD_FAILED)
Outcome = Done | Exception


def report(world: World, outcome: Outcome) -> Report[OperatorStatus] | None:
    """Status and transitions; None: say nothing new now, the next pass will."""
    if isinstance(outcome, Settling | Conflict):
        return None
    if isinstance(outcome, Done) and isinstance(outcome.plan, Hold | Release):
        return None
    if world.operator.metadata.deleting:
        return _status(world, _removing(world), None) if FINALIZER in world.operator.metadata.finalizers else None
    verdict = judge(world)
    conditions = [verdict.resolved, _installed(world, outcome, verdict), *_progress(world, outcome, verdict)]
    return _status(world, conditions, verdict)


def _status(world: World, wanted: list[Wanted], verdict: Verdict | None) -> Report[OperatorStatus]:
    old, generation = world.operator.status, world.operator.metadata.generation
    conditions, transitions = merge(old.conditions, wanted, generation, world.now)
    status = OperatorStatus(
        observed_generation=generation,
        conditions=conditions,
        resolved_bundle_resource=(verdict.image or None) if verdict else old.resolved_bundle_resource,
        installed_bundle_resource=world.running.image if world.running else None,
        installed=world.installed,
        resolution=verdict.explanation if verdict else old.resolution,
    )
    return Report(status, transitions)


# --- what runs


def _installed(world: World, outcome: Outcome, verdict: Verdict) -> Wanted:
    if world.running is not None:
        return _says_installed("True", Reason.SUCCESS, f'installed from "{world.running.image}"')
    if not verdict.is_resolved:
        return _says_installed("Unknown", Reason.INSTALLATION_STATUS_UNKNOWN, verdict.not_attempted)
    if isinstance(outcome, Blocked | ApiError):
        return _says_installed("False", Reason.INSTALLATION_FAILED, str(outcome))
    deployment = _in_step(world, verdict)
    failure = _failure(deployment) if deployment else None
    if failure is not None:
        message = f"bundledeployment not ready: {failure.message}"
        return _says_installed("False", Reason.INSTALLATION_FAILED, message)
    known = deployment.condition(DeploymentCondition.INSTALLED) if deployment else None
    message = f"bundledeployment not ready: {known.message}" if known else STATUS_UNKNOWN
    return _says_installed("Unknown", Reason.INSTALLATION_STATUS_UNKNOWN, message)


def _says_installed(status: ConditionValue, reason: Reason, message: str) -> Wanted:
    return Wanted(ConditionType.INSTALLED, status, reason, message)


def _in_step(world: World, verdict: Verdict) -> Deployment | None:
    """The BundleDeployment, if it asks for what was resolved and its status speaks of that."""
    deployment = world.owned
    if deployment is None or not deployment.is_current:
        return None
    if verdict.candidate is None:
        return deployment
    return None if differs(deployment, deployment_for(world.operator, verdict.candidate)) else deployment


def _failure(deployment: Deployment) -> Condition | None:
    """The condition that says why nothing is installed: the installation's own, else that of unpacking."""
    for name in (DeploymentCondition.INSTALLED, DeploymentCondition.HAS_VALID_BUNDLE):
        condition = deployment.condition(name)
        if condition is not None and condition.status == "False" and condition.reason in _FAILED:
            return condition
    return None


# --- how it goes


def _progress(world: World, outcome: Outcome, verdict: Verdict) -> list[Wanted]:
    """Ready, and Reconciling or Stalled."""
    if isinstance(outcome, OlmError):
        return _refused(world, outcome, verdict)
    if isinstance(outcome, Exception):
        what = "the BundleDeployment could not be written" if isinstance(outcome, ApiError) else type(outcome).__name__
        return _not_ready(_unfinished(world), f"{what}: {outcome}", Reason.RETRYING)
    deployment = _in_step(world, verdict)
    if deployment is None or isinstance(outcome.plan, Install):
        return _not_ready(_unfinished(world), _doing(world, verdict, _asked_for(verdict)), Reason.INSTALLING)
    return _following(world, verdict, deployment)


def _refused(world: World, problem: OlmError, verdict: Verdict) -> list[Wanted]:
    reason = _unfinished(world) if verdict.is_resolved else Reason.NOT_RESOLVED
    message = problem.message if verdict.is_resolved else verdict.explanation
    if isinstance(problem, Waiting):
        known = problem.reason == Reason.WAITING_FOR_CATALOG
        return _not_ready(reason, message, Reason.WAITING_FOR_CATALOG if known else Reason.RETRYING)
    return _not_ready(reason, message, None)


def _following(world: World, verdict: Verdict, deployment: Deployment) -> list[Wanted]:
    """The BundleDeployment knows what is wanted: its state is ours."""
    ready = deployment.condition(DeploymentCondition.READY)
    runs_it = world.running is not None and world.running.name == _wanted_name(verdict, deployment, world)
    if runs_it and deployment.is_true(DeploymentCondition.READY):
        return [Wanted(ConditionType.READY, "True", Reason.SUCCEEDED, cut(verdict.explanation, LIMIT))]
    message = _doing(world, verdict, ready.message if ready else _asked_for(verdict))
    if deployment.is_true(DeploymentCondition.STALLED):
        return _not_ready(_unfinished(world, runs_it=runs_it), message, None)
    if not runs_it:
        return _not_ready(_unfinished(world), message, _pace(deployment))
    unwell = _not_ready(Reason.UNHEALTHY, message, _pace(deployment))
    return unwell if deployment.is_true(DeploymentCondition.RECONCILING) else unwell[:1]


def _wanted_name(verdict: Verdict, deployment: Deployment, world: World) -> str:
    if verdict.candidate is not None:
        return verdict.candidate.bundle.name
    return deployment.annotations.get(BUNDLE_NAME_ANNOTATION, world.running.name if world.running else "")


def _pace(deployment: Deployment) -> Reason:
    """Whether it goes on or is tried again."""
    reconciling = deployment.condition(DeploymentCondition.RECONCILING)
    is_again = reconciling is not None and reconciling.reason in (DeploymentReason.RETRYING, *_FAILED)
    return Reason.RETRYING if is_again else Reason.INSTALLING


def _unfinished(world: World, *, runs_it: bool = False) -> Reason:
    if runs_it:
        return Reason.UNHEALTHY
    return Reason.UPGRADING if world.running is not None else Reason.NOT_INSTALLED


def _asked_for(verdict: Verdict) -> str:
    """While nothing is heard of the installation yet: why it is this one."""
    return verdict.why or "the BundleDeployment is asked for, and nothing is heard of it yet"


def _doing(world: World, verdict: Verdict, state: str) -> str:
    """What is under way, and how far it is."""
    candidate, running = verdict.candidate, world.running
    if candidate is None or (running is not None and running.name == candidate.bundle.name):
        return cut(state, LIMIT)
    verb = f"upgrading from {running.version_text} to" if running is not None else "installing"
    return cut(f"{verb} {candidate.version}: {state}", LIMIT)


def _not_ready(reason: Reason, message: str, progress: Reason | None) -> list[Wanted]:
    """Ready False with either Reconciling (a reason for it) or Stalled (None)."""
    text = cut(message, LIMIT)
    ready = Wanted(ConditionType.READY, "False", reason, text)
    if progress is None:
        return [ready, Wanted(ConditionType.STALLED, "True", Reason.BLOCKED, text)]
    return [ready, Wanted(ConditionType.RECONCILING, "True", progress, text)]


# --- the end


def _removing(world: World) -> list[Wanted]:
    """What was said of the bundle stays; progress is what the BundleDeployment says is left."""
    kept = [
        Wanted(one.type, one.status, one.reason, one.message)
        for one in world.operator.status.conditions
        if one.type in (ConditionType.RESOLVED, ConditionType.INSTALLED)
    ]
    deployment = world.owned
    ready = deployment.condition(DeploymentCondition.READY) if deployment else None
    is_telling = deployment is not None and deployment.model.metadata.deleting and ready is not None
    left = f": {ready.message}" if is_telling and ready else ""
    return [*kept, *_not_ready(Reason.REMOVING, f"removing what was installed{left}", Reason.REMOVING)]
