"""The field wanted of the status of an Operator: the bundle that is wanted, and whether it is applied.

`report` calls it. Pure.
"""

from __future__ import annotations

from typing import assert_never

from olmkit.api.bundledeployments import ConditionType, Reason
from olmkit.api.operator_status import WantedBundle
from operator_controller.operator.evaluation import Comparison, Held, Kept, Refused, Reported, Selected, Unanswered
from operator_controller.operator.pause_and_approval import requested_version
from operator_controller.operator.world import World

_APPLIED = (Reason.SUCCEEDED, Reason.PROGRESSING, Reason.UNHEALTHY, Reason.OBJECT_LOOKUP_FAILURE)
"""The reasons of Ready of a BundleDeployment whose objects are all applied: the others are about what is still to be done."""


def wanted_bundle(world: World, evaluation: Reported) -> WantedBundle | None:
    """The chosen bundle; the one that runs if it stays; the requested one while another waits. None if there is none."""
    match evaluation:
        case Unanswered() | Refused():
            return None
        case Selected(bundle=bundle):
            name, version, image = bundle.name, bundle.version, bundle.image
        case Kept() if world.running is not None:
            name, version, image = world.running.name, world.running.version_text, world.running.image
        case Held() if world.owned_bundle_deployment is not None:
            name, version, image = world.owned_bundle_deployment.bundle_name, requested_version(world), evaluation.image
        case Kept() | Held():
            return None
        case _:
            assert_never(evaluation)
    is_permitted = not (isinstance(evaluation, Held) and evaluation.hold.excludes_running)
    applied = is_permitted and _is_applied(evaluation.comparison)
    return WantedBundle(name=name, version=version, image=image, applied=applied)


def _is_applied(comparison: Comparison) -> bool:
    """Report whether all objects are applied as spec says, healthy or not."""
    deployment = comparison.current_deployment
    ready = deployment.condition(ConditionType.READY) if deployment is not None else None
    return comparison.runs_template and ready is not None and ready.reason in _APPLIED
