"""What to say about one Catalog: World and outcome -> Status.

Called by the reconciler after each pass. Speaks of three things and keeps them apart: the content that is served, the attempt to
read what the spec asks for, and the two together. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from catalogd.catalog.decide import standing_error
from catalogd.catalog.desired_source import desired_source
from catalogd.catalog.valid_condition import MAX_ERROR_BYTES, count, valid_condition
from catalogd.catalog.world import DesiredSource, Done, Load, LoadFinished, LoadRunning, Serve, World
from olmkit.api.catalogs import Catalog, CatalogStatus, ConditionType, Reason
from olmkit.api.conditions import (
    ConditionValue,
    DesiredCondition,
    StatusReport,
    Transition,
    is_condition_true,
    merge_conditions,
    truncate,
)
from olmkit.api.content import Phase, ResolvedImage, ResolvedSource, SourceType
from olmkit.errors import Blocked
from olmkit.sources.errors import printable

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


def report(world: World, outcome: Done | Exception) -> StatusReport[CatalogStatus]:
    """What is true now."""
    if world.catalog is None:
        return StatusReport(CatalogStatus())
    attempt = _Attempt.of(world, outcome)
    wanted = _conditions(world, world.catalog, attempt)
    generation = world.catalog.metadata.generation
    conditions, transitions = merge_conditions(world.catalog.status.conditions, wanted, generation, world.now)
    status = CatalogStatus(
        observed_generation=generation,
        conditions=conditions,
        phase=_PHASES.get(wanted[0].reason),
        last_handled_refresh=_handled(world, world.catalog, attempt, outcome),
    )
    if world.served is not None:
        status = status.model_copy(update=_content(world))
    return StatusReport(status, (*transitions, *_moved(world, world.catalog, transitions)))


def _moved(world: World, catalog: Catalog, told: Sequence[Transition]) -> Sequence[Transition]:
    """Other content is served than the status says so far: worth an Event, although no condition flips."""
    before = catalog.status.content_digest
    if world.served is None or before in (None, world.served.record.digest):
        return ()
    if any(each.type == ConditionType.SERVING for each in told):
        return ()
    serving = _serving(world)
    return (Transition(serving.type, serving.status, serving.reason, serving.message),)


def _handled(world: World, catalog: Catalog, attempt: _Attempt, outcome: Done | Exception) -> str | None:
    """The annotation's value whose look has ended, well or not: in one with what it found."""
    if world.refresh_requested and attempt.wish is None:
        return world.refresh_requested  # there is nothing that could be looked at, and the conditions say so
    goes_on = isinstance(outcome, Done) and isinstance(outcome.plan, Load | Serve)
    if world.refresh_started and not goes_on and not isinstance(world.job, LoadRunning):
        return world.refresh_started
    return catalog.status.last_handled_refresh


def _content(world: World) -> dict[str, object]:
    served = world.served
    assert served is not None
    record = served.record
    image = ResolvedSource(type=SourceType.IMAGE, image=ResolvedImage(ref=record.resolved_ref))
    return {
        "resolved_source": ResolvedSource.load(record.resolved) if record.resolved else image,
        "content_digest": record.digest,
        "short_digest": record.digest[: record.digest.index(":") + 13],
        "content_url": world.content_url,
        "last_unpacked": record.unpacked,
        "package_count": len(served.summary.package_names),
        "bundle_count": served.summary.bundle_count,
        "packages": _names(served.summary.package_names),
    }


@dataclass(frozen=True)
class _Attempt:
    """How far the spec's wish is: `error` is what stands against it, `of_source` when it concerns the source.

    `wish` is None when the spec asks for nothing to be served, or for what cannot be.
    """

    wish: DesiredSource | None
    withdrawn: bool
    error: Exception | None
    of_source: bool
    reads: bool

    @classmethod
    def of(cls, world: World, outcome: Done | Exception) -> _Attempt:
        """An error of the source comes before one of the cluster."""
        asked = desired_source(world)
        wish = asked if isinstance(asked, DesiredSource) else None
        source_error = asked if isinstance(asked, Blocked) else standing_error(world, wish) if wish else None
        failed = outcome if isinstance(outcome, Exception) else None
        match world.job:
            case LoadRunning():
                reads = wish is not None and world.job.job_identity == wish.job_identity and not world.job.is_queued
            case LoadFinished():
                reads = wish is not None and world.job.job_identity == wish.job_identity  # and is about to be served
            case _:
                reads = False
        return cls(wish, asked is None, source_error or failed, source_error is not None, reads)


def _conditions(world: World, catalog: Catalog, attempt: _Attempt) -> list[DesiredCondition]:
    """Unpacked comes first."""
    if attempt.withdrawn:
        return [*_withdrawn(world), *_trouble(world, attempt, None)]
    unpacked = _unpacked(world, attempt)
    ready = _ready(world, catalog, attempt, unpacked)
    return [
        unpacked,
        _serving(world),
        valid_condition(world, NOTHING_UNPACKED_MESSAGE),
        ready,
        *_trouble(world, attempt, unpacked),
    ]


def _trouble(world: World, attempt: _Attempt, unpacked: DesiredCondition | None) -> list[DesiredCondition]:
    """Stalled or Reconciling, or neither."""
    if isinstance(attempt.error, Blocked):
        return [DesiredCondition(ConditionType.STALLED, "True", Reason.BLOCKED, attempt.error.message)]
    if attempt.error is not None:
        return [DesiredCondition(ConditionType.RECONCILING, "True", Reason.RETRYING, _sentence(attempt.error))]
    if unpacked is not None and unpacked.status != "True":
        return [DesiredCondition(ConditionType.RECONCILING, "True", Reason.UNPACKING, unpacked.message)]
    if unpacked is None and world.served is not None:
        return [
            DesiredCondition(ConditionType.RECONCILING, "True", Reason.USER_SPECIFIED_UNAVAILABLE, UNAVAILABLE_MESSAGE)
        ]
    if world.package_diff or world.bundle_diff:
        return [DesiredCondition(ConditionType.RECONCILING, "True", Reason.WRITING_PACKAGES, WRITING_PACKAGES_MESSAGE)]
    return []


def _withdrawn(world: World) -> list[DesiredCondition]:
    """Nothing is served, and that is what was asked for; until it is so, what is served is served."""
    reason = Reason.USER_SPECIFIED_UNAVAILABLE
    done = world.served is None
    return [
        DesiredCondition(ConditionType.UNPACKED, "False", reason, UNAVAILABLE_MESSAGE),
        DesiredCondition(ConditionType.SERVING, "False", reason, UNAVAILABLE_MESSAGE) if done else _serving(world),
        DesiredCondition(ConditionType.VALID, "Unknown", reason, UNAVAILABLE_MESSAGE)
        if done
        else valid_condition(world, NOTHING_UNPACKED_MESSAGE),
        DesiredCondition(ConditionType.READY, "True" if done else "False", reason, UNAVAILABLE_MESSAGE),
    ]


def _sentence(error: Exception) -> str:
    """An OlmError speaks for itself, an ApiError with the server's words; of anything else only the kind is said."""
    message = getattr(error, "message", None)
    return (
        message
        if isinstance(message, str)
        else f"unexpected {type(error).__name__}; the log of catalogd has the details"
    )


def _unpacked(world: World, attempt: _Attempt) -> DesiredCondition:
    def say(status: ConditionValue, reason: Reason, message: str) -> DesiredCondition:
        return DesiredCondition(ConditionType.UNPACKED, status, reason, truncate(message, MAX_ERROR_BYTES))

    if attempt.of_source and attempt.error is not None:
        return say("False", Reason.UNPACK_FAILED, _sentence(attempt.error))
    if attempt.wish is None:
        return say("False", Reason.UNPACK_PENDING, NOTHING_UNPACKED_MESSAGE)
    if world.served is not None and world.served.record.ref == attempt.wish.identity:
        return say("True", Reason.UNPACK_SUCCESSFUL, _successfully(world))
    if attempt.reads:
        return say("False", Reason.UNPACKING, f"reading {attempt.wish.description}")
    return say("False", Reason.UNPACK_PENDING, f"{attempt.wish.description} is about to be read")


def _successfully(world: World) -> str:
    """For images the guide's words."""
    assert world.served is not None
    record = world.served.record
    what = "the catalog image" if record.resolved.get("type", SourceType.IMAGE) == SourceType.IMAGE else "the catalog"
    return f'successfully unpacked {what} "{record.resolved_ref}"'


def _serving(world: World) -> DesiredCondition:
    if world.served is None:
        text = (
            f"what was served is damaged on disk and is read again: {world.corruption}"
            if world.corruption
            else NOTHING_UNPACKED_MESSAGE
        )
        return DesiredCondition(ConditionType.SERVING, "False", Reason.UNAVAILABLE, text)
    return DesiredCondition(
        ConditionType.SERVING, "True", Reason.AVAILABLE, f'serving "{world.served.record.resolved_ref}"'
    )


def _ready(world: World, catalog: Catalog, attempt: _Attempt, unpacked: DesiredCondition) -> DesiredCondition:
    """Once content was served with all its Package objects, it stays Ready as long as any is served.

    While none is, the reason is why: lists show it.
    """
    served = world.served
    if served is None:
        return DesiredCondition(ConditionType.READY, "False", unpacked.reason, unpacked.message)
    was_ready = is_condition_true(catalog.status.conditions, ConditionType.READY)
    if (world.package_diff or world.bundle_diff) and not was_ready:
        failed = _sentence(attempt.error) if attempt.error else ""
        text = f"{WRITING_PACKAGES_MESSAGE}: {failed}" if failed else WRITING_PACKAGES_MESSAGE
        return DesiredCondition(ConditionType.READY, "False", Reason.WRITING_PACKAGES, text)
    if unpacked.status != "True":
        text = f'serving "{served.record.resolved_ref}" until its successor can be read: {unpacked.message}'
        return DesiredCondition(ConditionType.READY, "True", Reason.SERVING_OLD_CONTENT, text)
    contents = (
        f"{count(len(served.summary.package_names), 'package')} and {count(served.summary.bundle_count, 'bundle')}"
    )
    return DesiredCondition(
        ConditionType.READY, "True", Reason.SUCCEEDED, f'serving {contents} of "{served.record.resolved_ref}"'
    )


def _names(names: Sequence[str]) -> str:
    """Comma-separated, cut after a name where the field is full."""
    text = ",".join(map(printable, names))
    return (
        text
        if len(text) <= MAX_PACKAGE_NAMES_CHARACTERS
        else text[: max(text.rfind(",", 0, MAX_PACKAGE_NAMES_CHARACTERS), 0)]
    )
