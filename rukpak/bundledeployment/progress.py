"""Which installed objects have failed, which are in progress, and until when.

A rollout is progress, and so is the repair of a deleted object; an object that is not healthy within its deadline has failed. The
start of the progress is read from the condition Healthy, so that it survives the process. Called by
rukpak.bundledeployment.report, which reports it, and by decide, which makes a pass at the deadline. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from olmkit.api.bundledeployments import ConditionType, Reason
from olmkit.api.conditions import find_condition
from olmkit.api.meta import Condition
from olmkit.stored_times import has_passed, is_ahead, time_left
from rukpak.bundledeployment.drift import is_contested
from rukpak.bundledeployment.health import has_health
from rukpak.bundledeployment.health_result import PROGRESS_DEADLINE, Health, progress
from rukpak.bundledeployment.rendered_bundle import RenderedBundle
from rukpak.bundledeployment.world import NAMESPACE, World
from rukpak.format.objects import ObjectKey

MORE = "; and "
"""The mark of a message that names only some of the objects, followed by the number of the others."""
_DELETED = "it was deleted"
_MISSING = "it does not exist"
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True)
class HealthEvaluation:
    """Sentences about objects that are not healthy, sorted; `contested` are those that others change repeatedly.

    `unlisted`: kinds of the bundle whose objects may be unhealthy and are not known. `is_complete`: the objects of the bundle are
    known, so that none of them is missing unnoticed. `is_serving`: all that is in progress serves meanwhile.
    """

    failed: tuple[str, ...] = ()
    in_progress: tuple[str, ...] = ()
    contested: tuple[str, ...] = ()
    unlisted: tuple[str, ...] = ()
    is_complete: bool = True
    is_serving: bool = False


def evaluate_health(world: World, active: str, applied: frozenset[ObjectKey] = frozenset()) -> HealthEvaluation:
    """The objects of the bundle `active`. `applied` are those that this pass created or reverted after the observation."""
    since = _in_progress_since(world) if active == world.active_bundle else None
    failed: list[str] = []
    in_progress: list[str] = []
    is_serving = True
    for key, health in _unhealthy(world):
        has_failed = health.status == "False" or _is_overdue(world, key, health, since)
        problem = world.pod_problems.get(key)
        text = f"{key}: {health.message}" + (f" ({problem})" if problem else "")
        (failed if has_failed else in_progress).append(text)
        is_serving &= health.is_serving
    for key, text in sorted(_absent(world, active, applied)):
        has_failed = _has_exceeded(world, key, world.progress_deadline or PROGRESS_DEADLINE, since)
        (failed if has_failed else in_progress).append(f"{key}: {text}")
        is_serving = False
    contested, unlisted = tuple(sorted(_contested(world, active))), tuple(sorted(_unlisted(world, active)))
    is_complete = _content(world, active) is not None
    return HealthEvaluation(tuple(failed), tuple(in_progress), contested, unlisted, is_complete, is_serving)


def next_deadline(world: World) -> timedelta | None:
    """The time to the next deadline of an object that is in progress; None if there is none."""
    since = _in_progress_since(world)
    if since is None:
        return None
    known = [_deadline(world, health) for _, health in _unhealthy(world) if health.status != "False"]
    left = [time_left(since, deadline, world.now) for deadline in known if deadline is not None]
    return min(filter(None, left), default=None)


def _healthy(world: World) -> Condition | None:
    return find_condition(world.deployment.status.conditions, ConditionType.HEALTHY)


def _in_progress_since(world: World) -> datetime | None:
    known = _healthy(world)
    if known is None or known.status != "Unknown" or known.reason != Reason.PROGRESSING:
        return None
    return max(_stored(world, known.last_transition_time), _installed_since(world))


def _installed_since(world: World) -> datetime:
    """The time since which the objects are those of the target: what was reported before was about others."""
    newest = next(iter(world.deployment.status.history or ()), None)
    text = (newest.finished_at if world.target.is_rolled_back else newest.installed_at) if newest is not None else None
    return min(datetime.fromisoformat(text), world.now) if text else _LONG_AGO


def _stored(world: World, text: str) -> datetime:
    """A time in the status; one that a wrong clock gave does not count."""
    found = datetime.fromisoformat(text)
    return _LONG_AGO if is_ahead(found, world.now) else found


def _is_overdue(world: World, key: ObjectKey, health: Health, since: datetime | None) -> bool:
    """An object that was created again has the whole deadline."""
    deadline = _deadline(world, health)
    if deadline is None or (since is None and _was_absent(world, key)):
        return False
    return _has_exceeded(world, key, deadline, since)


def _deadline(world: World, health: Health) -> timedelta | None:
    """How long an object may be in progress; None: its own status reports when that is exceeded."""
    return world.progress_deadline or health.deadline


def _was_absent(world: World, key: ObjectKey) -> bool:
    known = _healthy(world)
    return known is not None and any(f"{key}: {text}" in known.message for text in (_DELETED, _MISSING))


def _has_exceeded(world: World, key: ObjectKey, deadline: timedelta, since: datetime | None) -> bool:
    """An object that was reported to have missed its deadline has failed until it is healthy, also after a restart."""
    if since is not None:
        return has_passed(since, deadline, world.now)
    known = _healthy(world)
    if known is None or known.reason != Reason.UNHEALTHY:
        return False
    if datetime.fromisoformat(known.last_transition_time) <= _installed_since(world):
        return False
    return f"{key}: " in known.message or MORE in known.message


def _unhealthy(world: World) -> Iterator[tuple[ObjectKey, Health]]:
    """Objects whose own status is not healthy, and CustomResourceDefinitions without their conversion webhook."""
    for key, member in sorted(world.owned.items()):
        if member.health is None or member.deletion_timestamp is not None:
            continue
        if member.health.status != "True":
            yield key, member.health
        elif key in world.conversion_problems:
            yield key, progress(world.conversion_problems[key])


def _absent(world: World, active: str, applied: frozenset[ObjectKey]) -> Iterator[tuple[ObjectKey, str]]:
    """Objects of the installed bundle that do not exist or are being deleted."""
    content = _content(world, active)
    items = {item.key: item for item in content.objects()} if content is not None else {}
    for item in items.values():
        if world.is_deleting(item.key):
            yield item.key, _DELETED
        elif item.key not in applied and not _exists(world, item.key):
            yield item.key, _MISSING


def _unlisted(world: World, active: str) -> Iterator[str]:
    """Kinds that have not been listed. One that only earlier bundles had does not make this one unhealthy."""
    content = _content(world, active)
    kinds = {key[:2] for key in content.keys} if content is not None else world.unsynced
    yield from (kind for group, kind in world.unsynced & kinds if has_health((group, kind)))


def _contested(world: World, active: str) -> Iterator[str]:
    content = _content(world, active)
    for item in content.objects() if content is not None else ():
        if item.key[:2] != NAMESPACE and not world.is_deleting(item.key) and is_contested(world, item):
            yield f"{item.key}: changed repeatedly by others, and left unchanged for a while"


def _content(world: World, active: str) -> RenderedBundle | None:
    content = world.content if world.is_target(active) else world.active_content
    return content if isinstance(content, RenderedBundle) else None


def _exists(world: World, key: ObjectKey) -> bool:
    """An object of a kind that cannot be listed counts as existing."""
    if key[:2] == NAMESPACE:
        return key.name in world.namespaces
    return key in world.owned or key[:2] in world.unsynced
