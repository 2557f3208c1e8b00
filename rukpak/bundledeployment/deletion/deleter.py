"""Deletes and releases what was decided for one BundleDeployment: objects, memberships of Namespaces, Bundles, the finalizer.

The order is decided in deletion_order.py for a BundleDeployment that is deleted, in prune.py for what is no longer in its bundle.

Every deletion names a uid; an object that was changed or deleted meanwhile is no error, because the next pass observes it.
Never removes finalizers of others.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from olmkit.api import bundledeployments, bundles
from olmkit.api.bundledeployments import (
    ADOPTED_ANNOTATION,
    FINALIZER,
    MEMBER_LABEL_PREFIX,
    OWNER_UID_LABEL,
    RELEASED_ANNOTATION,
    Reason,
)
from olmkit.api.meta import Kind
from olmkit.api.ownership import manager_name, without_manager
from olmkit.errors import ApiError, Conflict, Invalid, NotFound, Waiting
from olmkit.gocompat.text import list_names
from olmkit.runtime.client import Client
from rukpak.bundledeployment.cluster.informers import Informers
from rukpak.bundledeployment.cluster.inventory import OWNER_INDEX
from rukpak.bundledeployment.cluster.namespace_info import NamespaceInfo
from rukpak.bundledeployment.cluster.rest_mapper import CRDS, NAMESPACES, RestMapper
from rukpak.bundledeployment.cluster.usage import UsageReader
from rukpak.bundledeployment.deletion.finalize import abandon_hint
from rukpak.bundledeployment.deletion.retention import Retention
from rukpak.bundledeployment.identity import Identities
from rukpak.bundledeployment.plan import DeleteBundles, DeleteObjects, LeaveNamespaces, NamespaceRemoval, Prune
from rukpak.bundledeployment.world import CustomResource, LabeledObject, Usage, World
from rukpak.format.objects import ObjectKey

DELETE_RETRY_DELAY = timedelta(seconds=10)
"""The time to the next attempt after the API server refused to delete an object."""
_TRANSIENT = {0, 401, 429}
"""Codes that are not about the object."""

_PRUNED = "no longer in the bundle"
_FINALIZED = "the BundleDeployment is being deleted"

log = logging.getLogger(__name__)

FailedDeletions = dict[str, int]
"""uid -> how often the API server refused to delete the object."""


@dataclass(frozen=True)
class Deleter:
    """Deletes for all BundleDeployments; `limit` is shared with whoever else sends requests."""

    identities: Identities
    rest_mapper: RestMapper
    informers: Informers
    limit: asyncio.Semaphore
    usage: UsageReader
    """Read right before a CustomResourceDefinition or a Namespace is pruned: the resourceVersion that a deletion names does not
    cover the objects in it."""

    async def remove_finalizer(self, world: World) -> None:
        """Delete the Bundles, so that installing again need not wait for the garbage collector, which deletes what could not be
        deleted here; then allow the API server to delete the BundleDeployment. Raises Conflict."""
        own = (raw["metadata"] for raw in self.informers.bundles.by_index(OWNER_INDEX, world.uid))
        try:
            await _all(self._delete_bundle(one["name"], one["uid"], _FINALIZED) for one in own)
        except ApiError as error:
            log.warning("Bundles of %s are left to the garbage collector: %s", world.name, error)
        metadata = world.deployment.metadata
        others = [name for name in metadata.finalizers if name != FINALIZER]
        body = {"metadata": {"resourceVersion": metadata.resource_version, "finalizers": others}}
        with suppress(NotFound):
            await self.identities.own.patch(bundledeployments.KIND, world.name, body)

    async def delete_bundles(self, world: World, plan: DeleteBundles) -> None:
        """Delete them. One that an earlier BundleDeployment has left is deleted only if the World shows the present one."""
        if world.left_bundle not in plan.bundles:
            why = "another one is desired or installed"
        elif await self._is_present(world):
            why = "its BundleDeployment is deleted"
        else:
            return
        await _all(self._delete_bundle(bundle.name, bundle.uid, why) for bundle in plan.bundles)

    async def _is_present(self, world: World) -> bool:
        with suppress(NotFound):
            present = await self.identities.own.get(bundledeployments.KIND, world.name)
            return bool(present["metadata"]["uid"] == world.uid)
        return False

    async def prune(self, world: World, plan: Prune) -> None:
        """Delete or release what is no longer in the bundle, unless it was changed since it was observed."""
        await _all(self._delete_entry(world, entry, _PRUNED, entry.resource_version) for entry in plan.delete)
        await _all(self._prune_crd(world, entry) for entry in plan.delete_crds)
        await _all(self._release_entry(entry, world) for entry in plan.release)
        for removal in plan.namespaces:
            await self._prune_namespace(world, removal)

    async def _prune_crd(self, world: World, entry: LabeledObject) -> None:
        if await self.usage.crd(entry.key.name) in (Usage.UNUSED, Usage.NEVER_ESTABLISHED):
            await self._delete_entry(world, entry, _PRUNED, entry.resource_version)

    async def _prune_namespace(self, world: World, removal: NamespaceRemoval) -> None:
        namespace = removal.namespace
        match removal.retention:
            case Retention.LEAVE:
                await self._leave(world, namespace)
            case Retention.RELEASE:
                labels = {label: None for label in namespace.labels if label.startswith(MEMBER_LABEL_PREFIX)}
                metadata = {"labels": labels, "annotations": {RELEASED_ANNOTATION: world.name}}
                key = _key(NAMESPACES, namespace.name, "")
                await self._release(world, NAMESPACES, key, namespace.resource_version, metadata)
            case Retention.DELETE:
                if await self.usage.namespace(namespace.name) is Usage.UNUSED:
                    await self._delete_namespace(world, namespace, _PRUNED)

    async def delete_objects(self, world: World, plan: DeleteObjects, failed: FailedDeletions) -> None:
        """Delete group after group. Counts in `failed` what the API server refuses to delete, and raises Waiting that names it,
        unless it is abandoned.
        """
        for group in plan.groups:
            deletions = {entry.uid: (str(entry.key), self._delete_entry(world, entry, _FINALIZED)) for entry in group}
            await self._try(deletions, world, failed)

    async def leave_namespaces(self, world: World, plan: LeaveNamespaces, failed: FailedDeletions) -> None:
        """End memberships, then delete Namespaces. Raises as `delete_objects`."""
        for namespace in plan.leave:
            await self._leave(world, namespace)
        deletions = {
            namespace.uid: (f"Namespace {namespace.name}", self._delete_namespace(world, namespace, _FINALIZED))
            for namespace in plan.delete
        }
        await self._try(deletions, world, failed)

    async def _try(
        self, deletions: Mapping[str, tuple[str, Coroutine[Any, Any, None]]], world: World, failed: FailedDeletions
    ) -> None:
        """Delete all of them, also when a webhook or a policy rejects some."""
        results = await asyncio.gather(*(deletion for _, deletion in deletions.values()), return_exceptions=True)
        sentences, errors = list[str](), list[ApiError]()
        for (uid, (key, _)), result in zip(deletions.items(), results, strict=True):
            if isinstance(result, ApiError) and result.status not in _TRANSIENT:
                failed[uid] = failed.get(uid, 0) + 1
                sentences.append(f"{key}: {result.message}")
                errors.append(result)
            elif result is not None:
                raise result
        if sentences and not world.abandoned:
            text = f"the API server does not delete {list_names(sentences, '; ', 3)}{abandon_hint(world, errors)}"
            raise Waiting(Reason.REMOVING, text, DELETE_RETRY_DELAY)

    async def _leave(self, world: World, namespace: NamespaceInfo) -> None:
        """Apply nothing as our manager: fields that only we had applied are removed, those of other members stay."""
        identity = {"name": namespace.name, "uid": namespace.uid, "resourceVersion": namespace.resource_version}
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": identity}
        with suppress(Conflict, NotFound, Invalid):
            left = await self.identities.own.apply(NAMESPACES, body, manager_name(world.name))
            self.informers.namespaces.record_write(left)
            log.info("left %s (others use it, or it existed before)", _key(NAMESPACES, namespace.name, ""))

    async def _release_entry(self, entry: LabeledObject, world: World) -> None:
        """Remove the label. Another BundleDeployment may take over a CRD that has the annotation, and one of this name an object
        of a chart; of everything else, and of what was there before, the field manager is given up."""
        annotations: dict[str, str | None] = {ADOPTED_ANNOTATION: None} if entry.is_adopted else {}
        metadata: dict[str, Any] = {"labels": {OWNER_UID_LABEL: None}, "annotations": annotations}
        kind = self.rest_mapper.storage_kind(entry.key[:2])
        if kind is None:
            return
        is_of_others = world.is_returned(entry)
        if not is_of_others and (entry.key[:2] == CRDS.group_kind or world.is_kept(entry)):
            annotations[RELEASED_ANNOTATION] = world.name
        elif (entries := await self._given_up(world, kind, entry)) is not None:
            metadata["managedFields"] = entries
        else:
            return
        await self._release(world, kind, entry.key, entry.resource_version, metadata)

    async def _given_up(self, world: World, kind: Kind, entry: LabeledObject) -> list[dict[str, Any]] | None:
        """The entries of managedFields without those of the BundleDeployment; None if the object has changed since it was
        observed: the next pass observes it."""
        with suppress(NotFound):
            async with self.limit:
                client = self.identities.own
                live = await client.get(kind, entry.key.name, entry.key.namespace or None)
            if live["metadata"]["resourceVersion"] == entry.resource_version:
                return without_manager(live, manager_name(world.name))
        return None

    async def _release(
        self, world: World, kind: Kind, key: ObjectKey, resource_version: str, metadata: Mapping[str, Any]
    ) -> None:
        body = {"metadata": {"resourceVersion": resource_version, **metadata}}
        with suppress(Conflict, NotFound):
            async with self.limit:
                client = self.identities.of_object(world, key)
                await client.patch(kind, key.name, body, key.namespace or None)
            log.info("released %s: it stays without an owner", key)

    async def _delete_entry(
        self, world: World, entry: LabeledObject | CustomResource, why: str, resource_version: str | None = None
    ) -> None:
        kind, client = self.rest_mapper.storage_kind(entry.key[:2]), self.identities.of(world)
        if kind is not None:
            await self._delete(client, kind, entry.key, entry.uid, resource_version, why)

    async def _delete_namespace(self, world: World, namespace: NamespaceInfo, why: str) -> None:
        key, version = _key(NAMESPACES, namespace.name, ""), namespace.resource_version
        await self._delete(self.identities.of(world), NAMESPACES, key, namespace.uid, version, why)

    async def _delete_bundle(self, name: str, uid: str, why: str) -> None:
        await self._delete(self.identities.own, bundles.KIND, _key(bundles.KIND, name, ""), uid, None, why)

    async def _delete(
        self, client: Client, kind: Kind, key: ObjectKey, uid: str, resource_version: str | None, why: str
    ) -> None:
        with suppress(Conflict, NotFound):
            async with self.limit:
                await client.delete(kind, key.name, key.namespace or None, uid=uid, resource_version=resource_version)
            self.informers.pending_deletions.add(uid)
            log.info("deleted %s (%s)", key, why)


def _key(kind: Kind, name: str, namespace: str) -> ObjectKey:
    return ObjectKey(kind.group, kind.kind, namespace, name)


async def _all(deletions: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Wait for all of them, then raise the first failure."""
    for result in await asyncio.gather(*deletions, return_exceptions=True):
        if result is not None:
            raise result
