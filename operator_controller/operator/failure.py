"""The field failure of the status of an Operator: why what spec asks for is not installed, or not healthy. `report` calls it.

    no answer                                   the reason that the evaluation gives; none while the request is being resolved
    the answer selects no bundle                the reason that the answer gives
    the BundleDeployment cannot be written      ApplyFailed
    something prevents the installation         ObjectExists, InvalidBundle, RequirementsNotSatisfied; none for an ordinary wait
    the BundleDeployment is as desired          its failure

Never reads a message. Pure.
"""

from __future__ import annotations

from typing import assert_never

from olmkit.api.failures import FailureReason
from olmkit.api.operator_status import MAX_NAMED, Failure
from olmkit.api.operators import EVERY_CHANNEL, Reason
from olmkit.api.reported_failure import MAX_FAILURE_MESSAGE_BYTES
from olmkit.errors import Blocked, OlmError
from olmkit.gocompat.text import one_line, truncate
from operator_controller.operator.blockers import rejected_content, unknown_media_type
from operator_controller.operator.evaluation import Held, Kept, Refused, Reported, Resolved, Selected, Unanswered
from operator_controller.operator.report_progress import error_text
from operator_controller.operator.world import Outcome, World


def failure_of(world: World, evaluation: Reported, outcome: Outcome) -> Failure | None:
    """The failure after a pass; None if nothing has failed."""
    match evaluation:
        case Unanswered(failure=reason):
            return _failure(world, reason, evaluation.blocker.message) if reason is not None else None
        case Refused(refusal=refusal):
            if refusal is None:
                return None
            return _failure(world, refusal.reason, evaluation.resolved.message, refusal.catalogs)
        case Kept() | Held() | Selected():
            return _failure_of_installation(world, evaluation, outcome)
        case _:
            assert_never(evaluation)


def _failure_of_installation(world: World, evaluation: Resolved, outcome: Outcome) -> Failure | None:
    if isinstance(outcome, Exception) and not isinstance(outcome, OlmError):
        text = error_text("the BundleDeployment could not be written", outcome)
        return _failure(world, FailureReason.APPLY_FAILED, text)
    blocker, deployment = evaluation.blocker, evaluation.comparison.current_deployment
    if blocker is not None and (reason := _reason_of(world, evaluation, blocker)) is not None:
        return _failure(world, reason, blocker.message)
    found = deployment.model.status.failure if deployment is not None else None
    if found is None:
        return None
    failure = _failure(world, found.reason, found.message)
    return failure.model_copy(update={"install_modes": found.install_modes})


def _reason_of(world: World, evaluation: Resolved, blocker: OlmError) -> FailureReason | None:
    """The reason of what prevents the installation; None if it is an ordinary wait."""
    bundle = evaluation.bundle if isinstance(evaluation, Selected) else None
    if bundle is not None and (unknown_media_type(world, bundle) or rejected_content(world, bundle)):
        return FailureReason.INVALID_BUNDLE
    if not isinstance(blocker, Blocked):
        return None
    is_of_others = blocker.reason == Reason.INSTALLATION_FAILED
    return FailureReason.OBJECT_EXISTS if is_of_others else FailureReason.REQUIREMENTS_NOT_SATISFIED


def _failure(world: World, reason: FailureReason, message: str, catalogs: tuple[str, ...] = ()) -> Failure:
    spec, running = world.operator.spec, world.running
    channels = [name for name in spec.followed_channels if name != EVERY_CHANNEL]
    return Failure(
        reason=reason,
        message=truncate(one_line(message), MAX_FAILURE_MESSAGE_BYTES),
        package=spec.package_name,
        version=spec.version or None,
        channels=channels or None,
        catalogs=list(catalogs[:MAX_NAMED]) or None,
        installed_version=(running.version_text or None) if running is not None else None,
    )
