"""Decides the next step for one Operator: decide(World) -> Decision(Plan, Evaluation).

Pure.

    resolved --> CreateDependency for each --> (they are installed) --> AddFinalizer --> ApplyBundleDeployment --> Keep
    in a moving set --> RecordPlan --> (all have recorded it) --> ApplyBundleDeployment --> (installed) --> RecordPlan without one
    a BundleDeployment of its name that nobody owns --> AdoptBundleDeployment, if it may be
    deleted  --> (nothing installed requires it) --> ApplyBundleDeployment with its deletion policy --> DeleteBundleDeployment
             --> Keep (rukpak works) --> RemoveFinalizer
    deleted without its dependents --> RemoveDependencyLabel --> ReleaseBundleDeployment, unless the garbage collector was faster
             --> RemoveFinalizer
    dependency that nothing requires --> RequestCount --> (no custom resources) --> DeleteDependency
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, assert_never

from olmkit.api.meta import apply_precondition
from olmkit.api.operators import FINALIZER, has_protection
from olmkit.errors import OlmError
from olmkit.runtime.reconciler import Decision
from operator_controller.operator.adoption import adoption_plan
from operator_controller.operator.bundle_deployment import with_deletion_policy
from operator_controller.operator.dependencies import DeletionEvaluation, dependency_plan, evaluate_deletion, hold_plan
from operator_controller.operator.evaluate import evaluate
from operator_controller.operator.evaluation import (
    Evaluation,
    Held,
    Kept,
    Outstanding,
    Refused,
    Reported,
    Selected,
    Unanswered,
)
from operator_controller.operator.timing import RESOLUTION_GRACE_PERIOD
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
)


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
        if (changed := with_deletion_policy(world.operator, existing)) is not None:
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
    metadata, owners = existing.model.metadata, existing.raw["metadata"]["ownerReferences"]
    others = tuple(each for each in owners if each["uid"] != world.operator.metadata.uid)
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
