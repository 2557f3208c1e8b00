"""The status of one Catalog: World, Evaluation and outcome -> Status.

Reports three facts separately: the served content, the attempt to load the source that the spec requests, and both together.
Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from catalogd.catalog.selected_packages import packages_selected_condition, selected_names, selection_note
from catalogd.catalog.valid_condition import MAX_ERROR_BYTES, count, valid_condition
from catalogd.catalog.world import (
    Done,
    Evaluation,
    Load,
    LoadRunning,
    Serve,
    ServedContent,
    World,
)
from olmkit.api.catalogs import Catalog, CatalogFailure, CatalogStatus, ConditionType, Reason
from olmkit.api.conditions import (
    Cause,
    ConditionValue,
    DesiredCondition,
    StatusReport,
    Transition,
    cause_of,
    causes_of,
    is_condition_true,
    merge_conditions,
)
from olmkit.api.content import Phase, ResolvedImage, ResolvedSource, SourceType
from olmkit.api.signatures import SignedBy
from olmkit.errors import Blocked, OlmError
from olmkit.gocompat.text import printable, truncate
from olmkit.sources.errors import BadContent, SourceReason
from olmkit.store.disk_errors import DiskReason

MAX_PACKAGE_NAMES_CHARACTERS = 65_536
UNAVAILABLE_MESSAGE = "Catalog availability mode is set to Unavailable"
NOTHING_UNPACKED_MESSAGE = "nothing has been unpacked yet"
WRITING_PACKAGES_MESSAGE = "writing the Package objects"

_PHASES: dict[str, Phase] = {
    Reason.UNPACK_PENDING: Phase.PENDING,
    Reason.UNPACKING: Phase.UNPACKING,
    Reason.UNPACK_SUCCESSFUL: Phase.UNPACKED,
    Reason.UNPACK_FAILED: Phase.FAILING,
}


def report(world: World, evaluation: Evaluation | None, outcome: Done | Exception) -> StatusReport[CatalogStatus]:
    """The status that is true after the pass."""
    catalog = world.catalog
    if catalog is None:
        return StatusReport(CatalogStatus())
    error = outcome if isinstance(outcome, Exception) else None
    if evaluation is None:
        desired, handled = _unchanged_conditions(catalog, error), catalog.status.last_handled_refresh
    else:
        desired = _conditions(world, catalog, evaluation, evaluation.source_error or error)
        handled = _handled_refresh(world, catalog, evaluation, outcome)
    generation = catalog.metadata.generation
    conditions, transitions = merge_conditions(catalog.status.conditions, desired, generation, world.now)
    status = CatalogStatus(
        observed_generation=generation,
        conditions=conditions,
        phase=next((_PHASES.get(each.reason) for each in desired if each.type == ConditionType.UNPACKED), None),
        last_handled_refresh=handled,
        failure_reason=_failure_reason(catalog, evaluation, error),
    )
    if world.served is not None:
        status = status.model_copy(update=_content(world.served, world.content_url))
    transitions = (*transitions, *_content_transition(world, catalog, transitions))
    return StatusReport(status, transitions, causes=causes_of(desired))


def _failure_reason(
    catalog: Catalog, evaluation: Evaluation | None, error: Exception | None
) -> Literal[CatalogFailure.SOURCE_UNREADABLE, CatalogFailure.STORAGE_FAILED] | None:
    """The reason why the content was not unpacked; as it was if nothing has been evaluated."""
    if evaluation is None:
        return catalog.status.failure_reason
    if catalog.is_unavailable:
        return None
    cause = evaluation.source_error or error
    if isinstance(cause, OlmError) and cause.reason in list(DiskReason):
        return CatalogFailure.STORAGE_FAILED
    return CatalogFailure.SOURCE_UNREADABLE if evaluation.source_error is not None else None


def _content_transition(world: World, catalog: Catalog, transitions: Sequence[Transition]) -> Sequence[Transition]:
    """The transition for served content that the status does not name yet. It causes an Event, although no condition changes its
    status."""
    before = catalog.status.content_digest
    if world.served is None or before in (None, world.served.record.digest):
        return ()
    if any(each.type == ConditionType.SERVING for each in transitions):
        return ()
    serving = _serving(world)
    return (Transition(serving.type, serving.status, serving.reason, serving.message),)


def _handled_refresh(world: World, catalog: Catalog, evaluation: Evaluation, outcome: Done | Exception) -> str | None:
    """The value of the requested check that has ended, with or without success. It is written in the same update as the result of
    the check."""
    if world.refresh_requested and evaluation.desired is None:
        return world.refresh_requested  # there is no source to check, and the conditions report that
    continues = isinstance(outcome, Done) and isinstance(outcome.plan.action, Load | Serve)
    if world.refresh_started and not continues and not isinstance(world.job, LoadRunning):
        return world.refresh_started
    return catalog.status.last_handled_refresh


def _content(served: ServedContent, content_url: str) -> dict[str, object]:
    record, selected = served.record, selected_names(served)
    image = ResolvedSource(type=SourceType.IMAGE, image=ResolvedImage(ref=record.resolved_ref))
    return {
        "resolved_source": ResolvedSource.load(record.resolved) if record.resolved else image,
        "signed_by": SignedBy.load(record.signed_by) if record.signed_by else None,
        "content_digest": record.digest,
        "short_digest": record.digest[: record.digest.index(":") + 13],
        "content_url": content_url,
        "last_unpacked": record.unpacked,
        "package_count": len(served.summary.package_names),
        "bundle_count": served.summary.bundle_count,
        "packages": _names(served.summary.package_names),
        "selected_packages": None if selected is None else _names(selected),
    }


def _unchanged_conditions(catalog: Catalog, error: Exception | None) -> list[DesiredCondition]:
    """The existing conditions, and the error that prevented an evaluation."""
    changing = (ConditionType.STALLED, ConditionType.RECONCILING)
    kept = [each for each in catalog.status.conditions if each.type not in changing]
    return [
        *(DesiredCondition(each.type, each.status, each.reason, each.message) for each in kept),
        DesiredCondition(ConditionType.RECONCILING, "True", Reason.RETRYING, _message(error), cause_of(error)),
    ]


def _conditions(
    world: World, catalog: Catalog, evaluation: Evaluation, error: Exception | None
) -> list[DesiredCondition]:
    """The conditions after the pass. `error` is the error of the source, else the error of the pass."""
    if catalog.is_unavailable:
        return [*_unavailable(world), *_progress(world, error, None)]
    unpacked = _unpacked(world, evaluation)
    ready = _ready(world, catalog, error, unpacked)
    valid = valid_condition(world, NOTHING_UNPACKED_MESSAGE)
    selected = packages_selected_condition(world, NOTHING_UNPACKED_MESSAGE)
    return [unpacked, _serving(world, unpacked.cause), valid, *selected, ready, *_progress(world, error, unpacked)]


def _progress(world: World, error: Exception | None, unpacked: DesiredCondition | None) -> list[DesiredCondition]:
    """The condition Stalled or Reconciling, or neither."""
    if isinstance(error, Blocked):
        return [DesiredCondition(ConditionType.STALLED, "True", Reason.BLOCKED, error.message, cause_of(error))]
    if error is not None:
        return [DesiredCondition(ConditionType.RECONCILING, "True", Reason.RETRYING, _message(error), cause_of(error))]
    if unpacked is not None and unpacked.status != "True":
        return [DesiredCondition(ConditionType.RECONCILING, "True", Reason.UNPACKING, unpacked.message)]
    if unpacked is None and world.served is not None:
        return [
            DesiredCondition(ConditionType.RECONCILING, "True", Reason.USER_SPECIFIED_UNAVAILABLE, UNAVAILABLE_MESSAGE)
        ]
    if world.package_diff or world.is_selection_outdated:
        return [DesiredCondition(ConditionType.RECONCILING, "True", Reason.WRITING_PACKAGES, WRITING_PACKAGES_MESSAGE)]
    return []


def _unavailable(world: World) -> list[DesiredCondition]:
    """The conditions of an Unavailable Catalog. Serving and Valid describe the content until it is removed."""

    def condition(type: ConditionType, status: ConditionValue) -> DesiredCondition:
        return DesiredCondition(type, status, Reason.USER_SPECIFIED_UNAVAILABLE, UNAVAILABLE_MESSAGE)

    is_done = world.served is None
    return [
        condition(ConditionType.UNPACKED, "False"),
        condition(ConditionType.SERVING, "False") if is_done else _serving(world),
        condition(ConditionType.VALID, "Unknown") if is_done else valid_condition(world, NOTHING_UNPACKED_MESSAGE),
        condition(ConditionType.READY, "True" if is_done else "False"),
    ]


def _message(error: Exception | None) -> str:
    """The message of an OlmError or ApiError; only the type of any other error."""
    message = getattr(error, "message", None)
    return message if isinstance(message, str) else f"unexpected {type(error).__name__}; see the log of catalogd"


def _unpacked(world: World, evaluation: Evaluation) -> DesiredCondition:
    error = evaluation.source_error

    def unpacked(status: ConditionValue, reason: Reason, message: str) -> DesiredCondition:
        text = truncate(message, MAX_ERROR_BYTES)
        return DesiredCondition(ConditionType.UNPACKED, status, reason, text, cause_of(error))

    if error is not None:
        return unpacked("False", Reason.UNPACK_FAILED, error.message)
    if evaluation.desired is None:
        return unpacked("False", Reason.UNPACK_PENDING, NOTHING_UNPACKED_MESSAGE)
    if evaluation.is_served:
        return unpacked("True", Reason.UNPACK_SUCCESSFUL, _successfully(world))
    if evaluation.is_reading:
        return unpacked("False", Reason.UNPACKING, f"reading {evaluation.desired.description}")
    return unpacked("False", Reason.UNPACK_PENDING, f"waiting to read {evaluation.desired.description}")


def _successfully(world: World) -> str:
    """The message of a successful load. For images it has the exact text of the OpenShift guide."""
    assert world.served is not None
    record = world.served.record
    what = "the catalog image" if record.resolved.get("type", SourceType.IMAGE) == SourceType.IMAGE else "the catalog"
    return f'successfully unpacked {what} "{record.resolved_ref}"'


def _serving(world: World, cause: Cause | None = None) -> DesiredCondition:
    """The condition Serving. `cause`: the cause why nothing can be read."""
    if world.served is None:
        damage = f"the content is damaged on disk and is read again: {world.corruption}"
        text = damage if world.corruption else NOTHING_UNPACKED_MESSAGE
        return DesiredCondition(ConditionType.SERVING, "False", Reason.UNAVAILABLE, text, cause)
    return DesiredCondition(
        ConditionType.SERVING, "True", Reason.AVAILABLE, f'serving "{world.served.record.resolved_ref}"'
    )


def _ready(world: World, catalog: Catalog, error: Exception | None, unpacked: DesiredCondition) -> DesiredCondition:
    """The condition Ready. Once content was served with all its Package objects, the Catalog stays Ready as long as any content
    is served.

    While no content is served, Ready has the reason of Unpacked, because lists show Ready.
    """
    served = world.served
    if served is None:
        return DesiredCondition(ConditionType.READY, "False", unpacked.reason, unpacked.message, unpacked.cause)
    was_ready = is_condition_true(catalog.status.conditions, ConditionType.READY)
    if world.package_diff and not was_ready:
        text = f"{WRITING_PACKAGES_MESSAGE}: {_message(error)}" if error else WRITING_PACKAGES_MESSAGE
        return DesiredCondition(ConditionType.READY, "False", Reason.WRITING_PACKAGES, text, cause_of(error))
    if unpacked.status != "True":
        ref = served.record.resolved_ref
        text = f'serving "{ref}"{_why_old(ref, error)}: {unpacked.message}'
        return DesiredCondition(ConditionType.READY, "True", Reason.SERVING_OLD_CONTENT, text)
    contents = (
        f"{count(len(served.summary.package_names), 'package')} and {count(served.summary.bundle_count, 'bundle')}"
    )
    text = f'serving {contents} of "{served.record.resolved_ref}"{selection_note(served)}'
    return DesiredCondition(ConditionType.READY, "True", Reason.SUCCEEDED, text)


def _why_old(ref: str, error: Exception | None) -> str:
    """The words after the reference of content that is served although the source has not been read since."""
    reason = error.reason if isinstance(error, OlmError) else ""
    if isinstance(error, OlmError) and reason == SourceReason.SIGNATURE_REFUSED and ref in error.subject:
        return ", which spec.source.image.verify refuses"
    is_unread = isinstance(error, Blocked) and not isinstance(error, BadContent)
    if is_unread or reason == SourceReason.INVALID_SIGNATURE_POLICY:
        return ", which was read before"  # it may be the newest
    return " until newer content can be read"


def _names(names: Sequence[str]) -> str:
    """The names separated by commas, truncated after a whole name."""
    text, limit = ",".join(map(printable, names)), MAX_PACKAGE_NAMES_CHARACTERS
    return text if len(text) <= limit else text[: max(text.rfind(",", 0, limit), 0)]
