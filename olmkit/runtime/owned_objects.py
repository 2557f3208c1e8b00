"""Writes of a controller to objects that own others, or are owned: their finalizers, their owners, and their deletion.

Used by `act` of the kinds that own an object of another kind. Decides nothing: a Plan names the object by its uid and its
resourceVersion, so that nothing is written to an object that has changed or is another one by now.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from olmkit.api.meta import ObjectMeta
from olmkit.errors import NotFound
from olmkit.runtime.client import Client
from olmkit.runtime.informer import Informer

_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True)
class OwnedObjects:
    """The writes to objects of the kind of `informer`, which records them. An object that is gone counts as written."""

    client: Client
    informer: Informer

    async def set_finalizers(
        self, metadata: ObjectMeta, finalizers: Sequence[str], change: Mapping[str, Any] = _NOTHING
    ) -> None:
        """Set the finalizers of the object as read; `change` is other metadata of it. Raises Conflict."""
        body = {**change, "uid": metadata.uid, "resourceVersion": metadata.resource_version}
        patched = await self._patch(metadata.name, {**body, "finalizers": list(finalizers)})
        if patched is not None and (finalizers or not metadata.deleting):  # without its last one it is deleted already
            self.informer.record_write(patched)

    async def set_owners(
        self,
        name: str,
        identity: Mapping[str, str],
        owners: Sequence[Mapping[str, Any]],
        change: Mapping[str, Any] = _NOTHING,
    ) -> None:
        """Set the owner references of an object; `identity` is its uid and its resourceVersion, `change` other metadata of it.
        Raises Conflict."""
        patched = await self._patch(name, {**change, **identity, "ownerReferences": list(owners)})
        if patched is not None:
            self.informer.record_write(patched)

    async def delete(self, name: str, uid: str, resource_version: str) -> bool:
        """Request the deletion of an object; False if it is gone already. Raises Conflict."""
        try:
            left = await self.client.delete(self.informer.kind, name, uid=uid, resource_version=resource_version)
        except NotFound:
            return False
        if left is None:
            self.informer.record_deletion(name, uid)
        else:
            self.informer.record_write(left)
        return True

    async def _patch(self, name: str, metadata: Mapping[str, Any]) -> dict[str, Any] | None:
        with suppress(NotFound):
            return await self.client.patch(self.informer.kind, name, {"metadata": dict(metadata)})
        return None
