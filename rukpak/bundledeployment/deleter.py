"""Removes what was decided for one BundleDeployment: objects, memberships of Namespaces, Bundles, the finalizer.

Called by rukpak.bundledeployment.reconciler. Whatever is deleted is named by its uid; what changed or went meanwhile is no
error, the next pass sees what is so. Finalizers of others are never touched.
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
    CREATED_LABEL,
    FINALIZER,
    MEMBER_LABEL_PREFIX,
    OWNER_UID_LABEL,
    Reason,
)
from olmkit.api.meta import Kind, Object
from olmkit.errors import ApiError, Conflict, Invalid, NotFound, Waiting
from olmkit.runtime.client import Client
from rukpak.bundledeployment import transforms
from rukpak.bundledeployment.finalize import abandon_hint
from rukpak.bundledeployment.observe import Informers
from rukpak.bundledeployment.plan import DeleteBundles, DeleteObjects, LeaveNamespaces, LookInto, Prune
from rukpak.bundledeployment.rest_mapper import CRDS, NAMESPACES, RestMapper
from rukpak.bundledeployment.world import (
    CRD,
    RELEASED_ANNOTATION,
    CustomResource,
    LabeledObject,
    NamespaceInfo,
    World,
    manager_name,
    names,
)
from rukpak.format.objects import ObjectKey, group_of

RECHECK_DELAY = timedelta(seconds=1)
DELETE_RETRY_DELAY = timedelta(seconds=10)
METRICS_GROUP = "metrics.k8s.io"
"""What it has are figures about objects of other kinds."""
_NO_ANSWER = {0, 401, 429}
"""Codes that say nothing about the object."""
_NOTHING_TO_LIST = {404, 405}
"""No such kind any more, or one that is only ever created, such as Binding."""
_SAY_NOTHING = {"Event", "Endpoints", "Lease"}
"""Kinds whose objects are about others: they hold nothing that anybody would miss."""
_MADE_BY_KUBERNETES = {("ServiceAccount", "default"), ("ConfigMap", "kube-root-ca.crt")}

_LEFT = "it left the bundle"
_ENDS = "the BundleDeployment is being deleted"

log = logging.getLogger(__name__)

Refusals = dict[str, int]
"""uid -> how often the API server refused to delete the object."""


@dataclass(frozen=True)
class Deleter:
    """Removes for all BundleDeployments; `limit` is shared with whoever else writes."""

    client: Client
    kinds: RestMapper
    sight: Informers
    limit: asyncio.Semaphore

    async def remove_finalizer(self, world: World) -> None:
        """Let the BundleDeployment go. Raises Conflict."""
        metadata = world.deployment.metadata
        others = [name for name in metadata.finalizers if name != FINALIZER]
        body = {"metadata": {"resourceVersion": metadata.resource_version, "finalizers": others}}
        with suppress(NotFound):
            await self.client.patch(bundledeployments.KIND, world.name, body)

    async def drop_bundles(self, plan: DeleteBundles) -> None:
        """Delete them."""
        why = "another one is wanted or installed"
        await _all(self._delete(bundles.KIND, bundle.name, "", bundle.uid, why=why) for bundle in plan.bundles)

    async def prune(self, world: World, plan: Prune) -> None:
        """Delete objects that left the bundle; a CRD or Namespace in use is released, and bears a note of it."""
        plain = (member for member in plan.members if member.key[:2] != CRD)
        await _all(self._delete_entry(member, _LEFT, member.resource_version) for member in plain)
        for crd in (member for member in plan.members if member.key[:2] == CRD):
            await self._prune_crd(world, crd)
        for facts in plan.namespaces:
            await self._prune_namespace(world, facts)

    async def _prune_crd(self, world: World, member: LabeledObject) -> None:
        name = member.key.name
        if not await self._is_used(name):
            await self._delete_entry(member, _LEFT, member.resource_version)
            return
        labels, annotations = {OWNER_UID_LABEL: None}, {RELEASED_ANNOTATION: world.name}
        metadata = {"resourceVersion": member.resource_version, "labels": labels, "annotations": annotations}
        await self._release(CRDS, name, metadata)

    async def _is_used(self, crd: str) -> bool:
        """Whether there are objects of it, or may be: of one that was established and serves no version nobody can tell."""
        definition = transforms.definition_of(self.sight.crds.get(crd))
        if definition is None or not definition.info.is_established:
            return False
        kind = self.kinds.storage_kind((definition.group, definition.kind))
        return kind is None or kind.plural != definition.plural or await self._holds_any(kind, None)

    async def _prune_namespace(self, world: World, facts: NamespaceInfo) -> None:
        if facts.members != {world.uid} or CREATED_LABEL not in facts.labels:
            await self._leave(world, facts)
            return
        for kind in self.kinds.listable_kinds():
            if await self._holds_any(kind, facts.name):
                labels = {label: None for label in facts.labels if _is_ours(label)}
                annotations = {RELEASED_ANNOTATION: world.name}
                metadata = {"resourceVersion": facts.resource_version, "labels": labels, "annotations": annotations}
                await self._release(NAMESPACES, facts.name, metadata)
                return
        await self._delete(NAMESPACES, facts.name, "", facts.uid, facts.resource_version, why=_LEFT)

    async def _holds_any(self, kind: Kind, namespace: str | None) -> bool:
        """Whether there is one object that somebody put there."""
        try:
            async for objects, _ in self.client.pages(kind, namespace, metadata_only=True, limit=20):
                if any(namespace is None or not self._goes_by_itself(kind, obj) for obj in objects):
                    return True
        except ApiError as error:
            if namespace is None or error.status not in _NOTHING_TO_LIST:
                raise
        return False

    def _goes_by_itself(self, kind: Kind, obj: Object) -> bool:
        """What every Namespace holds, what is told about others, what is going, and what goes with an owner in the Namespace.

        That owner counts itself, or is gone and the garbage collector is on its way.
        """
        metadata = obj["metadata"]
        if (
            _says_nothing(kind)
            or "deletionTimestamp" in metadata
            or (kind.kind, metadata["name"]) in _MADE_BY_KUBERNETES
        ):
            return True
        owners = metadata.get("ownerReferences") or ()
        return bool(owners) and not any(
            self.kinds.is_cluster_wide((group_of(owner["apiVersion"]), owner["kind"])) for owner in owners
        )

    async def tear_down(self, world: World, plan: DeleteObjects, refused: Refusals) -> None:
        """Delete group after group. Raises Waiting naming what the API server does not let go, unless that is abandoned."""
        for group in plan.groups:
            await self._try(
                {entry.uid: (str(entry.key), self._delete_entry(entry, _ENDS)) for entry in group}, world, refused
            )

    async def look_into(self, world: World, plan: LookInto) -> dict[str, tuple[str, ...]]:
        """uid of each Namespace -> the objects in it, sorted, that would not go without it and that the bundle did not bring."""
        kinds = [kind for kind in self.kinds.listable_kinds() if not _says_nothing(kind)]
        found: dict[str, tuple[str, ...]] = {}
        for facts in plan.namespaces:
            parts = await asyncio.gather(*(self._foreign(world, kind, facts.name) for kind in kinds))
            found[facts.uid] = tuple(sorted(text for part in parts for text in part))
        return found

    async def _foreign(self, world: World, kind: Kind, namespace: str) -> list[str]:
        found: list[str] = []
        try:
            async with self.limit:
                async for objects, _ in self.client.pages(kind, namespace, metadata_only=True):
                    keys = (transforms.object_key(obj) for obj in objects if not self._goes_by_itself(kind, obj))
                    found += [str(key) for key in keys if key not in world.owned]
        except ApiError as error:
            if error.status not in _NOTHING_TO_LIST:
                found.append(f"those of {kind.plural}.{kind.group or 'v1'} (they cannot be listed now)")
        return found

    async def leave_namespaces(self, world: World, plan: LeaveNamespaces, refused: Refusals) -> None:
        """End memberships, and Namespaces; one that changed meanwhile is looked at again. Raises as `tear_down`."""
        for facts in plan.leave:
            await self._leave(world, facts)
        work = {
            facts.uid: (
                f"Namespace {facts.name}",
                self._delete(NAMESPACES, facts.name, "", facts.uid, facts.resource_version, why=_ENDS),
            )
            for facts in plan.delete
        }
        await self._try(work, world, refused)

    async def _try(
        self, work: Mapping[str, tuple[str, Coroutine[Any, Any, None]]], world: World, refused: Refusals
    ) -> None:
        """Everything is tried; a webhook or a policy may stand against it."""
        results = await asyncio.gather(*(deletion for _, deletion in work.values()), return_exceptions=True)
        sentences: list[str] = []
        for (uid, (key, _)), result in zip(work.items(), results, strict=True):
            if isinstance(result, ApiError) and result.status not in _NO_ANSWER:
                refused[uid] = refused.get(uid, 0) + 1
                sentences.append(f"{key}: {result.message}")
            elif result is not None:
                raise result
        if sentences and not world.abandoned:
            text = f"the API server does not delete {names(sentences, '; ', 3)}; {abandon_hint(world)}"
            raise Waiting(Reason.REMOVING, text, DELETE_RETRY_DELAY)

    async def _leave(self, world: World, facts: NamespaceInfo) -> None:
        """Apply nothing as our manager: what only we had applied goes, what other members have too stays."""
        identity = {"name": facts.name, "uid": facts.uid, "resourceVersion": facts.resource_version}
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": identity}
        with suppress(Conflict, NotFound, Invalid):
            self.sight.namespaces.record_write(await self.client.apply(NAMESPACES, body, manager_name(world.name)))
            log.info("left %s (others use it, or it was there before)", _key(NAMESPACES, facts.name, ""))

    async def _release(self, kind: Kind, name: str, metadata: Mapping[str, Any]) -> None:
        with suppress(Conflict, NotFound):
            await self.client.patch(kind, name, {"metadata": metadata})
            log.info("released %s (it left the bundle, and stays because it is in use)", _key(kind, name, ""))

    async def _delete_entry(
        self, entry: LabeledObject | CustomResource, why: str, resource_version: str | None = None
    ) -> None:
        kind = self.kinds.storage_kind(entry.key[:2])
        if kind is not None:
            await self._delete(kind, entry.key.name, entry.key.namespace, entry.uid, resource_version, why=why)

    async def _delete(
        self, kind: Kind, name: str, namespace: str, uid: str, resource_version: str | None = None, *, why: str
    ) -> None:
        with suppress(Conflict, NotFound):
            async with self.limit:
                await self.client.delete(kind, name, namespace or None, uid=uid, resource_version=resource_version)
            self.sight.asked.add(uid)
            log.info("deleted %s (%s)", _key(kind, name, namespace), why)


def _says_nothing(kind: Kind) -> bool:
    return kind.kind in _SAY_NOTHING or kind.group == METRICS_GROUP


def _key(kind: Kind, name: str, namespace: str) -> ObjectKey:
    return ObjectKey(kind.group, kind.kind, namespace, name)


async def _all(work: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Everything is tried, then the first failure raised."""
    for result in await asyncio.gather(*work, return_exceptions=True):
        if result is not None:
            raise result


def _is_ours(label: str) -> bool:
    return label == CREATED_LABEL or label.startswith(MEMBER_LABEL_PREFIX)
