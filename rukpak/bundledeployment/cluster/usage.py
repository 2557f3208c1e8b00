"""Reads whether CustomResourceDefinitions and Namespaces are in use, how many custom resources there are, and which foreign
objects are in a Namespace.

Called by rukpak.bundledeployment.act, for what prune and finalize name, by observe, which counts, and by deleter right before a
deletion; rukpak.admission.deletions has one that counts when it is asked. Never writes; what cannot be read is part of the
answer.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable
from dataclasses import dataclass

from olmkit.api.bundledeployment_status import (
    MAX_COUNT_MESSAGE_BYTES,
    MAX_COUNTED_CUSTOM_RESOURCES,
    CustomResourceCount,
)
from olmkit.api.customresourcedefinitions import CustomResourceDefinition, definition_of
from olmkit.api.meta import Kind, Object
from olmkit.api.ownership import is_applied_by
from olmkit.errors import ApiError
from olmkit.gocompat.text import MAX_NAMES_SHOWN, truncate
from olmkit.runtime.client import Client
from olmkit.runtime.informer import Informer
from rukpak.bundledeployment.cluster import transforms
from rukpak.bundledeployment.cluster.inventory import OWNER_INDEX
from rukpak.bundledeployment.cluster.rest_mapper import RestMapper
from rukpak.bundledeployment.plan import ReadUsage
from rukpak.bundledeployment.world import ForeignObjects, Usage, World
from rukpak.format.objects import group_of

Choice = Callable[[Object], bool]

LIST_PAGE = 20
"""Objects per request while one object is looked for."""
COUNT_PAGE = 500
"""Objects per request while custom resources are counted: metadata only, about 15 ms of the API server."""
COUNT_TIMEOUT_SECONDS = 10.0
BUSY_RETRY_SECONDS = 0.5
METRICS_GROUP = "metrics.k8s.io"
"""The group whose objects are figures about objects of other kinds."""
_TOO_MANY_REQUESTS = 429
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
    max_counted: int = MAX_COUNTED_CUSTOM_RESOURCES
    """Custom resources of one kind that are counted."""
    count_seconds: float = COUNT_TIMEOUT_SECONDS
    """Seconds for the count of all custom resources of a BundleDeployment."""

    async def usage(self, plan: ReadUsage) -> dict[str, Usage | ApiError]:
        """The usage of each of them, by uid."""
        found = {entry.uid: await self.crd(entry.key.name) for entry in plan.crds}
        return found | {entry.uid: await self.namespace(entry.name) for entry in plan.namespaces}

    async def crd(self, name: str) -> Usage | ApiError:
        """The usage of a CustomResourceDefinition, or the error when it cannot be read."""
        definition = definition_of(self.crds.get(name))
        if definition is None or not definition.is_established:
            return Usage.NEVER_ESTABLISHED
        kind = self._kind(definition)
        if kind is None:
            return Usage.UNLISTABLE
        try:
            return Usage.IN_USE if await self._count(kind, _is_any, limit=1) else Usage.UNUSED
        except ApiError as error:
            return error

    async def custom_resources(
        self, uid: str, deployment: str, namespace: str | None = None, *, is_guarding: bool = False
    ) -> tuple[CustomResourceCount, ...]:
        """The custom resources of each CRD that the BundleDeployment of that uid and name installed, by group and kind, without
        those that it applied itself. What cannot be counted is an entry without a count. `namespace`: only those in it.
        `is_guarding`: also those of a CRD with its label of which nothing shows who applied it.
        """
        deadline = asyncio.get_running_loop().time() + self.count_seconds
        definitions = installed_definitions(self.crds, uid, deployment, is_guarding=is_guarding)

        def is_usage(obj: Object) -> bool:
            return not is_applied_by(obj, uid, deployment)

        counts = await asyncio.gather(
            *(self._custom_resources(each, is_usage, deadline, namespace) for each in definitions)
        )
        return tuple(sorted(counts, key=lambda entry: (entry.group, entry.kind)))

    async def _custom_resources(
        self, definition: CustomResourceDefinition, is_usage: Choice, deadline: float, namespace: str | None
    ) -> CustomResourceCount:
        group, kind = definition.group_kind
        if not definition.is_established or (namespace and not definition.is_namespaced):
            return CustomResourceCount(group=group, kind=kind, plural=definition.plural, count=0)
        listed = self._kind(definition)
        if listed is None:
            return _uncounted(definition, "the API server does not serve the kind")
        try:
            async with asyncio.timeout_at(deadline):
                count = await self._count_patiently(listed, is_usage, namespace)
        except ApiError as error:
            return _uncounted(definition, f"they cannot be listed: {error.message}")
        except TimeoutError:
            return _uncounted(definition, f"they were not counted within {self.count_seconds:g} s")
        is_truncated = count >= self.max_counted
        shown = min(count, self.max_counted)
        return CustomResourceCount(
            group=group, kind=kind, plural=definition.plural, count=shown, truncated=is_truncated or None
        )

    def _kind(self, definition: CustomResourceDefinition) -> Kind | None:
        """The kind that lists the custom resources; None when the API server does not serve that of this CRD."""
        kind = self.rest_mapper.storage_kind(definition.group_kind)
        return kind if kind is not None and kind.plural == definition.plural else None

    async def namespace(self, name: str) -> Usage | ApiError:
        """The usage of a Namespace: whether it holds an object that would not be deleted without it; or the error."""
        try:
            for kind in filter(_is_counted, self.rest_mapper.listable_kinds()):
                if await self._is_inhabited(kind, name):
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
                    others = [key for key in keys if key not in world.owned]
                    names = [str(key) if world.account is None else f"{key.kind} (name hidden)" for key in others]
                    count += len(names)
                    found = heapq.nsmallest(MAX_NAMES_SHOWN, found + names)
        except ApiError as error:
            if error.status not in _NOTHING_TO_LIST:
                found.append(f"those of {kind.plural}.{kind.group or 'v1'} (they cannot be listed now)")
                count += 1
        return ForeignObjects(tuple(found), count)

    async def _is_inhabited(self, kind: Kind, namespace: str) -> bool:
        """Report whether the Namespace has an object of that kind that somebody created. Raises ApiError."""
        try:
            return await self._count(kind, lambda obj: not self._is_incidental(kind, obj), namespace, limit=1) > 0
        except ApiError as error:
            if error.status not in _NOTHING_TO_LIST:
                raise
        return False

    async def _count_patiently(self, kind: Kind, is_usage: Choice, namespace: str | None) -> int:
        """The chosen custom resources. Raises ApiError, but not while the API server is busy or its storage of a new kind is not
        initialized."""
        while True:
            try:
                async with self.limit:
                    return await self._count(kind, is_usage, namespace, limit=self.max_counted)
            except ApiError as error:
                if error.status != _TOO_MANY_REQUESTS:
                    raise
            await asyncio.sleep(BUSY_RETRY_SECONDS)

    async def _count(self, kind: Kind, is_counted: Choice, namespace: str | None = None, *, limit: int) -> int:
        """The number of objects that are counted; counting stops at `limit`. Raises ApiError."""
        count, page = 0, max(LIST_PAGE, min(limit, COUNT_PAGE))
        async for objects, _ in self.client.pages(kind, namespace, metadata_only=True, limit=page):
            count += sum(map(is_counted, objects))
            if count >= limit:
                break
        return count

    def _is_incidental(self, kind: Kind, obj: Object) -> bool:
        """Report whether the object is in every Namespace, is being deleted, or is deleted with an owner in the Namespace.

        That owner is counted itself, or is deleted and the garbage collector deletes the object.
        """
        metadata = obj["metadata"]
        if "deletionTimestamp" in metadata or (kind.kind, metadata["name"]) in _MADE_BY_KUBERNETES:
            return True
        owners = metadata.get("ownerReferences") or ()
        return bool(owners) and not any(
            self.rest_mapper.is_cluster_scoped((group_of(owner["apiVersion"]), owner["kind"])) for owner in owners
        )


def installed_definitions(
    crds: Informer, uid: str, deployment: str, *, is_guarding: bool = False
) -> list[CustomResourceDefinition]:
    """The CRDs that the BundleDeployment of that uid and name installed; one that only has its label belongs to others.
    `is_guarding`: with those of which nothing shows who applied them, for what keeps and never deletes."""
    labeled = [each for each in map(definition_of, crds.by_index(OWNER_INDEX, uid)) if each is not None]
    return [
        each
        for each in labeled
        if (each.may_be_applied_by(uid, deployment) if is_guarding else each.is_applied_by(uid, deployment))
    ]


def _is_any(_: Object) -> bool:
    return True


def _is_counted(kind: Kind) -> bool:
    return kind.kind not in _IGNORED_KINDS and kind.group != METRICS_GROUP


def _uncounted(definition: CustomResourceDefinition, message: str) -> CustomResourceCount:
    group, kind = definition.group_kind
    shown = truncate(message, MAX_COUNT_MESSAGE_BYTES)
    return CustomResourceCount(group=group, kind=kind, plural=definition.plural, message=shown)
