"""The conditions of an Operator that is being deleted. `report` calls it. Pure."""

from __future__ import annotations

from olmkit.api.bundledeployments import ConditionType as DeploymentCondition
from olmkit.api.conditions import DesiredCondition
from olmkit.api.operators import ConditionType, Reason
from operator_controller.operator.report_progress import error_text, not_ready
from operator_controller.operator.world import Outcome, World


def deletion_conditions(world: World, outcome: Outcome, hold: str) -> list[DesiredCondition]:
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
        return [*unchanged, *not_ready(Reason.DELETION_BLOCKED, message, Reason.DELETION_BLOCKED)]
    ready = deployment.condition(DeploymentCondition.READY) if deployment else None
    is_reported = deployment is not None and deployment.model.metadata.deleting and ready is not None
    left = f": {ready.message}" if is_reported and ready else ""
    if isinstance(outcome, Exception):
        write = "the BundleDeployment could not be deleted" if deployment else "the finalizer could not be removed"
        left = f": {error_text(write, outcome)}"
    is_installed = world.running is not None or world.installed_status is not None
    subject = "installed bundle" if is_installed else "BundleDeployment" if deployment else "Operator"
    return [*unchanged, *not_ready(Reason.REMOVING, f"removing the {subject}{left}", Reason.REMOVING)]
