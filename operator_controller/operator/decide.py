"""The next step for one Operator: decide(World) -> Decision(Plan, Evaluation).

    resolved --> CreateDependency for each --> (they are installed) --> AddFinalizer --> ApplyBundleDeployment --> Keep
    in a moving set --> RecordPlan --> (all have recorded it) --> ApplyBundleDeployment --> (installed) --> RecordPlan without one
    a BundleDeployment of its name that nobody owns --> AdoptBundleDeployment, if it may be
    deleted  --> (nothing installed requires it) --> ApplyBundleDeployment with its deletion policy --> DeleteBundleDeployment
             --> Keep (rukpak works) --> RemoveFinalizer
    deleted without its dependents --> RemoveDependencyLabel --> ReleaseBundleDeployment, unless the garbage collector was faster
             --> RemoveFinalizer
    dependency that nothing requires --> RequestCount --> (no custom resources) --> DeleteDependency

The evaluation of the spec comes first: the resolved bundle, and the reason that prevents its installation. It is a list of rules:
the first rule that applies makes the evaluation. Does not resolve: the World has the answer of the Resolver. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, assert_never

from olmkit.api.bundle_annotations import PACKAGE_ANNOTATION
from olmkit.api.conditions import Cause, ConditionValue, DesiredCondition
from olmkit.api.failures import FailureReason
from olmkit.api.meta import apply_precondition, without_owner
from olmkit.api.operators import FINALIZER, ConditionType, Reason, has_protection
from olmkit.errors import Blocked, OlmError, Waiting
from olmkit.gocompat.version_range import EXAMPLES, MastermindsRange
from olmkit.gocompat.versions import BadRange
from olmkit.runtime.reconciler import Decision
from olmkit.stored_times import has_passed
from operator_controller.operator.adoption import adoption_plan
from operator_controller.operator.blockers import (
    awaited_content,
    bundle_deployment_blocker,
    rejected_content,
    resolution_blocker,
    unknown_media_type,
)
from operator_controller.operator.bundle_deployment import (
    bundle_deployment_for,
    differs,
    has_image,
    requests_bundle,
    runs_template,
    with_deletion_settings,
    with_install_settings,
    with_successor,
)
from operator_controller.operator.claims import other_operator_has_package, package_changed
from operator_controller.operator.delays import (
    MISSING_BUNDLE_GRACE_PERIOD,
    MISSING_BUNDLE_RETRY_DELAY,
    REPORTED_GRACE_PERIOD,
    RESOLUTION_GRACE_PERIOD,
    RESYNC_DELAY,
)
from operator_controller.operator.dependencies import (
    DeletionEvaluation,
    dependency_blocker,
    dependency_plan,
    evaluate_deletion,
    hold_plan,
    in_use,
    is_removal_undecided,
    is_unneeded,
    missing_dependency,
    required_packages,
)
from operator_controller.operator.evaluation import (
    INSTALLATION_NOT_ATTEMPTED,
    Comparison,
    Consequences,
    Evaluation,
    Held,
    Kept,
    Outstanding,
    Refused,
    Reported,
    Selected,
    SuccessorRecord,
    Unanswered,
)
from operator_controller.operator.pause_and_approval import PAUSED, Hold, find_hold
from operator_controller.operator.planned_bundle import order_blocker, plan_to_record, set_blocker
from operator_controller.operator.world import (
    AddFinalizer,
    ApplyBundleDeployment,
    DeleteBundleDeployment,
    Keep,
    ObservedBundleDeployment,
    Plan,
    ProtectDeployment,
    ReleaseBundleDeployment,
    RemoveDependencyLabel,
    RemoveFinalizer,
    World,
    image_reference,
)
from operator_controller.resolve.answers.answer import Answer, AnswerState, SelectedBundle

RESOLUTION_NOT_ATTEMPTED = "validation has not been attempted as spec is invalid"
INSTALLATION_NOT_ATTEMPTED_INVALID = "installation has not been attempted as spec is invalid"
RESOLUTION_IN_PROGRESS = "resolution is in progress"
INSTALLATION_NOT_ATTEMPTED_YET = "installation has not been attempted as resolution is in progress"
REMOVAL_UNDECIDED = "nothing requires it: waiting for the count of its custom resources"


def decide(world: World) -> Decision[Plan, Evaluation | DeletionEvaluation]:
    """The next step, or the error (Blocked, Waiting) that prevents it, and the evaluation that led to it."""
    if world.operator.metadata.deleting:
        deletion = evaluate_deletion(world)
        return Decision(_decide_deletion(world, deletion), deletion)
    evaluation = evaluate(world)
    plan = hold_plan(world) or protection_plan(world) or dependency_plan(world)
    return Decision(plan if plan is not None else _decide_installation(world, evaluation), evaluation)


def _decide_installation(world: World, evaluation: Evaluation) -> Plan | OlmError:
    if not isinstance(evaluation, Outstanding) and evaluation.consequences.to_record is not None:
        return evaluation.consequences.to_record
    existing = world.owned_bundle_deployment
    if (adoption := adoption_plan(world)) is not None:
        return _missing_finalizer(world) or adoption
    if existing is not None and (lost := _missing_finalizer(world)) is not None:
        return lost  # `kubectl replace` with a manifest from git removes it
    if isinstance(evaluation, Outstanding):
        return evaluation.blocker
    if isinstance(evaluation, Selected) and evaluation.to_create is not None:
        return evaluation.to_create
    desired = _to_apply(evaluation)
    if isinstance(desired, OlmError):
        return desired
    if desired is None:
        return Keep()
    if (first := _missing_finalizer(world)) is not None:
        return first
    precondition = apply_precondition(existing.model.metadata.uid if existing else None)
    return ApplyBundleDeployment({**desired, "metadata": {**desired["metadata"], **precondition}})


def _to_apply(evaluation: Reported) -> Mapping[str, Any] | OlmError | None:
    """The BundleDeployment to apply, or the error that prevents it; None if the existing one is as desired."""
    if evaluation.consequences.successor is not None:
        return evaluation.consequences.successor.to_apply
    match evaluation:
        case Unanswered() | Refused():
            return evaluation.blocker
        case Kept() | Held() | Selected():
            return evaluation.blocker or evaluation.comparison.to_apply
        case _:
            assert_never(evaluation)


def _missing_finalizer(world: World) -> AddFinalizer | None:
    finalizers = tuple(world.operator.metadata.finalizers)
    return None if FINALIZER in finalizers else AddFinalizer((*finalizers, FINALIZER))


def _decide_deletion(world: World, evaluation: DeletionEvaluation) -> Plan:
    finalizers = tuple(world.operator.metadata.finalizers)
    existing = world.owned_bundle_deployment
    if world.dependencies:
        return RemoveDependencyLabel(world.dependencies)
    if existing is not None:
        metadata = existing.model.metadata
        if world.is_orphaning:
            return _release(world, existing)
        if (plan := hold_plan(world, is_held=bool(evaluation.hold))) is not None:
            return plan
        if (changed := with_deletion_settings(world.operator, existing)) is not None:
            identity = {**apply_precondition(metadata.uid), "resourceVersion": metadata.resource_version}
            return ApplyBundleDeployment({**changed, "metadata": {**changed["metadata"], **identity}})
        if evaluation.is_outstanding:
            return Keep(RESOLUTION_GRACE_PERIOD)
        is_held = metadata.deleting or evaluation.hold
        return Keep() if is_held else _delete(existing)
    if FINALIZER not in finalizers:
        return Keep()
    return RemoveFinalizer(tuple(one for one in finalizers if one != FINALIZER))


def _release(world: World, existing: ObservedBundleDeployment) -> ReleaseBundleDeployment:
    """Remove the owner reference of the BundleDeployment. The garbage collector does the same, but it may not know the
    BundleDeployment yet, so this controller does not wait for it."""
    metadata, others = existing.model.metadata, without_owner(existing.raw, world.operator.metadata.uid)
    return ReleaseBundleDeployment(metadata.name, metadata.uid, metadata.resource_version, others)


def _delete(existing: ObservedBundleDeployment) -> DeleteBundleDeployment:
    metadata = existing.model.metadata
    return DeleteBundleDeployment(metadata.name, metadata.uid, metadata.resource_version)


def protection_plan(world: World) -> ProtectDeployment | None:
    """The Plan to add the annotation for deletion protection to the BundleDeployment, or to remove it; None if it is as on the
    Operator.

    Deleting the BundleDeployment would delete the same custom resources. rukpak answers the API server for both objects, and
    reads the Operator first. The annotation of the BundleDeployment only makes the API server ask.
    """
    deployment = world.owned_bundle_deployment
    if deployment is None:
        return None
    metadata = deployment.model.metadata
    is_protected = has_protection(world.operator.metadata.annotations)
    if has_protection(metadata.annotations) == is_protected:
        return None
    return ProtectDeployment(metadata.name, metadata.uid, is_protected)


# --- the evaluation


def evaluate(world: World) -> Evaluation:
    """The evaluation of the current spec of an Operator that is not being deleted.

    The World contains the answer of the Resolver. Raises ValueError if the answer is needed and missing.
    """
    evaluation = evaluate_without_answer(world)
    if evaluation is not None:
        return evaluation
    if world.resolution is None:
        raise ValueError("the World lacks the resolution of its Operator")
    answer = world.resolution.answer
    if answer is None:
        return _unanswered(world, world.resolution)
    if not answer.is_resolved:
        return _refused(world, answer)
    hold = find_hold(world, answer.bundle, answer.text)
    if hold is not None:
        return _held(world, answer, hold)
    return _kept(world, answer) if answer.bundle is None else _selected(world, answer, answer.bundle)


# --- without an answer


def evaluate_without_answer(world: World) -> Outstanding | Unanswered | None:
    """The rules that need no answer of resolution; None if none of them applies."""
    missing = _missing_bundle(world)
    if missing is not None:
        return missing
    install = world.operator.spec.install
    if install is not None and install.config is not None and install.config.problem:
        blocker = Blocked(Reason.NOT_RESOLVED, f"spec.install.{install.config.problem}", ["config"])
        failure = FailureReason.INVALID_CONFIGURATION
        return _unknown(RESOLUTION_NOT_ATTEMPTED, blocker, INSTALLATION_NOT_ATTEMPTED_INVALID, failure)
    try:
        MastermindsRange.parse(world.operator.spec.version or "*")
    except BadRange as error:
        wanted = [world.operator.spec.version or ""]
        blocker = Blocked(Reason.NOT_RESOLVED, f"{world.terms.version}: {error}; {EXAMPLES}", wanted)
        failure = FailureReason.INVALID_RANGE
        return _unknown(RESOLUTION_NOT_ATTEMPTED, blocker, INSTALLATION_NOT_ATTEMPTED_INVALID, failure)
    claimed = other_operator_has_package(world) or package_changed(world)
    return _failed(claimed, FailureReason.PACKAGE_CLAIMED) if claimed is not None else None


def _missing_bundle(world: World) -> Outstanding | Unanswered | None:
    """The evaluation if the active Bundle does not exist. None if the Bundle exists, or if it is missing for longer than its
    event may be outstanding and there is a record of it."""
    name = world.missing_bundle
    if not name:
        return None
    if world.missing_since is None or not has_passed(world.missing_since, MISSING_BUNDLE_GRACE_PERIOD, world.now):
        message = f'the installed Bundle "{name}" is not visible yet'
        return Outstanding(Waiting(Reason.RETRYING, message, MISSING_BUNDLE_RETRY_DELAY))
    if world.running is not None:
        return None
    message = (
        f'the installed Bundle "{name}" is missing and its version was not recorded: no version is selected until '
        f'BundleDeployment "{world.operator.metadata.name}" has installed the bundle of its spec'
    )
    return _failed(Waiting(Reason.RETRYING, message, RESYNC_DELAY, [name]))


def _unanswered(world: World, resolution: AnswerState) -> Outstanding | Unanswered:
    """The evaluation while the present request has no answer: for milliseconds, unless resolving fails or a catalog is slow."""
    if resolution.error is not None:
        message = f"resolution failed and is retried: {resolution.error.message}"
        subject = (resolution.error.reason, *resolution.error.subject)
        return _failed(Waiting(Reason.RETRYING, message, RESYNC_DELAY, subject))
    is_reported = world.operator.status.observed_generation == world.operator.metadata.generation
    grace_period = REPORTED_GRACE_PERIOD if is_reported else RESOLUTION_GRACE_PERIOD
    if resolution.since is None or not has_passed(resolution.since, grace_period, world.now):
        return Outstanding(Waiting(Reason.RESOLVING, RESOLUTION_IN_PROGRESS, RESOLUTION_GRACE_PERIOD))
    blocker = Waiting(Reason.RESOLVING, RESOLUTION_IN_PROGRESS, RESYNC_DELAY)
    return _unknown(RESOLUTION_IN_PROGRESS, blocker, INSTALLATION_NOT_ATTEMPTED_YET)


def _failed(blocker: OlmError, failure: FailureReason = FailureReason.RESOLUTION_FAILED) -> Unanswered:
    return Unanswered(_resolution_failed(blocker.message, blocker), blocker, INSTALLATION_NOT_ATTEMPTED, failure)


def _unknown(message: str, blocker: OlmError, not_attempted: str, failure: FailureReason | None = None) -> Unanswered:
    return Unanswered(_resolved("Unknown", Reason.RESOLUTION_UNKNOWN, message), blocker, not_attempted, failure)


# --- with an answer


def _refused(world: World, answer: Answer) -> Refused:
    blocker = resolution_blocker(world, answer)
    return Refused(
        resolved=_resolution_failed(answer.message, blocker),
        explanation=(answer.text or answer.message) + (awaited_content(world) if answer.is_final else ""),
        blocker=blocker,
        consequences=_consequences(world, answer, None),
        refusal=answer.refusal,
        paused_note=PAUSED if world.operator.spec.paused else "",
    )


def _kept(world: World, answer: Answer) -> Kept:
    image = world.running.image if world.running else ""
    blocker = bundle_deployment_blocker(world, None)
    return Kept(
        resolved=_resolved("True", Reason.SUCCESS, answer.message),
        explanation=answer.text,
        consequences=_consequences(world, answer, None),
        image=image,
        ready_reason=_ready_reason(answer),
        blocker=blocker,
        comparison=_compare_kept(world, image, blocker),
    )


def _held(world: World, answer: Answer, hold: Hold) -> Held:
    existing, running = world.owned_bundle_deployment, world.running
    requested = image_reference(existing.model.spec.template.spec) if existing is not None else ""
    selected = answer.bundle.image if answer.bundle is not None else running.image if running is not None else ""
    image = requested or selected
    blocker = bundle_deployment_blocker(world, None)
    return Held(
        resolved=_resolved("True", Reason.SUCCESS, f'resolved to "{image}"'),
        explanation=f"{hold.note}; {answer.text}",
        consequences=_consequences(world, answer, None),
        image=image,
        hold=hold,
        blocker=blocker,
        comparison=_compare_kept(world, image, blocker),
    )


def _selected(world: World, answer: Answer, bundle: SelectedBundle) -> Selected | Outstanding:
    """The evaluation of a selected bundle. It waits until the packages that it requires are installed. If the BundleDeployment
    requests it already, it waits for nothing."""
    existing = world.owned_bundle_deployment
    is_new = existing is None or not requests_bundle(existing, bundle)
    blocker = (
        unknown_media_type(world, bundle) or rejected_content(world, bundle) or bundle_deployment_blocker(world, bundle)
    )
    if is_new and blocker is None and is_removal_undecided(world):
        return Outstanding(Waiting(Reason.RETRYING, REMOVAL_UNDECIDED, RESYNC_DELAY))
    installable = bundle if blocker is None else None
    if is_new and blocker is None:
        blocker = dependency_blocker(world, answer) or order_blocker(world, answer) or set_blocker(world, answer)
    desired = bundle_deployment_for(world, bundle)
    changed = _changed(world, desired) if desired is not None else None
    is_desired = desired is not None and changed is None
    comparison = _compare(world, bundle.image, changed if blocker is None else None, is_desired=is_desired)
    return Selected(
        resolved=_resolved("True", Reason.SUCCESS, answer.message),
        explanation=answer.text,
        # The BundleDeployment of the running bundle records the catalog too.
        consequences=_consequences(world, answer, installable, has_record=blocker is None and comparison.runs_image),
        bundle=bundle,
        short_reason=answer.short_reason,
        to_create=missing_dependency(world, answer) if installable is not None else None,
        blocker=blocker,
        comparison=comparison,
    )


def _ready_reason(answer: Answer) -> Reason:
    """The reason why the running bundle stays although its catalog has no upgrade for it."""
    if answer.is_not_offered:
        return Reason.NOT_OFFERED
    return Reason.CATALOG_DELETED if answer.catalog_state is None else Reason.CATALOG_UNAVAILABLE


def _resolution_failed(message: str, blocker: OlmError) -> DesiredCondition:
    """The condition Resolved after a failed resolution. Its cause is the failed resolution even while the blocker only waits for
    a catalog."""
    cause = Cause(Reason.RESOLUTION_FAILED, frozenset(blocker.subject))
    return _resolved("False", Reason.RESOLUTION_FAILED, message, cause)


def _resolved(status: ConditionValue, reason: Reason, message: str, cause: Cause | None = None) -> DesiredCondition:
    return DesiredCondition(ConditionType.RESOLVED, status, reason, message, cause)


# --- what follows, and what differs


def _consequences(
    world: World, answer: Answer, installable: SelectedBundle | None, *, has_record: bool = False
) -> Consequences:
    """The consequences of the answer. `installable`: the selected bundle that may be installed, after others. `has_record`: the
    successor of a deleted catalog is recorded with it."""
    used = in_use(world) if world.is_dependency and is_unneeded(world) else ""
    return Consequences(
        dependencies=required_packages(world, answer),
        available=answer.available,
        deprecations=answer.deprecations,
        to_record=plan_to_record(world, answer, installable),
        kept_note=f"kept: {used} in use" if used else "",
        successor_note=answer.successor_note,
        successor=None if has_record else _successor_record(world, answer),
    )


def _successor_record(world: World, answer: Answer) -> SuccessorRecord | None:
    """The record of the successor, which is written before any upgrade, because a rejected upgrade must not lose it.

    None if there is no successor, or if another bundle is being installed already.
    """
    successor, deployment = answer.followed_catalog, world.owned_bundle_deployment
    if (
        successor is None
        or world.operator.spec.paused
        or world.running is None
        or deployment is None
        or deployment.model.metadata.deleting
        or not runs_template(world.running, deployment)
    ):
        return None
    return SuccessorRecord(_changed(world, with_successor(world.operator, deployment, successor)))


def _compare_kept(world: World, image: str, blocker: OlmError | None) -> Comparison:
    """The comparison if only the install settings of the existing BundleDeployment may change."""
    desired = _installed_as_specified(world)
    changed = _changed(world, desired) if desired is not None else None
    return _compare(world, image, changed if blocker is None else None, is_desired=changed is None)


def _installed_as_specified(world: World) -> Mapping[str, Any] | None:
    """The existing BundleDeployment with its bundle and the install settings of the spec; None if nothing may change."""
    existing, spec = world.owned_bundle_deployment, world.operator.spec
    if existing is None or existing.model.metadata.deleting or spec.paused:
        return None
    is_of_package = existing.annotations.get(PACKAGE_ANNOTATION, spec.package_name) == spec.package_name
    return with_install_settings(world.operator, existing) if is_of_package else None


def _compare(world: World, image: str, to_apply: Mapping[str, Any] | None, *, is_desired: bool) -> Comparison:
    """The comparison. `image`: the image of the resolved bundle. `is_desired`: the existing BundleDeployment, if there is one, is
    as desired."""
    existing, running = world.owned_bundle_deployment, world.running
    return Comparison(
        to_apply=to_apply,
        current_deployment=existing if existing is not None and existing.is_current and is_desired else None,
        runs_template=existing is not None and runs_template(running, existing),
        runs_image=running is not None and has_image(running, image),
    )


def _changed(world: World, desired: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The desired BundleDeployment, if the existing one differs or does not exist."""
    existing = world.owned_bundle_deployment
    return desired if existing is None or differs(existing, desired) else None
