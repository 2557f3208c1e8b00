"""Finds the installed objects that have failed or are in progress, and until when.

A rollout is progress, and so is the repair of a deleted object; an object that is not healthy within its deadline has failed.
The start of the progress is read from the condition Healthy, and which objects have failed from status.failed, so that both
survive the process. The deadline of an installation whose objects are not all applied is that of revisions/history.py. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from olmkit.api.bundledeployments import ConditionType, Reason
from olmkit.api.conditions import find_condition
from olmkit.api.deployed_objects import FailedObject
from olmkit.api.meta import Condition
from olmkit.stored_times import has_passed, is_ahead, stored_time, time_left
from rukpak.bundledeployment.drift import is_contested
from rukpak.bundledeployment.health.health import has_health
from rukpak.bundledeployment.health.health_result import PROGRESS_DEADLINE, Health, progress
from rukpak.bundledeployment.object_references import key_of
from rukpak.bundledeployment.rendered_bundle import RenderedBundle
from rukpak.bundledeployment.world import NAMESPACE, World
from rukpak.format.objects import ObjectKey

_DELETED = "it was deleted"
_MISSING = "it does not exist"
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True)
class UnhealthyObject:
    """An object that is not healthy, and why. `is_absent`: it does not exist, or is being deleted. `reason`: that of one of its
    pods, if it is known. `is_late`: it has failed because it was not healthy within its deadline."""

    key: ObjectKey
    why: str
    is_absent: bool = False
    reason: str = ""
    is_late: bool = False

    def __str__(self) -> str:
        """The sentence of messages."""
        return f"{self.key}: {self.why}"

    @property
    def subject(self) -> set[str]:
        """The names by which an outcome about it differs from others."""
        return {str(self.key), *([f"{self.key}: {self.reason}"] if self.reason else ())}


@dataclass(frozen=True)
class HealthEvaluation:
    """Objects that are not healthy, and sentences about others, sorted; `contested` are those that others change repeatedly.

    `unlisted`: kinds of the bundle whose objects may be unhealthy and are not known. `is_complete`: the objects of the bundle are
    known, so that none of them is missing unnoticed. `is_serving`: all that is in progress serves meanwhile.
    """

    failed: tuple[UnhealthyObject, ...] = ()
    in_progress: tuple[UnhealthyObject, ...] = ()
    contested: tuple[str, ...] = ()
    unlisted: tuple[str, ...] = ()
    is_complete: bool = True
    is_serving: bool = False


@dataclass(frozen=True)
class _Reported:
    """The objects of the status that are in progress or have failed."""

    in_progress_since: datetime | None = None
    failed: Mapping[ObjectKey, FailedObject] = field(default_factory=dict)
    is_truncated: bool = False
    """True if others have failed that it does not name."""

    def has_failed(self, key: ObjectKey) -> bool:
        """Report whether the object has failed, as far as the status tells: any other one may have if it does not name all."""
        return key in self.failed or self.is_truncated

    def was_absent(self, key: ObjectKey) -> bool:
        """Report whether it has failed because it did not exist."""
        return key in self.failed and bool(self.failed[key].absent)

    def was_late(self, key: ObjectKey) -> bool:
        """Report whether it has failed because it was not healthy in time."""
        return key in self.failed and bool(self.failed[key].late)


def evaluate_health(
    world: World, active: str, applied: frozenset[ObjectKey] = frozenset(), *, is_activated: bool = False
) -> HealthEvaluation:
    """The objects of the bundle `active`. `applied` are those that this pass created or reverted after the observation.
    `is_activated`: the pass has installed it, so that what the status says is about other objects."""
    before = _Reported() if is_activated else _reported(world)
    failed: list[UnhealthyObject] = []
    in_progress: list[UnhealthyObject] = []
    is_serving = True
    for key, health in _unhealthy(world):
        has_failed = health.status == "False" or _is_overdue(world, key, health, before)
        problem = world.pod_problems.get(key)
        why = f"{health.message}{f' ({problem.sentence})' if problem else ''}"
        is_late = _is_late(world, key, health, before)
        unhealthy = UnhealthyObject(key, why, reason=problem.reason if problem else "", is_late=is_late)
        (failed if has_failed else in_progress).append(unhealthy)
        is_serving &= health.is_serving
    for key, why in sorted(_absent(world, active, applied)):
        has_failed = _has_exceeded(world, key, world.progress_deadline or PROGRESS_DEADLINE, before)
        is_late = before.was_late(key) or (has_failed and before.in_progress_since is not None)
        (failed if has_failed else in_progress).append(UnhealthyObject(key, why, is_absent=True, is_late=is_late))
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


def failed_before(world: World) -> frozenset[ObjectKey]:
    """The objects that have failed according to the status."""
    failed = world.deployment.status.failed
    return frozenset(key_of(one) for one in failed.objects) if failed is not None else frozenset()


def _reported(world: World) -> _Reported:
    since, failed, known = _in_progress_since(world), world.deployment.status.failed, _healthy(world)
    if since is not None or failed is None or known is None:
        return _Reported(since)
    if stored_time(known.last_transition_time) <= _installed_since(world):
        return _Reported()
    return _Reported(None, {key_of(one): one for one in failed.objects}, bool(failed.truncated))


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
    return min(stored_time(text), world.now) if text else _LONG_AGO


def _stored(world: World, text: str) -> datetime:
    """A time in the status; one that a wrong clock gave does not count."""
    found = stored_time(text)
    return _LONG_AGO if is_ahead(found, world.now) else found


def _is_overdue(world: World, key: ObjectKey, health: Health, before: _Reported) -> bool:
    """An object that was created again has the whole deadline."""
    deadline = _deadline(world, health)
    if deadline is None or before.was_absent(key):
        return False
    return _has_exceeded(world, key, deadline, before)


def _is_late(world: World, key: ObjectKey, health: Health, before: _Reported) -> bool:
    """Report whether an object that has failed was not healthy in time. A deadline of its own counts unless spec has one."""
    exceeds_now = before.in_progress_since is not None and _is_overdue(world, key, health, before)
    return before.was_late(key) or exceeds_now or (health.is_late and world.progress_deadline is None)


def _deadline(world: World, health: Health) -> timedelta | None:
    """The time that an object may be in progress; None: its own status reports when that is exceeded."""
    return world.progress_deadline or health.deadline


def _has_exceeded(world: World, key: ObjectKey, deadline: timedelta, before: _Reported) -> bool:
    """An object that was reported to have missed its deadline has failed until it is healthy, also after a restart."""
    since = before.in_progress_since
    return before.has_failed(key) if since is None else has_passed(since, deadline, world.now)


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
