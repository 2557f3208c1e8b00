"""The status of a ClusterExtension after a pass: report(World, Evaluation, outcome) -> StatusReport.

A condition has the generation of the ClusterExtension only if the Operator was written for it and reports on what was written:
scripts that wait would see success too early. Until then the status stays as it is. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from olmkit.api import operators
from olmkit.api.clusterextensions import (
    FINALIZER,
    BundleMetadata,
    ClusterExtensionStatus,
    ConditionType,
    InstallStatus,
    Reason,
)
from olmkit.api.conditions import (
    Cause,
    DesiredCondition,
    PendingEvent,
    Severity,
    StatusReport,
    causes_of,
    find_condition,
    merge_v1_conditions,
)
from olmkit.api.meta import Condition
from olmkit.api.operator_status import OperatorStatus
from olmkit.api.patterns import OBJECT_NAME
from olmkit.api.v1_rules import BUNDLE_VERSION_PATTERN
from olmkit.errors import Conflict
from olmkit.gocompat.text import quoted
from operator_controller.clusterextension import conditions
from operator_controller.clusterextension.deprecations import deprecation_conditions
from operator_controller.clusterextension.resolution_sentence import RESOLUTION
from operator_controller.clusterextension.world import Done, Evaluation, Keep, Outcome, SetFinalizers, World

_Conditions = Sequence[DesiredCondition | Condition | None]


def report(
    world: World, evaluation: Evaluation | None, outcome: Outcome
) -> StatusReport[ClusterExtensionStatus] | None:
    """The status and its Events; None if the status stays as it is."""
    if evaluation is None or world.leader is not None or isinstance(outcome, Conflict):
        return None
    if world.extension.metadata.deleting:
        return _deletion(world, outcome)
    if isinstance(outcome, Exception):
        return _status(world, conditions.progressing_of_error(outcome), has_failed=True)
    owned = world.owned_operator
    if not isinstance(outcome.plan, Keep) or owned is None or not owned.is_reported:
        return None
    status = owned.model.status
    progressing = conditions.progressing(world.extension, evaluation.configuration, status)
    return _status(world, progressing, has_failed=status.failure is not None)


def _deletion(world: World, outcome: Outcome) -> StatusReport[ClusterExtensionStatus] | None:
    """The status until the deletion is complete. All but Progressing stays as it is while the Operator is there."""
    if FINALIZER not in world.extension.metadata.finalizers:
        return _held_by_others(world)
    if isinstance(outcome, Done) and isinstance(outcome.plan, SetFinalizers):
        return _released(world) if world.is_orphaning else None
    progressing = _held(world, outcome)
    if progressing is None:
        return None
    status = world.extension.status
    others = [each for each in status.conditions if each.type != ConditionType.PROGRESSING]
    return _report(world, [*others, progressing], status.install, _events(world, progressing))


def _held_by_others(world: World) -> StatusReport[ClusterExtensionStatus] | None:
    """The status while only the finalizers of others keep the ClusterExtension. Nothing of it is left."""
    others = sorted(world.extension.metadata.finalizers)
    if not others or world.is_orphaning or world.owned_operator is not None:
        return None
    text = f"everything is removed: the finalizers {', '.join(others)} hold the ClusterExtension"
    progressing = conditions.removing(text, *others)
    return _report(world, [progressing, conditions.installed(None, has_failed=True)], None, _events(world, progressing))


def _released(world: World) -> StatusReport[ClusterExtensionStatus] | None:
    """The status as it is, and an Event about the Operator that stays."""
    left = world.operator
    if left is None or left.controller is not None:
        return None
    text = f"Operator {left.model.metadata.name} stays, and belongs to no ClusterExtension"
    return StatusReport(world.extension.status, events=(PendingEvent("Normal", "Released", text, "Release"),))


def _held(world: World, outcome: Outcome) -> DesiredCondition | None:
    if isinstance(outcome, Exception):
        return conditions.progressing_of_error(outcome)
    owned = world.owned_operator
    if owned is None or world.is_orphaning:
        return None
    text = f"Operator {quoted(owned.model.metadata.name)} is being deleted"
    ready = find_condition(owned.model.status.conditions, operators.ConditionType.READY)
    if not owned.model.metadata.deleting or ready is None:
        return conditions.removing(text)
    if ready.reason == operators.Reason.DELETION_BLOCKED:
        return conditions.deletion_held(ready.message, Cause(ready.reason))
    return conditions.removing(f"{text}: {ready.message}" if ready.reason == operators.Reason.REMOVING else text)


def _status(
    world: World, progressing: DesiredCondition | None, *, has_failed: bool
) -> StatusReport[ClusterExtensionStatus]:
    """The whole status: Progressing as given, and what the Operator of the ClusterExtension says of what it has installed."""
    status = world.owned_operator.model.status if world.owned_operator is not None else None
    is_installed = status is not None and status.installed is not None
    desired: _Conditions = [
        progressing or _kept(world, is_installed=is_installed),
        conditions.installed(status, has_failed=has_failed),
        conditions.available(status.health) if status is not None and is_installed else None,
        *deprecation_conditions(
            status.deprecations if status is not None else None, is_installed=is_installed, has_failed=has_failed
        ),
    ]
    return _report(world, desired, _install(status), _events(world, progressing))


def _kept(world: World, *, is_installed: bool) -> Condition | None:
    """Progressing as it is, while work is in progress. What is False says what a person has to change, and that has been changed:
    it goes. So does a success of which nothing is left."""
    old = find_condition(world.extension.status.conditions, ConditionType.PROGRESSING)
    if old is None or old.status == "False" or (old.reason == Reason.SUCCEEDED and not is_installed):
        return None
    return old


def _report(
    world: World, desired: _Conditions, install: InstallStatus | None, events: tuple[PendingEvent, ...]
) -> StatusReport[ClusterExtensionStatus]:
    known = [each for each in desired if each is not None]
    merged, transitions = merge_v1_conditions(
        world.extension.status.conditions, known, world.extension.metadata.generation, world.now
    )
    causes = causes_of(each for each in known if isinstance(each, DesiredCondition))
    return StatusReport(ClusterExtensionStatus(conditions=merged, install=install), transitions, events, causes=causes)


def _install(status: OperatorStatus | None) -> InstallStatus | None:
    """The installed bundle. One whose name or version the API of OLM v1 does not accept is left out: the API server would refuse
    the whole status."""
    installed = status.installed if status is not None else None
    if installed is None or not re.fullmatch(BUNDLE_VERSION_PATTERN, installed.version):
        return None
    if not re.fullmatch(OBJECT_NAME, installed.name):
        return None
    return InstallStatus(bundle=BundleMetadata(name=installed.name, version=installed.version))


# --- Events


def _events(world: World, progressing: DesiredCondition | None) -> tuple[PendingEvent, ...]:
    """One Event for a new state of Progressing, or for another cause of it. That of a choice that failed has the explanation of
    the Operator, which says more than the sentence of OLM v1."""
    old = find_condition(world.extension.status.conditions, ConditionType.PROGRESSING)
    if progressing is None:
        return ()
    is_same = old is not None and (old.status, old.reason) == (progressing.status, progressing.reason)
    cause = progressing.cause
    if is_same and (cause is None or world.reported is None or world.reported.covers(cause)):
        return ()
    if cause is None:
        return (PendingEvent("Normal", progressing.reason, progressing.message, "Install"),)
    status = world.owned_operator.model.status if world.owned_operator is not None else None
    failure = status.failure if status is not None else None
    if status is not None and failure is not None and failure.reason in RESOLUTION and status.resolution:
        return (PendingEvent("Warning", cause.reason, status.resolution, "Install"),)
    kind: Severity = "Normal" if cause.reason == operators.Reason.REMOVING else "Warning"
    return (PendingEvent(kind, cause.reason, progressing.message, "Install"),)
