"""Reads whether CustomResourceDefinitions and Namespaces are in use, and which foreign objects are in a Namespace.

Called by rukpak.bundledeployment.reconciler when it observes, for what prune and finalize name, and by deleter right before a
deletion. Never writes; what cannot be read is part of the answer.
"""

from __future__ import annotations

import asyncio
import heapq
from dataclasses import dataclass

from olmkit.api.customresourcedefinitions import definition_of
from olmkit.api.meta import Kind, Object
from olmkit.errors import ApiError
from olmkit.runtime.client import Client
from olmkit.runtime.informer import Informer
from rukpak.bundledeployment import transforms
from rukpak.bundledeployment.rest_mapper import RestMapper
from rukpak.bundledeployment.world import ForeignObjects, Usage, World
from rukpak.format.objects import group_of
from rukpak.format.text import MAX_NAMES_SHOWN

LIST_PAGE = 20
"""Objects per request while one object is looked for."""
METRICS_GROUP = "metrics.k8s.io"
"""The group whose objects are figures about objects of other kinds."""
_NOTHING_TO_LIST = {404, 405}
"""Codes of a kind that was removed, or that can only be created, such as Binding."""
_IGNORED_KINDS = {"Event", "Endpoints", "Lease"}
"""Kinds whose objects are about other objects: deleting them loses nothing."""
_MADE_BY_KUBERNETES = {("ServiceAccount", "default"), ("ConfigMap", "kube-root-ca.crt")}


@dataclass(frozen=True)
class UsageReader:
    """Reads for all BundleDeployments; `limit` is shared with whoever else sends requests."""

    client: Client
    rest_mapper: RestMapper
    crds: Informer
    limit: asyncio.Semaphore

    async def crd(self, name: str) -> Usage | ApiError:
        """The usage of a CustomResourceDefinition, or the error when it cannot be read."""
        definition = definition_of(self.crds.get(name))
        if definition is None or not definition.is_established:
            return Usage.NEVER_ESTABLISHED
        kind = self.rest_mapper.storage_kind((definition.group, definition.kind))
        if kind is None or kind.plural != definition.plural:
            return Usage.UNLISTABLE
        try:
            return Usage.IN_USE if await self._has_objects(kind, None) else Usage.UNUSED
        except ApiError as error:
            return error

    async def namespace(self, name: str) -> Usage | ApiError:
        """The usage of a Namespace: whether it holds an object that would not be deleted without it; or the error."""
        try:
            for kind in filter(_is_counted, self.rest_mapper.listable_kinds()):
                if await self._has_objects(kind, name):
                    return Usage.IN_USE
        except ApiError as error:
            return error
        return Usage.UNUSED

    async def foreign_objects(self, world: World, namespace: str) -> ForeignObjects:
        """Objects in the Namespace that would not be deleted without it and that are not part of the bundle."""
        kinds = list(filter(_is_counted, self.rest_mapper.listable_kinds()))
        parts = await asyncio.gather(*(self._foreign(world, kind, namespace) for kind in kinds))
        first = heapq.nsmallest(MAX_NAMES_SHOWN, (name for part in parts for name in part.first))
        return ForeignObjects(tuple(first), sum(part.count for part in parts))

    async def _foreign(self, world: World, kind: Kind, namespace: str) -> ForeignObjects:
        found: list[str] = []
        count = 0
        try:
            async with self.limit:
                async for objects, _ in self.client.pages(kind, namespace, metadata_only=True):
                    keys = (transforms.object_key(obj) for obj in objects if not self._is_incidental(kind, obj))
                    names = [str(key) for key in keys if key not in world.owned]
                    count += len(names)
                    found = heapq.nsmallest(MAX_NAMES_SHOWN, found + names)
        except ApiError as error:
            if error.status not in _NOTHING_TO_LIST:
                found.append(f"those of {kind.plural}.{kind.group or 'v1'} (they cannot be listed now)")
                count += 1
        return ForeignObjects(tuple(found), count)

    async def _has_objects(self, kind: Kind, namespace: str | None) -> bool:
        """Whether there is one object that somebody created. Raises ApiError."""
        try:
            async for objects, _ in self.client.pages(kind, namespace, metadata_only=True, limit=LIST_PAGE):
                if any(namespace is None or not self._is_incidental(kind, obj) for obj in objects):
                    return True
        except ApiError as error:
            if namespace is None or error.status not in _NOTHING_TO_LIST:
                raise
        return False

    def _is_incidental(self, kind: Kind, obj: Object) -> bool:
        """Whether the object is in every Namespace, is being deleted, or is deleted with an owner in the Namespace.

        That owner is counted itself, or is deleted and the garbage collector deletes the object.
        """
        metadata = obj["metadata"]
        if "deletionTimestamp" in metadata or (kind.kind, metadata["name"]) in _MADE_BY_KUBERNETES:
            return True
        owners = metadata.get("ownerReferences") or ()
        return bool(owners) and not any(
            self.rest_mapper.is_cluster_scoped((group_of(owner["apiVersion"]), owner["kind"])) for owner in owners
        )


def _is_counted(kind: Kind) -> bool:
    return kind.kind not in _IGNORED_KINDS and kind.group != METRICS_GROUP
