"""Watches objects that conflict with those of a BundleDeployment, so that it recovers as soon as they are deleted.

Each object belongs to others: it is watched by its name, as metadata alone, and only while it conflicts. Never reads its content,
and never writes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from olmkit.api.meta import Object
from olmkit.runtime.informer import Change, Informer
from rukpak.bundledeployment.cluster.inventory import InformerFactory
from rukpak.bundledeployment.cluster.shared_watches import SharedWatches
from rukpak.bundledeployment.world import ConflictingObject


class ConflictWatch:
    """All conflicting objects. `changed` is called with the name of the BundleDeployment."""

    def __init__(self, informers: InformerFactory, changed: Callable[[str], None]) -> None:
        self._informers = informers
        self._changed = changed
        self._watches = SharedWatches(informers, self._start)

    async def watch(self, name: str, objects: Iterable[ConflictingObject]) -> bool:
        """Watch these objects for a BundleDeployment, and no others. Returns whether one of them is deleted already."""
        watched = await self._watches.watch(name, objects)
        return any(
            informer.fresh.is_set() and informer.get(conflicting.name, conflicting.namespace) is None
            for conflicting, informer in watched.items()
        )

    async def forget(self, name: str) -> None:
        """The BundleDeployment has no conflicts, or is deleted."""
        await self._watches.forget(name)

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
            if change.old is not None and _ownership(change.old) != _ownership(change.new):
                for name in self._watches.names_of(conflicting):
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
