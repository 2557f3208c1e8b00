"""The status of one Bundle, from its World, Evaluation and outcome. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from olmkit.api.bundles import BundleStatus, ChartFacts, ConditionType, Reason
from olmkit.api.conditions import (
    Cause,
    DesiredCondition,
    StatusReport,
    cause_of,
    causes_of,
    is_condition_true,
    merge_conditions,
)
from olmkit.api.content import Phase, ResolvedSource, SourceType
from olmkit.api.signatures import SignedBy
from olmkit.errors import Blocked, OlmError, Waiting
from olmkit.jobs.state import Failed, Finished, Queued, Running
from olmkit.sources.resolved_source import content_digest
from rukpak.bundle.decide import had_condition, unpack_subject
from rukpak.bundle.world import AwaitUpload, Done, Evaluation, World

UPLOAD_AWAITED = "waiting for bundle to be uploaded"
UPLOAD_RECEIVED = "received bundle upload, waiting for provisioner to unpack it."
GAVE_WAY = ": its {server} is slow, so it gave way to Bundles that waited"


def report(world: World, evaluation: Evaluation | None, outcome: Done | Exception) -> StatusReport[BundleStatus] | None:
    """The status that is true after the pass, and its transitions; None when the Bundle is gone.

    A new attempt leaves the report of the previous attempt unchanged until it ends, unless the previous attempt was final.
    """
    bundle = world.bundle
    if bundle is None:
        return None
    keeps_status = bundle.metadata.deleting or (evaluation is not None and evaluation.keeps_status)
    is_retried = had_condition(bundle, "False", Reason.UNPACK_FAILED) and not is_condition_true(
        bundle.status.conditions, ConditionType.STALLED
    )
    if keeps_status or (_is_working(outcome) and is_retried):
        return StatusReport(bundle.status)
    phase, wanted = _conditions(outcome, world)
    generation = bundle.metadata.generation
    conditions, transitions = merge_conditions(bundle.status.conditions, wanted, generation, world.now)
    resolved = _resolved(world, evaluation, outcome)
    status = BundleStatus(
        observed_generation=generation,
        conditions=conditions,
        phase=phase,
        resolved_source=ResolvedSource.load(resolved) if resolved else None,
        signed_by=_signed_by(world, outcome),
        chart=_chart(world) if phase is Phase.UNPACKED else None,
        content_digest=content_digest(resolved) or None,
        content_url=(world.content_url or None) if phase is Phase.UNPACKED else None,
    )
    return StatusReport(status, transitions, causes=causes_of(wanted))


def _chart(world: World) -> ChartFacts | None:
    chart = world.chart
    if chart is None:
        return None
    return ChartFacts(name=chart.name, version=chart.version, app_version=chart.app_version or None)


def _resolved(world: World, evaluation: Evaluation | None, outcome: Done | Exception) -> Mapping[str, Any]:
    resolved = evaluation.resolved if evaluation is not None else world.resolved
    if not resolved and isinstance(outcome, Done) and isinstance(outcome.job, Finished):
        return outcome.job.result.resolved
    return resolved


def _signed_by(world: World, outcome: Done | Exception) -> SignedBy | None:
    found = world.signed_by
    if not found and isinstance(outcome, Done) and isinstance(outcome.job, Finished):
        found = outcome.job.result.signed_by
    return SignedBy.load(found) if found else None


def _is_working(outcome: Done | Exception) -> bool:
    return isinstance(outcome, Done) and isinstance(outcome.job, Queued | Running)


def _conditions(outcome: Done | Exception, world: World) -> tuple[Phase, tuple[DesiredCondition, ...]]:
    source = world.source_type
    match outcome:
        case OlmError():
            return Phase.FAILING, _failed(outcome.message, cause_of(outcome), stalled=isinstance(outcome, Blocked))
        case Exception():
            return Phase.FAILING, _failed(f"unexpected error: {outcome}", cause_of(outcome), stalled=False)
    if isinstance(outcome.plan, AwaitUpload):
        return Phase.PENDING, _in_progress(Reason.UNPACK_PENDING, _upload_awaited(world))
    match outcome.job:
        case Finished(result=result) if result.problem:
            return Phase.FAILING, _failed(result.problem, Cause(Reason.UNPACK_FAILED), stalled=True)
        case Failed(error=error):
            cause = Cause(Reason.UNPACK_FAILED, frozenset(unpack_subject(error)))
            return Phase.FAILING, _failed(error.message, cause, stalled=not isinstance(error, Waiting))
        case Queued() if source == SourceType.UPLOAD:
            return Phase.PENDING, _in_progress(Reason.UNPACK_PENDING, UPLOAD_RECEIVED)
        case Queued(gave_way=gave_way):
            text, server = "Waiting in the queue to be unpacked", "registry" if source == SourceType.IMAGE else "server"
            text += GAVE_WAY.format(server=server) if gave_way else ""
            return Phase.PENDING, _in_progress(Reason.UNPACK_PENDING, text)
        case Running(progress=progress):
            text = f"Unpacking the {source} Bundle"
            return Phase.UNPACKING, _in_progress(Reason.UNPACKING, f"{text}: {progress}" if progress else text)
        case Finished():
            return Phase.UNPACKING, _in_progress(Reason.UNPACKING, f"Unpacking the {source} Bundle")
    return Phase.UNPACKED, _unpacked(f"Successfully unpacked the {source} Bundle")


def _upload_awaited(world: World) -> str:
    """The words of upstream, and the command that sends the archive."""
    assert world.bundle is not None
    digest = f", an archive with the digest {world.upload_digest}" if world.upload_digest else ""
    return f"{UPLOAD_AWAITED}: `olm bundle upload {world.bundle.metadata.name} DIRECTORY` sends it{digest}"


def _unpacked(message: str) -> tuple[DesiredCondition, ...]:
    return (
        DesiredCondition(ConditionType.UNPACKED, "True", Reason.UNPACK_SUCCESSFUL, message),
        DesiredCondition(ConditionType.READY, "True", Reason.SUCCEEDED, message),
    )


def _in_progress(reason: Reason, message: str) -> tuple[DesiredCondition, ...]:
    return (
        DesiredCondition(ConditionType.UNPACKED, "False", reason, message),
        DesiredCondition(ConditionType.READY, "False", Reason.NOT_UNPACKED, message),
        DesiredCondition(ConditionType.RECONCILING, "True", reason, message),
    )


def _failed(message: str, cause: Cause | None, *, stalled: bool) -> tuple[DesiredCondition, ...]:
    progress = (
        DesiredCondition(ConditionType.STALLED, "True", Reason.BLOCKED, message, cause)
        if stalled
        else DesiredCondition(ConditionType.RECONCILING, "True", Reason.RETRYING, message, cause)
    )
    return (
        DesiredCondition(ConditionType.UNPACKED, "False", Reason.UNPACK_FAILED, message, cause),
        DesiredCondition(ConditionType.READY, "False", Reason.NOT_UNPACKED, message, cause),
        progress,
    )
