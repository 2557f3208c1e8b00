"""Detects drift: whether an object is still as it was applied, or others have changed it and it has to be applied again.

An object that others change repeatedly is reverted less and less often, so that two controllers do not overwrite each other
endlessly. Pure.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from olmkit.api.ownership import manager_name
from olmkit.stored_times import has_passed
from rukpak.bundledeployment.rendered_bundle import RenderedObject
from rukpak.bundledeployment.world import NAMESPACE, LastApplied, World
from rukpak.format.objects import ObjectKey

REVERT_WINDOW = timedelta(minutes=1)
"""An apply of the same manifest within this time after the last apply, or after the end of its backoff, is a quick revert."""
MAX_QUICK_REVERTS = 3
"""The number of consecutive quick reverts without a delay. After that, the delay starts with REVERT_WINDOW and doubles."""
MAX_DOUBLINGS = 6


def is_up_to_date(world: World, item: RenderedObject) -> bool:
    """Report whether the object is as it was applied last, with this manifest. True also while it is contested, or left by a
    rollback."""
    if world.is_left(item.key):
        return True
    last = world.last_applied.get(item.key)
    live = fields_hash(world, item.key)
    if last is None or last.digest != item.digest or live is None:
        return False
    return live == last.fields_hash or not has_passed(last.at, _backoff(last), world.now)


def is_contested(world: World, item: RenderedObject) -> bool:
    """Report whether others change our fields of the object repeatedly, so that it is not reverted for a while."""
    if world.is_left(item.key):
        return False
    return is_up_to_date(world, item) and fields_hash(world, item.key) != world.last_applied[item.key].fields_hash


def backs_off_until(last: LastApplied) -> datetime:
    """The time before which an object that others change repeatedly is not reverted."""
    return last.at + _backoff(last)


def _backoff(last: LastApplied) -> timedelta:
    excess = last.quick_reverts - MAX_QUICK_REVERTS
    return REVERT_WINDOW * 2 ** min(excess, MAX_DOUBLINGS) if excess >= 0 else timedelta()


def next_applied(last: LastApplied | None, digest: str, fields_hash: str, now: datetime) -> LastApplied:
    """The record of an apply. `last` is the record of the previous apply, None if there was none."""
    applied = LastApplied(digest, fields_hash, now)
    if last is None or digest != last.digest or has_passed(last.at, _backoff(last) + REVERT_WINDOW, now):
        return applied
    return replace(applied, quick_reverts=last.quick_reverts + 1)


def fields_hash(world: World, key: ObjectKey) -> str | None:
    """The hash of our fields of the object, empty if there are none; None if the object does not exist."""
    manager = manager_name(world.name)
    if key[:2] == NAMESPACE:
        namespace = world.namespaces.get(key.name)
        return namespace.applied_fields.get(manager, "") if namespace and world.uid in namespace.members else None
    member = world.labeled.get(key)
    return member.applied_fields.get(manager, "") if member is not None else None
