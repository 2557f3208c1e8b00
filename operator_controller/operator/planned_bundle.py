"""The order of the steps of Operators, and the plan of a moving set, which all members record before the first step.

The order and the sets come from the answer (resolve/selection/move_order.py). resolve/selection/recorded_plans.py decides which
records are binding. A record is an annotation of the BundleDeployment. The next leader reads it again, so that it finishes a set
that has begun to move. Pure.
"""

from __future__ import annotations

import json
from typing import Any

import orjson

from olmkit.api.bundledeployments import PLANNED_BUNDLE_ANNOTATION
from olmkit.api.bundledeployments import ConditionType as DeploymentCondition
from olmkit.api.bundledeployments import Reason as DeploymentReason
from olmkit.api.operators import Reason
from olmkit.errors import OlmError, Waiting
from operator_controller.operator.delays import RESYNC_DELAY
from operator_controller.operator.world import Neighbour, ObservedBundleDeployment, RecordPlan, World
from operator_controller.resolve.answers.answer import Answer, SelectedBundle
from operator_controller.resolve.formatting import first_names
from operator_controller.resolve.snapshot.cluster_snapshot import MovingSet, PlannedBundle

NOT_INSTALLABLE = (
    DeploymentReason.UNPACK_FAILED,
    DeploymentReason.BUNDLE_LOAD_FAILED,
    DeploymentReason.INVALID_CONFIGURATION,
)
"""Reasons of HasValidBundle that end the installation of a bundle before its first write."""


# --- the record


def make_record(moving: MovingSet, bundle: SelectedBundle) -> str:
    """The value of the annotation: the identity of the set, and the bundle planned for this member."""
    fields = {
        "plan": moving.plan,
        "bundle": bundle.name,
        "version": bundle.version,
        "catalog": bundle.catalog,
        "image": bundle.image,
        "members": dict(moving.members),
    }
    return json.dumps(fields, sort_keys=True, separators=(",", ":"))


def read_record(deployment: ObservedBundleDeployment) -> PlannedBundle | None:
    """The record of a BundleDeployment; None if it has no record, or if a person made the record unreadable."""
    text = deployment.model.metadata.annotations.get(PLANNED_BUNDLE_ANNOTATION, "")
    try:
        found: Any = orjson.loads(text) if text else None
    except ValueError:
        return None
    if not isinstance(found, dict) or not isinstance(members := found.get("members"), dict):
        return None
    texts = [found.get(name) for name in ("plan", "bundle", "image")]
    if not all(isinstance(one, str) and one for one in (*texts, *members.values())):
        return None
    return PlannedBundle(str(texts[0]), str(texts[1]), str(texts[2]), tuple(sorted(members.items())))


def pending_plan(deployment: ObservedBundleDeployment) -> PlannedBundle | None:
    """The record, unless its bundle cannot be installed and no object of it was installed."""
    plan, state = read_record(deployment), deployment.condition(DeploymentCondition.HAS_VALID_BUNDLE)
    has_failed = state is not None and state.status == "False" and state.reason in NOT_INSTALLABLE
    return None if plan is not None and has_failed and deployment.bundle_name == plan.name else plan


def plan_to_record(world: World, answer: Answer, bundle: SelectedBundle | None) -> RecordPlan | None:
    """The Plan to write a record before the step to `bundle`, or to remove a record because its bundle is installed or the set is
    not to move. None if the record is as desired, or if this is not known. `bundle` is None if nothing may be installed."""
    deployment, moving = world.owned_bundle_deployment, answer.moving_set
    if deployment is None or deployment.model.metadata.deleting or world.operator.spec.paused:
        return None
    metadata = deployment.model.metadata
    existing = metadata.annotations.get(PLANNED_BUNDLE_ANNOTATION, "")
    if moving is not None:
        record = make_record(moving, bundle) if bundle is not None else existing
    else:
        record = "" if _is_over(world, deployment) else existing
    return RecordPlan(metadata.name, metadata.uid, record) if record != existing else None


def _is_over(world: World, deployment: ObservedBundleDeployment) -> bool:
    """Report whether it is certain that the record is not needed: its bundle runs, or no fact that is still unknown can make it
    necessary again."""
    plan, running = read_record(deployment), world.running
    if plan is None or (running is not None and running.name == plan.name):
        return True
    return world.resolution is not None and world.resolution.certain_answer is not None


# --- what has to come first


def set_blocker(world: World, answer: Answer) -> OlmError | None:
    """Explain why a member of a moving set does not take its step yet: another member has not recorded the plan."""
    own, moving = world.operator.spec.package_name, answer.moving_set
    waiting = [
        package
        for package, bundle in (moving.members if moving is not None else ())
        if package != own and not _has_recorded(world.neighbours.get(package), moving, bundle)
    ]
    if not waiting:
        return None
    names = first_names(_named(package, world.neighbours.get(package)) for package in waiting)
    message = f"moves together with other Operators, which have not recorded it yet: {names}"
    return Waiting(Reason.WAITING_FOR_DEPENDANTS, message, RESYNC_DELAY, waiting)


def _has_recorded(neighbour: Neighbour | None, moving: MovingSet | None, bundle: str) -> bool:
    if neighbour is None or neighbour.is_deleting or moving is None:
        return False
    return neighbour.bundle == bundle or neighbour.plan == moving.plan


def order_blocker(world: World, answer: Answer) -> OlmError | None:
    """Explain why a step waits that would break the running bundles of other Operators: they are upgraded first."""
    required = {one.package for one in answer.dependencies}
    members = {one.package: one for one in answer.members}
    waiting = {
        package: f"{_named(package, neighbour)} to {members[package].version}"
        for package in answer.after
        if package not in required and package in members
        for neighbour in (world.neighbours.get(package),)
        if neighbour is not None and neighbour.bundle not in ("", members[package].bundle)
    }
    if not waiting:
        return None
    message = f"waiting for the upgrade of what requires the installed version: {first_names(waiting.values())}"
    return Waiting(Reason.WAITING_FOR_DEPENDANTS, message, RESYNC_DELAY, waiting)


def _named(package: str, neighbour: Neighbour | None) -> str:
    if neighbour is None:
        return package
    return f"Operator {neighbour.operator}{f' ({neighbour.short_message})' if neighbour.message else ''}"
