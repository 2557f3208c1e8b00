"""Watches the objects that stand in the way of a BundleDeployment, so that it goes on as soon as a person removes them.

Used by rukpak.bundledeployment.reconciler after a pass that was refused. They are other people's objects, so each is watched
by its name and as metadata alone, and only while it is in the way. Never reads what an object holds, and never writes.
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

SYNC_SECONDS = 2.0
"""How long a pass waits for the first look at an object; it may be gone by then."""


@dataclass
class _Watched:
    informer: Informer
    names: set[str] = field(default_factory=set)
    """The BundleDeployments that it blocks."""


class ConflictWatch:
    """All objects that are in the way of somebody. `changed` is given the name of the BundleDeployment."""

    def __init__(self, informers: InformerFactory, changed: Callable[[str], None]) -> None:
        self._informers = informers
        self._changed = changed
        self._watched: dict[ConflictingObject, _Watched] = {}

    async def watch(self, name: str, blockers: Iterable[ConflictingObject]) -> bool:
        """Watch these for a BundleDeployment, and no others; returns whether one of them is gone already."""
        wanted = frozenset(blockers)
        await self._release(name, keep=wanted)
        is_gone = False
        for blocker in sorted(wanted, key=str):
            watched = self._watched.get(blocker)
            if watched is None:
                watched = self._watched[blocker] = _Watched(self._start(blocker))
            watched.names.add(name)
            with suppress(TimeoutError):
                async with asyncio.timeout(SYNC_SECONDS):
                    await watched.informer.synced.wait()
            is_synced = watched.informer.synced.is_set()
            is_gone |= is_synced and watched.informer.get(blocker.name, blocker.namespace) is None
        return is_gone

    async def forget(self, name: str) -> None:
        """Nothing is in the way of the BundleDeployment any more, or it is gone."""
        await self._release(name, keep=frozenset())

    async def _release(self, name: str, keep: frozenset[ConflictingObject]) -> None:
        for blocker, watched in list(self._watched.items()):
            if name in watched.names and blocker not in keep:
                watched.names.discard(name)
                if not watched.names and self._watched.get(blocker) is watched:
                    del self._watched[blocker]
                    await self._informers.remove_informer(watched.informer)

    def _start(self, blocker: ConflictingObject) -> Informer:
        informer = self._informers.informer(
            blocker.kind,
            namespace=blocker.namespace or None,
            field_selector=f"metadata.name={blocker.name}",
            metadata_only=True,
            transform=_identity,
            absent_is_empty=True,
        )

        def heard(change: Change) -> None:
            """The first look is no news, nor is a change of anything but whose object it is."""
            watched = self._watched.get(blocker)
            if watched is not None and change.old is not None and _whose(change.old) != _whose(change.new):
                for name in sorted(watched.names):
                    self._changed(name)

        informer.subscribe(heard)
        return informer


def _identity(obj: Object) -> Object:
    metadata = obj["metadata"]
    return {"metadata": {key: metadata[key] for key in ("labels", "annotations") if key in metadata}}


def _whose(obj: Object | None) -> object:
    """What of an object can change that it is in the way."""
    if obj is None:
        return None
    metadata = obj["metadata"]
    return metadata["uid"], metadata.get("labels"), metadata.get("annotations")
