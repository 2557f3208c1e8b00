"""What to do next for one Catalog: World -> Plan.

Called by the reconciler that catalogd.catalog.reconciler wires; what is said about it is catalogd.catalog.report's. The rules
are read from the top: the first that answers wins. Pure.
"""

from __future__ import annotations

from datetime import timedelta

from catalogd.catalog.desired_source import wished
from catalogd.catalog.package_diff import Difference
from catalogd.catalog.world import (
    Confirm,
    Keep,
    Label,
    Load,
    Plan,
    Read,
    Reading,
    Record,
    Refused,
    Serve,
    SyncPackages,
    Wish,
    Withdraw,
    World,
)
from olmkit.api.catalogs import NAME_LABEL, Catalog
from olmkit.api.conditions import format_timestamp
from olmkit.errors import Blocked, OlmError, Waiting
from olmkit.sources.errors import BadContent

WAITING_LOOK = timedelta(seconds=5)
"""When to look again whether a job that waits for its turn has got it."""
AT_ONCE = timedelta(0)
BATCH = 64
"""Package objects written in one pass."""


def decide(world: World) -> Plan:
    """The next step. Raises Blocked and Waiting when there is none but an error stands."""
    if world.catalog is None or world.foreign:
        return Withdraw()
    if world.catalog.metadata.deleting:
        # What is left then is to wait for the finalizers of others.
        return Withdraw() if world.served is not None or world.job is not None else Keep(None)
    wish: Wish | Blocked | None = wished(world)
    if wish is None and (world.served is not None or world.job is not None):
        return Withdraw()
    if isinstance(wish, Wish) and (step := _content(world, wish)) is not None:
        return step
    if _is_unsaid(world, world.catalog):
        return Keep(AT_ONCE)  # that it is served is said before objects are written
    if _lacks_label(world, world.catalog):
        return Label()
    if world.packages or world.bundles:
        return SyncPackages(_first(world.packages), _first(world.bundles))
    if isinstance(wish, Blocked):
        raise wish
    return _rest(world, wish)


def _content(world: World, wish: Wish) -> Plan | None:
    """What brings the content that is wished for; None while there is nothing to begin."""
    if isinstance(world.job, Read) and world.job.wish == wish.job:
        return _take(world, wish, world.job)
    return Load(wish) if _must_look(world, wish) else None


def _rest(world: World, wish: Wish | None) -> Plan:
    """Nothing can be begun: how long until something may."""
    if wish is None:
        return Keep(None)
    if isinstance(world.job, Reading):
        return Keep(WAITING_LOOK if world.job.waits else None)
    if error := standing_error(world, wish):
        raise error
    return Keep(next_look(world, wish))


def _first(difference: Difference) -> Difference:
    return Difference(difference.writes[:BATCH], difference.deletes[:BATCH])


def _take(world: World, wish: Wish, read: Read) -> Plan:
    """lastUnpacked moves only when the content changes."""
    old = world.served.record if world.served else None
    if old is not None and read.digest in ("", old.digest):
        record = Record(
            wish.source,
            read.resolved_ref or old.resolved_ref,
            old.digest,
            old.unpacked,
            read.resolved or old.resolved,
            read.validator or old.validator,
            world.uid,
            wish.access,
        )
        return Confirm(_after_look(world, wish)) if record == old and not world.lacking else Serve(record)
    unpacked = format_timestamp(world.now)
    named = (wish.source, read.resolved_ref, read.digest, unpacked, read.resolved, read.validator)
    return Serve(Record(*named, world.uid, wish.access))


def _after_look(world: World, wish: Wish) -> timedelta | None:
    """How long until there is something to do again, once it is noted that nothing has moved."""
    catalog = world.catalog
    if catalog is None or world.refresh or _is_unsaid(world, catalog) or _lacks_label(world, catalog):
        return AT_ONCE
    return AT_ONCE if world.packages or world.bundles else wish.interval


def _is_unsaid(world: World, catalog: Catalog) -> bool:
    """Whether content is served that the status does not name yet."""
    return world.served is not None and catalog.status.content_digest != world.served.record.digest


def _lacks_label(world: World, catalog: Catalog) -> bool:
    return catalog.metadata.labels.get(NAME_LABEL) != world.name


def _must_look(world: World, wish: Wish) -> bool:
    """A new wish at once; one that was refused, and one that is served, when its time has come or a person asks."""
    match world.job:
        case Reading() if world.job.wish == wish.job:
            return False
        case Refused() if world.job.wish == wish.job:
            again = _again(wish, world.job)
            return world.refresh or (again is not None and again <= AT_ONCE)
    if world.served is None or (world.served.record.ref, world.served.record.uid) != (wish.source, world.uid):
        return True  # a Secret that has changed alone waits for the next look
    after = next_look(world, wish)
    if world.refresh or world.lacking or wish.versions != world.read_at:
        return True
    return after is not None and after <= AT_ONCE


def next_look(world: World, wish: Wish) -> timedelta | None:
    """How long until what is served is compared with the source; None: never, zero or less: now."""
    if wish.interval is None:
        return None
    return AT_ONCE if world.looked is None else world.looked + wish.interval - world.now


def _again(wish: Wish, refused: Refused) -> timedelta | None:
    """How long until a source that was refused is tried again; None: not until something else changes."""
    if isinstance(refused.error, Waiting):
        return refused.error.after - refused.age
    if isinstance(refused.error, BadContent) and wish.interval is not None:
        return wish.interval - refused.age  # the tag may move to something better
    return None


def standing_error(world: World, wish: Wish) -> OlmError | None:
    """Why what the spec asks for could not be read: Waiting if it is tried again or is being tried, else Blocked."""
    match world.job:
        case Reading(failed=OlmError() as error) if world.job.wish == wish.job:
            return Waiting(error.reason, error.message, AT_ONCE)
        case Refused() if world.job.wish == wish.job:
            after = _again(wish, world.job)
            error = world.job.error
            return error if after is None else Waiting(error.reason, error.message, max(after, AT_ONCE))
        case _:
            return None
