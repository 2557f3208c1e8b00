"""The objects of each BundleDeployment: those with its owner-uid label, of the kinds in its inventory annotation.

One informer per kind for all BundleDeployments, which selects the label and is metadata-only unless the kind has a health rule
or decides about upgrades.
It starts with the first BundleDeployment that has the kind and ends with the last. Never writes.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

from olmkit.api import operator_condition_names
from olmkit.api.bundledeployments import OWNER_UID_LABEL
from olmkit.api.meta import Kind
from olmkit.runtime.informer import Change, Informer
from rukpak.bundledeployment.cluster import transforms
from rukpak.bundledeployment.cluster.rest_mapper import CRDS, RestMapper
from rukpak.bundledeployment.health.health import has_health
from rukpak.bundledeployment.world import LabeledObject
from rukpak.format.objects import ObjectKey

GroupKind = tuple[str, str]
OWNER_INDEX = "owner"
UNREACHABLE_AFTER_SECONDS = 30.0
"""A kind whose informer has been stale for that long counts as unreachable."""
SYNC_TIMEOUT_SECONDS = 2.0
"""The time for which a pass waits for an informer that was just started, or whose watch was just cut."""


class InformerFactory(Protocol):
    """The part of olmkit.runtime.manager that starts and ends informers."""

    def informer(self, kind: Kind, **options: Any) -> Informer:
        """Start an informer with the options of olmkit.runtime.informer."""
        ...

    async def remove_informer(self, informer: Informer) -> None:
        """End it; returns when its task has ended."""
        ...


@dataclass(frozen=True)
class OwnedObjects:
    """The objects with the label of one BundleDeployment, and the kinds of which not all may be known."""

    labeled: dict[ObjectKey, LabeledObject]
    unsynced: frozenset[GroupKind]
    """Kinds whose informer is stale, unreachable ones included."""
    unreachable: frozenset[GroupKind]


@dataclass
class _Watched:
    informer: Informer
    kind: Kind
    users: set[str] = field(default_factory=set)
    """uids of the BundleDeployments that have the kind."""
    stale_since: float = field(default_factory=time.monotonic)
    """The time when the informer was started or became stale; of no meaning while it is fresh."""

    def note_staleness(self) -> None:
        """The informer has become stale or fresh."""
        if self.informer.stale:
            self.stale_since = time.monotonic()


def parse_annotation(annotation: str) -> frozenset[GroupKind]:
    """Group-kinds of the inventory annotation: `Kind.group`, or `Kind` for core kinds, separated by commas."""
    parts = (part.strip().partition(".") for part in annotation.split(","))
    return frozenset((group, kind) for kind, _, group in parts if kind)


def format_annotation(kinds: Iterable[GroupKind]) -> str:
    """The inventory annotation, sorted."""
    return ",".join(sorted(f"{kind}.{group}" if group else kind for group, kind in kinds))


class Inventory:
    """All informers on installed objects. `changed` is called with the uid of the BundleDeployment whose object changed."""

    def __init__(
        self, informers: InformerFactory, rest_mapper: RestMapper, crds: Informer, changed: Callable[[str], None]
    ) -> None:
        self._informers = informers
        self._rest_mapper = rest_mapper
        self._crds = crds
        self._changed = changed
        self._watched: dict[GroupKind, _Watched] = {}

    async def list(self, uid: str, kinds: frozenset[GroupKind]) -> OwnedObjects:
        """The objects of a BundleDeployment. Waits up to 2 seconds for kinds that have just become stale."""
        await self._release(uid, keep=kinds)
        for kind in sorted(kinds):
            await self._watch(uid, kind)
        await _fresh([self._watched[kind] for kind in kinds if kind in self._watched])
        labeled: dict[ObjectKey, LabeledObject] = {}
        unsynced: set[GroupKind] = set()
        unreachable = {
            kind for kind in kinds if kind[0] in self._rest_mapper.failed_groups and kind not in self._watched
        }
        for kind in sorted(kinds):
            informer = self._informer(kind)
            if informer is None:
                continue
            if informer.stale:
                unsynced.add(kind)
                unreachable |= {kind} if self._is_late(kind) else set()
            for obj in informer.by_index(OWNER_INDEX, uid):
                labeled[obj["labeled"].key] = obj["labeled"]
        return OwnedObjects(labeled, frozenset(unsynced | unreachable), frozenset(unreachable))

    def taken(self, uid: str, keys: Iterable[ObjectKey]) -> frozenset[ObjectKey]:
        """Those of the keys whose object has the label of another BundleDeployment, as far as their kinds are watched."""
        return frozenset(key for key in keys if (owner := self._owner(key)) and owner != uid)

    def _owner(self, key: ObjectKey) -> str:
        informer = self._informer(key[:2])
        obj = informer.get(key.name, key.namespace) if informer is not None else None
        return next(iter(transforms.owner_uid_index(obj)), "") if obj is not None else ""

    def _is_late(self, kind: GroupKind) -> bool:
        watched = self._watched.get(kind)
        return watched is not None and time.monotonic() - watched.stale_since > UNREACHABLE_AFTER_SECONDS

    async def forget(self, uid: str) -> None:
        """The BundleDeployment is deleted."""
        await self._release(uid, keep=frozenset())

    def record_write(self, kind: Kind, obj: dict[str, Any]) -> None:
        """The API server's answer to an own apply of an installed object."""
        informer = self._informer(kind.group_kind)
        if informer is not None:
            informer.record_write({**obj, "apiVersion": kind.api_version, "kind": kind.kind})

    def _informer(self, kind: GroupKind) -> Informer | None:
        if kind == CRDS.group_kind:
            return self._crds
        watched = self._watched.get(kind)
        return watched.informer if watched is not None else None

    async def _watch(self, uid: str, group_kind: GroupKind) -> None:
        """Watch the kind in its current storage version."""
        if group_kind == CRDS.group_kind:
            return
        kind = self._rest_mapper.storage_kind(group_kind)
        watched = self._watched.get(group_kind)
        if watched is not None and watched.kind == kind:
            watched.users.add(uid)
            return
        users = {uid, *(watched.users if watched is not None else ())}
        if kind is not None:
            entry = self._watched[group_kind] = _Watched(self._start(kind), kind, users)
            entry.informer.on_freshness(entry.note_staleness)
        elif watched is not None:
            del self._watched[group_kind]
        if watched is not None:
            await self._end(watched.informer)

    async def _end(self, informer: Informer) -> None:
        await self._informers.remove_informer(informer)
        # A cancellation of the pass while the informer's task ends must not be mistaken for that end.
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise asyncio.CancelledError

    def _start(self, kind: Kind) -> Informer:
        informer = self._informers.informer(
            kind,
            label_selector=OWNER_UID_LABEL,
            metadata_only=not has_health(kind.group_kind) and kind.group_kind != operator_condition_names.GROUP_KIND,
            transform=transforms.labeled_object,
            absent_is_empty=True,
        )
        informer.add_index(OWNER_INDEX, transforms.owner_uid_index)
        informer.subscribe(self._notify)
        return informer

    async def _release(self, uid: str, keep: frozenset[GroupKind]) -> None:
        for group_kind, watched in list(self._watched.items()):
            if uid in watched.users and group_kind not in keep:
                watched.users.discard(uid)
                if not watched.users and self._watched.get(group_kind) is watched:
                    del self._watched[group_kind]
                    await self._end(watched.informer)

    def _notify(self, change: Change) -> None:
        uids = {uid for obj in (change.old, change.new) if obj is not None for uid in transforms.owner_uid_index(obj)}
        for uid in uids:
            self._changed(uid)


async def _fresh(watched: list[_Watched]) -> None:
    """Wait for informers that have just become stale."""
    now = time.monotonic()
    recent = [entry for entry in watched if entry.informer.stale and now - entry.stale_since < SYNC_TIMEOUT_SECONDS]
    waits = [asyncio.ensure_future(entry.informer.fresh.wait()) for entry in recent]
    try:
        if waits:
            await asyncio.wait(waits, timeout=SYNC_TIMEOUT_SECONDS)
    finally:
        for wait in waits:
            wait.cancel()
