"""Watches objects that conflict with those of a BundleDeployment, so that it recovers as soon as they are deleted.

Called by rukpak.bundledeployment.act after a rejected apply. Each object belongs to others: it is watched by its name, as
metadata alone, and only while it conflicts. Never reads its content, and never writes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field

from olmkit.api.meta import Object
from olmkit.runtime.informer import Change, Informer
from rukpak.bundledeployment.inventory import InformerFactory
from rukpak.bundledeployment.world import ConflictingObject

SYNC_TIMEOUT_SECONDS = 2.0
"""How long a pass waits for the first list of an object: it may have been deleted already."""


@dataclass
class _Watched:
    informer: Informer
    names: set[str] = field(default_factory=set)
    """The BundleDeployments that it blocks."""


class ConflictWatch:
    """All conflicting objects. `changed` is called with the name of the BundleDeployment."""

    def __init__(self, informers: InformerFactory, changed: Callable[[str], None]) -> None:
        self._informers = informers
        self._changed = changed
        self._watched: dict[ConflictingObject, _Watched] = {}

    async def watch(self, name: str, objects: Iterable[ConflictingObject]) -> bool:
        """Watch these objects for a BundleDeployment, and no others. Returns whether one of them is deleted already."""
        wanted = frozenset(objects)
        await self._release(name, keep=wanted)
        is_deleted = False
        for conflicting in sorted(wanted, key=str):
            watched = self._watched.get(conflicting)
            if watched is None:
                watched = self._watched[conflicting] = _Watched(self._start(conflicting))
            watched.names.add(name)
            with suppress(TimeoutError):
                async with asyncio.timeout(SYNC_TIMEOUT_SECONDS):
                    await watched.informer.synced.wait()
            is_synced = watched.informer.synced.is_set()
            is_deleted |= is_synced and watched.informer.get(conflicting.name, conflicting.namespace) is None
        return is_deleted

    async def forget(self, name: str) -> None:
        """The BundleDeployment has no conflicts, or is deleted."""
        await self._release(name, keep=frozenset())

    async def _release(self, name: str, keep: frozenset[ConflictingObject]) -> None:
        for conflicting, watched in list(self._watched.items()):
            if name in watched.names and conflicting not in keep:
                watched.names.discard(name)
                if not watched.names and self._watched.get(conflicting) is watched:
                    del self._watched[conflicting]
                    await self._informers.remove_informer(watched.informer)

    def _start(self, conflicting: ConflictingObject) -> Informer:
        informer = self._informers.informer(
            conflicting.kind,
            namespace=conflicting.namespace or None,
            field_selector=f"metadata.name={conflicting.name}",
            metadata_only=True,
            transform=_identity,
            absent_is_empty=True,
        )

        def on_change(change: Change) -> None:
            """Handle a change of the object; ignores the first list, and changes that cannot end the conflict."""
            watched = self._watched.get(conflicting)
            if watched is not None and change.old is not None and _ownership(change.old) != _ownership(change.new):
                for name in sorted(watched.names):
                    self._changed(name)

        informer.subscribe(on_change)
        return informer


def _identity(obj: Object) -> Object:
    metadata = obj["metadata"]
    return {"metadata": {key: metadata[key] for key in ("labels", "annotations") if key in metadata}}


def _ownership(obj: Object | None) -> object:
    """The part of an object that determines whether it conflicts."""
    if obj is None:
        return None
    metadata = obj["metadata"]
    return metadata["uid"], metadata.get("labels"), metadata.get("annotations")
