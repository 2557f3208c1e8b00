"""What to do next for one Catalog, and what to say about it: World -> Plan, World and outcome -> Status.

Called by the reconciler that catalogd.reconciler wires. The rules are read from the top: the first that answers wins. Pure.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from catalogd.listing import Difference
from catalogd.world import (
    Confirm,
    Done,
    Keep,
    Load,
    Plan,
    Read,
    Reading,
    Record,
    Refused,
    Serve,
    SyncPackages,
    Withdraw,
    World,
)
from olmkit.api.catalogs import (
    Catalog,
    CatalogStatus,
    ConditionType,
    Reason,
)
from olmkit.api.content import Phase, ResolvedImage, ResolvedSource, SourceType
from olmkit.conditions import ConditionValue, Report, Wanted, merge, timestamp
from olmkit.errors import Blocked, OlmError, Waiting
from olmkit.sources.errors import BadContent, BadReference
from olmkit.sources.reference import parse

POLL_INTERVAL = timedelta(minutes=10)
SHORTEST_POLL = timedelta(seconds=1)
JITTER = 0.01
WAITING_LOOK = timedelta(seconds=5)
"""When to look again whether a job that waits for its turn has got it."""
BATCH = 64
"""Package objects written in one pass."""
SHOWN_SENTENCES = 10
NAMES_LIMIT = 65_536


def decide(world: World) -> Plan:
    """The next step. Raises Blocked and Waiting when there is none but an error stands."""
    if world.catalog is None or world.catalog.metadata.deleting:
        return Withdraw()
    ref = _asked(world.catalog)
    if isinstance(world.job, Read) and world.job.ref == ref:
        return _take(world, world.job)
    if _must_look(world, ref):
        return Load(ref)
    if world.packages:
        return SyncPackages(Difference(world.packages.writes[:BATCH], world.packages.deletes[:BATCH]))
    if isinstance(world.job, Reading):
        return Keep(WAITING_LOOK if world.job.waits else None)
    if error := standing_error(world):
        raise error
    return Keep(next_look(world))


def _asked(catalog: Catalog) -> str:
    if catalog.spec.source.type == SourceType.IMAGE and catalog.spec.source.image is not None:
        return catalog.spec.source.image.ref
    raise Blocked(Reason.BLOCKED, f"set spec.source.image: a source of type {catalog.spec.source.type} needs it")


def _take(world: World, read: Read) -> Plan:
    """lastUnpacked moves only when the content changes."""
    old = world.served.record if world.served else None
    if old is not None and old.digest == read.digest:
        if (old.ref, old.image) == (read.ref, read.image):
            return Confirm()
        return Serve(Record(read.ref, read.image, read.digest, old.unpacked))
    return Serve(Record(read.ref, read.image, read.digest, timestamp(world.now)))


def _must_look(world: World, ref: str) -> bool:
    match world.job:
        case Reading() if world.job.ref == ref:
            return False
        case Refused() if world.job.ref == ref:
            again = _again(world, world.job)
            return again is not None and again <= timedelta(0)
    if world.served is None or world.served.record.ref != ref:
        return True
    after = next_look(world)
    return after is not None and after <= timedelta(0)


def next_look(world: World) -> timedelta | None:
    """How long until what is served is compared with the source; None: never, zero or less: now."""
    interval = _interval(world)
    if interval is None:
        return None
    return timedelta(0) if world.looked is None else world.looked + interval - world.now


def _interval(world: World) -> timedelta | None:
    """The time between two looks at a tag, with a jitter that is the Catalog's own; None for a digest and for 0s."""
    image = world.catalog.spec.source.image if world.catalog else None
    if image is None or _names_digest(image.ref):
        return None
    wanted = POLL_INTERVAL if image.poll_interval is None else parse_duration(image.poll_interval)
    if wanted <= timedelta(0):
        return None
    share = int.from_bytes(hashlib.sha256(world.name.encode()).digest()[:4], "big") / 2**32
    return max(wanted, SHORTEST_POLL) * (1 + JITTER * share)


def _names_digest(ref: str) -> bool:
    try:
        return parse(ref).digest is not None
    except BadReference:
        return False


_UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|ms|s|m|h)")


def parse_duration(text: str) -> timedelta:
    """A Go duration without sign, such as 1h30m or 0. Raises Blocked for anything else."""
    parts = _PART.findall(text)
    if text != "0" and (not parts or "".join(number + unit for number, unit in parts) != text):
        raise Blocked(Reason.BLOCKED, f'"{text}" is no duration: write it as 10m or 1h30m')
    try:
        return timedelta(seconds=sum(float(number) * _UNITS[unit] for number, unit in parts))
    except OverflowError:
        return timedelta.max / 2


def _again(world: World, refused: Refused) -> timedelta | None:
    """How long until a source that was refused is tried again; None: not until something else changes."""
    if isinstance(refused.error, Waiting):
        return refused.error.after - refused.age
    if isinstance(refused.error, BadContent) and (interval := _interval(world)) is not None:
        return interval - refused.age  # the tag may move to something better
    return None


def standing_error(world: World) -> OlmError | None:
    """Why what the spec asks for could not be read: Waiting if it is tried again or is being tried, else Blocked."""
    if world.catalog is None or world.job is None or world.job.ref != _asked(world.catalog):
        return None
    match world.job:
        case Reading(failed=OlmError() as error):
            return Waiting(error.reason, error.message, timedelta(0))
        case Refused():
            after = _again(world, world.job)
            error = world.job.error
            return error if after is None else Waiting(error.reason, error.message, max(after, timedelta(0)))
        case _:
            return None


def report(world: World, outcome: Done | Exception) -> Report[CatalogStatus]:
    """What is true now: of the content that is served, of the attempt to read the source, and of the two together."""
    if world.catalog is None:
        return Report(CatalogStatus())
    wanted = _conditions(world, world.catalog, _Attempt.of(world, outcome))
    generation = world.catalog.metadata.generation
    conditions, transitions = merge(world.catalog.status.conditions, wanted, generation, world.now)
    served = world.served
    unpacked = next(each for each in wanted if each.type == ConditionType.UNPACKED)
    status = CatalogStatus(observed_generation=generation, conditions=conditions, phase=_PHASES[unpacked.reason])
    if served is not None:
        image = ResolvedImage(ref=served.record.image)
        status = status.model_copy(
            update={
                "resolved_source": ResolvedSource(type=SourceType.IMAGE, image=image),
                "content_url": world.content_url,
                "last_unpacked": served.record.unpacked,
                "package_count": len(served.package_names),
                "bundle_count": served.bundle_count,
                "packages": _names(served.package_names),
            }
        )
    return Report(status, transitions)


_PHASES: dict[str, Phase] = {
    Reason.UNPACK_PENDING: Phase.PENDING,
    Reason.UNPACKING: Phase.UNPACKING,
    Reason.UNPACK_SUCCESSFUL: Phase.UNPACKED,
    Reason.UNPACK_FAILED: Phase.FAILING,
}


@dataclass(frozen=True)
class _Attempt:
    """How far the spec's wish is: `error` is what stands against it, `of_source` when it concerns the source."""

    ref: str
    error: Exception | None
    of_source: bool
    reads: bool

    @classmethod
    def of(cls, world: World, outcome: Done | Exception) -> _Attempt:
        """An error of the source comes before one of the cluster."""
        ref, source_error = "", None
        try:
            ref = _asked(world.catalog) if world.catalog else ""
            source_error = standing_error(world)
        except Blocked as error:
            source_error = error
        failed = outcome if isinstance(outcome, Exception) else None
        match world.job:
            case Reading():
                reads = world.job.ref == ref and not world.job.waits
            case Read():
                reads = world.job.ref == ref  # and is about to be served
            case _:
                reads = False
        return cls(ref, source_error or failed, source_error is not None, reads)


def _conditions(world: World, catalog: Catalog, attempt: _Attempt) -> list[Wanted]:
    unpacked = _unpacked(world, attempt)
    ready = _ready(world, catalog, attempt, unpacked)
    wanted = [unpacked, _serving(world), _valid(world), ready]
    if isinstance(attempt.error, Blocked):
        wanted.append(Wanted(ConditionType.STALLED, "True", Reason.BLOCKED, attempt.error.message))
    elif attempt.error is not None:
        wanted.append(Wanted(ConditionType.RECONCILING, "True", Reason.RETRYING, _sentence(attempt.error)))
    elif unpacked.status != "True":
        wanted.append(Wanted(ConditionType.RECONCILING, "True", Reason.UNPACKING, unpacked.message))
    elif world.packages:
        wanted.append(Wanted(ConditionType.RECONCILING, "True", Reason.UNPACKING, _WRITING))
    return wanted


_WRITING = "writing the Package objects"


def _sentence(error: Exception) -> str:
    """An OlmError speaks for itself, an ApiError with the server's words; of anything else only the kind is said."""
    message = getattr(error, "message", None)
    return (
        message
        if isinstance(message, str)
        else f"unexpected {type(error).__name__}; the log of catalogd has the details"
    )


def _unpacked(world: World, attempt: _Attempt) -> Wanted:
    def say(status: ConditionValue, reason: Reason, message: str) -> Wanted:
        return Wanted(ConditionType.UNPACKED, status, reason, message)

    if attempt.of_source and attempt.error is not None:
        return say("False", Reason.UNPACK_FAILED, _sentence(attempt.error))
    if world.served is not None and world.served.record.ref == attempt.ref:
        image = world.served.record.image
        return say("True", Reason.UNPACK_SUCCESSFUL, f'successfully unpacked the catalog image "{image}"')
    if attempt.reads:
        return say("False", Reason.UNPACKING, f'reading the catalog image "{attempt.ref}"')
    return say("False", Reason.UNPACK_PENDING, f'the catalog image "{attempt.ref}" is about to be read')


def _serving(world: World) -> Wanted:
    if world.served is None:
        return Wanted(ConditionType.SERVING, "False", Reason.UNAVAILABLE, "nothing has been unpacked yet")
    return Wanted(ConditionType.SERVING, "True", Reason.AVAILABLE, f'serving "{world.served.record.image}"')


def _valid(world: World) -> Wanted:
    served = world.served
    if served is None:
        return Wanted(ConditionType.VALID, "Unknown", Reason.NOT_READ_YET, "nothing has been unpacked yet")
    notes = [
        *served.notes,
        *(f'the Package of "{package}" is named {name}' for package, name in world.packages.renamed),
    ]
    said = _listed(notes)
    if served.problem_count == 0:
        text = f"all {_count(served.blob_count, 'blob')} could be read"
        return Wanted(ConditionType.VALID, "True", Reason.ALL_BLOBS_READ, f"{text}; {said}" if said else text)
    text = f"{_count(served.problem_count, 'problem')}: {_listed(served.problems, served.problem_count)}"
    return Wanted(ConditionType.VALID, "False", Reason.BLOBS_NOT_READ, f"{text}; {said}" if said else text)


def _ready(world: World, catalog: Catalog, attempt: _Attempt, unpacked: Wanted) -> Wanted:
    """Once content was served with all its Package objects, it stays Ready as long as any is served."""
    served = world.served
    if served is None:
        return Wanted(ConditionType.READY, "False", Reason.NOT_SERVED, unpacked.message)
    was_ready = any(each.type == ConditionType.READY and each.status == "True" for each in catalog.status.conditions)
    if world.packages and not was_ready:
        failed = _sentence(attempt.error) if attempt.error else ""
        return Wanted(ConditionType.READY, "False", Reason.UNPACKING, f"{_WRITING}: {failed}" if failed else _WRITING)
    if unpacked.status != "True":
        text = f'serving "{served.record.image}" until its successor can be read: {unpacked.message}'
        return Wanted(ConditionType.READY, "True", Reason.SERVING_OLD_CONTENT, text)
    contents = f"{_count(len(served.package_names), 'package')} and {_count(served.bundle_count, 'bundle')}"
    return Wanted(ConditionType.READY, "True", Reason.SUCCEEDED, f'serving {contents} of "{served.record.image}"')


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _listed(sentences: Sequence[str], count: int = 0) -> str:
    """The first sentences, and how many more there are."""
    shown = "; ".join(_brief(each) for each in sentences[:SHOWN_SENTENCES])
    more = max(count, len(sentences)) - min(len(sentences), SHOWN_SENTENCES)
    return f"{shown}; and {more} more" if more > 0 else shown


def _brief(sentence: str, limit: int = 300) -> str:
    return sentence if len(sentence) <= limit else sentence[:limit] + "…"


def _names(names: Sequence[str]) -> str:
    """Comma-separated, cut after a name where the field is full."""
    text = ",".join(names)
    return text if len(text) <= NAMES_LIMIT else text[: text.rindex(",", 0, NAMES_LIMIT)]
