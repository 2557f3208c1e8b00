"""All delays of a Catalog: the time between two checks of its source, and the time from an action to the next pass.

`delay` is the only function that decides when the next pass or check follows. The delay after an error of the disk is here too.
Pure.
"""

from __future__ import annotations

import hashlib
from datetime import timedelta

from catalogd.catalog.world import (
    Action,
    ConfirmUnchanged,
    DesiredSource,
    Keep,
    Load,
    LoadFailed,
    LoadRunning,
    StopServing,
    World,
)
from olmkit.api.catalogs import CatalogSource, Reason
from olmkit.api.content import SourceType
from olmkit.errors import Blocked, Waiting
from olmkit.gocompat.text import parse_duration
from olmkit.sources.errors import BadContent, BadReference
from olmkit.sources.oci.reference import parse
from olmkit.stored_times import time_left

IMMEDIATELY = timedelta(0)
DEFAULT_POLL_INTERVAL = timedelta(minutes=10)
MIN_POLL_INTERVAL = timedelta(seconds=1)
MAX_POLL_INTERVAL = timedelta(days=36_500)
"""A longer interval has the same effect, and the date of its end could not be represented."""
POLL_JITTER = 0.01
"""The largest fraction of the poll interval that is added to it."""
QUEUE_CHECK_INTERVAL = timedelta(seconds=5)
"""The time between two checks of a queued job, because nothing reports its start."""
FIRST_RECOVERY_DELAY, MAX_RECOVERY_DELAY = timedelta(seconds=5), timedelta(minutes=10)
"""The delay before content that was lost on disk again is loaded again, counted from the last load. It doubles up to the maximum.
After the first loss there is no delay."""
RECOVERY_MEMORY = timedelta(hours=1)
"""The time after a load for which the load counts. Content that is lost later is loaded again at once."""


def delay(world: World, desired: DesiredSource | None, action: Action | None = None) -> timedelta | None:
    """The time from `action` to the next pass. Without an action, it is the time until the source, or a queued job, has to be
    checked.

    `desired` is None when nothing is to be served or the spec is Blocked. Zero or less means now. None means that the next pass
    follows a watched change or the end of a job.
    """
    match action:
        case StopServing() if world.raw is None:
            return None
        case Load() if not world.package_diff:
            return None  # the end of the job enqueues the Catalog
        case ConfirmUnchanged() if not (world.refresh_pending or world.has_writes):
            return desired.poll_interval if desired else None
        case Keep() if world.catalog is None or world.catalog.metadata.deleting:
            return None  # the finalizers of others are watched
        case Keep() if world.is_unreported:
            return IMMEDIATELY
        case Keep() | None:
            return _time_to_check(world, desired)
        case _:
            return IMMEDIATELY


def _time_to_check(world: World, desired: DesiredSource | None) -> timedelta | None:
    poll = desired.poll_interval if desired else None
    if (left := time_to_recover(world, desired)) is not None and not isinstance(world.job, LoadRunning | LoadFailed):
        return left
    match world.load_state(desired):
        case LoadRunning(is_queued=is_queued):
            return QUEUE_CHECK_INTERVAL if is_queued else None
        case LoadFailed(error=Waiting() as error, age=age):
            return error.after - age
        case LoadFailed(error=BadContent(), age=age) if poll is not None:
            return poll - age  # the tag may move to content that can be read
        case LoadFailed():
            return None
    if poll is None:
        return None
    return IMMEDIATELY if world.last_checked is None else time_left(world.last_checked, poll, world.now)


def time_to_recover(world: World, desired: DesiredSource | None) -> timedelta | None:
    """The time until content is loaded again that was lost on disk soon after it had been loaded again; None in all other
    cases."""
    recovery = world.recovery
    if not world.corruption or recovery is None or desired is None or recovery.job_identity != desired.job_identity:
        return None
    if recovery.age > RECOVERY_MEMORY:
        return None
    doublings = min(recovery.loads - 1, (MAX_RECOVERY_DELAY // FIRST_RECOVERY_DELAY).bit_length())
    return min(FIRST_RECOVERY_DELAY * (1 << doublings), MAX_RECOVERY_DELAY) - recovery.age


def poll_interval(name: str, source: CatalogSource) -> timedelta | None:
    """The time between two checks of the source of this Catalog; None for never. Raises Blocked for an invalid duration.

    The jitter depends on the name, so that Catalogs that were created together are not checked together.
    """
    match source.type:
        case SourceType.IMAGE if source.image is not None:
            is_fixed, text = _has_digest(source.image.ref), source.image.poll_interval
        case SourceType.GIT if source.git is not None:
            is_fixed, text = bool(source.git.ref.commit), source.git.poll_interval
        case SourceType.HTTP if source.http is not None:
            is_fixed, text = bool(source.http.checksum), source.http.poll_interval
        case _:  # ConfigMaps are watched
            return None
    if is_fixed:
        return None
    interval = DEFAULT_POLL_INTERVAL if text is None else min(_duration(text), MAX_POLL_INTERVAL)
    if interval <= timedelta(0):
        return None
    share = int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big") / 2**32
    return max(interval, MIN_POLL_INTERVAL) * (1 + POLL_JITTER * share)


def _duration(text: str) -> timedelta:
    try:
        return parse_duration(text)
    except ValueError as error:
        raise Blocked(Reason.BLOCKED, str(error), [text]) from None


def _has_digest(ref: str) -> bool:
    try:
        return parse(ref).digest is not None
    except BadReference:
        return False
