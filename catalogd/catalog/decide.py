"""What to do next for one Catalog: World -> Plan.

Called by the reconciler that catalogd.catalog.reconciler wires; what is said about it is catalogd.catalog.report's. The rules
are read from the top: the first that answers wins. Pure.
"""

from __future__ import annotations

from datetime import timedelta

from catalogd.catalog.desired_source import desired_source
from catalogd.catalog.package_diff import Difference
from catalogd.catalog.world import (
    ConfirmUnchanged,
    DesiredSource,
    Load,
    LoadFailed,
    LoadFinished,
    LoadRunning,
    Plan,
    Record,
    Serve,
    SetLabel,
    StopServing,
    SyncPackages,
    Wait,
    World,
)
from olmkit.api.catalogs import NAME_LABEL, Catalog
from olmkit.api.conditions import format_timestamp
from olmkit.errors import Blocked, OlmError, Waiting
from olmkit.sources.errors import BadContent

QUEUE_CHECK_INTERVAL = timedelta(seconds=5)
"""When to look again whether a job that waits for its turn has got it."""
IMMEDIATELY = timedelta(0)
WRITE_BATCH = 64
"""Package objects written in one pass."""


def decide(world: World) -> Plan:
    """The next step. Raises Blocked and Waiting when there is none but an error stands."""
    if world.catalog is None or world.serves_deleted_catalog:
        return StopServing()
    if world.catalog.metadata.deleting:
        # What is left then is to wait for the finalizers of others.
        return StopServing() if world.served is not None or world.job is not None else Wait(None)
    wish: DesiredSource | Blocked | None = desired_source(world)
    if wish is None and (world.served is not None or world.job is not None):
        return StopServing()
    if isinstance(wish, DesiredSource) and (step := _content(world, wish)) is not None:
        return step
    if _is_unsaid(world, world.catalog):
        return Wait(IMMEDIATELY)  # that it is served is said before objects are written
    if _lacks_label(world, world.catalog):
        return SetLabel()
    if world.package_diff or world.bundle_diff:
        return SyncPackages(_first(world.package_diff), _first(world.bundle_diff))
    if isinstance(wish, Blocked):
        raise wish
    return _rest(world, wish)


def _content(world: World, wish: DesiredSource) -> Plan | None:
    """What brings the content that is wished for; None while there is nothing to begin."""
    if isinstance(world.job, LoadFinished) and world.job.job_identity == wish.job_identity:
        return _take(world, wish, world.job)
    return Load(wish) if _must_look(world, wish) else None


def _rest(world: World, wish: DesiredSource | None) -> Plan:
    """Nothing can be begun: how long until something may."""
    if wish is None:
        return Wait(None)
    if isinstance(world.job, LoadRunning):
        return Wait(QUEUE_CHECK_INTERVAL if world.job.is_queued else None)
    if error := standing_error(world, wish):
        raise error
    return Wait(time_to_next_check(world, wish))


def _first(difference: Difference) -> Difference:
    return Difference(difference.writes[:WRITE_BATCH], difference.deletes[:WRITE_BATCH])


def _take(world: World, wish: DesiredSource, read: LoadFinished) -> Plan:
    """lastUnpacked moves only when the content changes."""
    old = world.served.record if world.served else None
    if old is not None and read.digest in ("", old.digest):
        record = Record(
            wish.identity,
            read.resolved_ref or old.resolved_ref,
            old.digest,
            old.unpacked,
            read.resolved or old.resolved,
            read.validator or old.validator,
            world.uid,
            wish.credential_versions,
        )
        return (
            ConfirmUnchanged(_after_look(world, wish))
            if record == old and not world.lacks_bundle_metadata
            else Serve(record)
        )
    unpacked = format_timestamp(world.now)
    named = (wish.identity, read.resolved_ref, read.digest, unpacked, read.resolved, read.validator)
    return Serve(Record(*named, world.uid, wish.credential_versions))


def _after_look(world: World, wish: DesiredSource) -> timedelta | None:
    """How long until there is something to do again, once it is noted that nothing has moved."""
    catalog = world.catalog
    if catalog is None or world.refresh_pending or _is_unsaid(world, catalog) or _lacks_label(world, catalog):
        return IMMEDIATELY
    return IMMEDIATELY if world.package_diff or world.bundle_diff else wish.poll_interval


def _is_unsaid(world: World, catalog: Catalog) -> bool:
    """Whether content is served that the status does not name yet."""
    return world.served is not None and catalog.status.content_digest != world.served.record.digest


def _lacks_label(world: World, catalog: Catalog) -> bool:
    return catalog.metadata.labels.get(NAME_LABEL) != world.name


def _must_look(world: World, wish: DesiredSource) -> bool:
    """A new wish at once; one that was refused, and one that is served, when its time has come or a person asks."""
    match world.job:
        case LoadRunning() if world.job.job_identity == wish.job_identity:
            return False
        case LoadFailed() if world.job.job_identity == wish.job_identity:
            again = _again(wish, world.job)
            return world.refresh_pending or (again is not None and again <= IMMEDIATELY)
    if world.served is None or (world.served.record.ref, world.served.record.uid) != (wish.identity, world.uid):
        return True  # a Secret that has changed alone waits for the next look
    after = time_to_next_check(world, wish)
    if (
        world.refresh_pending
        or world.lacks_bundle_metadata
        or wish.config_map_versions != world.loaded_config_map_versions
    ):
        return True
    return after is not None and after <= IMMEDIATELY


def time_to_next_check(world: World, wish: DesiredSource) -> timedelta | None:
    """How long until what is served is compared with the source; None: never, zero or less: now."""
    if wish.poll_interval is None:
        return None
    return IMMEDIATELY if world.last_checked is None else world.last_checked + wish.poll_interval - world.now


def _again(wish: DesiredSource, refused: LoadFailed) -> timedelta | None:
    """How long until a source that was refused is tried again; None: not until something else changes."""
    if isinstance(refused.error, Waiting):
        return refused.error.after - refused.age
    if isinstance(refused.error, BadContent) and wish.poll_interval is not None:
        return wish.poll_interval - refused.age  # the tag may move to something better
    return None


def standing_error(world: World, wish: DesiredSource) -> OlmError | None:
    """Why what the spec asks for could not be read: Waiting if it is tried again or is being tried, else Blocked."""
    match world.job:
        case LoadRunning(previous_error=OlmError() as error) if world.job.job_identity == wish.job_identity:
            return Waiting(error.reason, error.message, IMMEDIATELY)
        case LoadFailed() if world.job.job_identity == wish.job_identity:
            after = _again(wish, world.job)
            error = world.job.error
            return error if after is None else Waiting(error.reason, error.message, max(after, IMMEDIATELY))
        case _:
            return None
