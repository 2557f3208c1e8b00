"""Removes what was decided for one BundleDeployment: objects, memberships of Namespaces, Bundles, the finalizer.

Called by rukpak.install.reconciler. Whatever is deleted is named by its uid; what changed or went meanwhile is no error, the
next pass sees what is so. Finalizers of others are never touched.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from olmkit.api import bundledeployments, bundles
from olmkit.api.bundledeployments import CREATED_LABEL, FINALIZER, MEMBER_LABEL_PREFIX, OWNER_UID_LABEL, LeftOut
from olmkit.api.meta import Kind
from olmkit.client import Client
from olmkit.errors import Conflict, Invalid, NotFound
from rukpak.install.kinds import CRDS, NAMESPACES, Kinds
from rukpak.install.observe import Sight
from rukpak.install.plans import Done, DropBundles, LeaveNamespaces, Prune, TearDown
from rukpak.install.world import CRD, RELEASED_ANNOTATION, Instance, Member, NamespaceFacts, World, manager_name

LOOK_AGAIN = timedelta(seconds=1)
_MADE_BY_KUBERNETES = {("ServiceAccount", "default"), ("ConfigMap", "kube-root-ca.crt")}

Object = dict[str, Any]


@dataclass(frozen=True)
class Withdrawal:
    """Removes for all BundleDeployments; `limit` is shared with whoever else writes."""

    client: Client
    kinds: Kinds
    sight: Sight
    limit: asyncio.Semaphore

    async def remove_finalizer(self, world: World) -> None:
        """Let the BundleDeployment go. Raises Conflict."""
        metadata = world.deployment.metadata
        others = [name for name in metadata.finalizers if name != FINALIZER]
        body = {"metadata": {"resourceVersion": metadata.resource_version, "finalizers": others}}
        with suppress(NotFound):
            await self.client.patch(bundledeployments.KIND, world.name, body)

    async def drop_bundles(self, plan: DropBundles) -> None:
        """Delete them."""
        await _all(self._delete(bundles.KIND, bundle.name, "", bundle.uid) for bundle in plan.bundles)

    async def prune(self, world: World, plan: Prune) -> Done:
        """Delete objects that left the bundle; a CRD or Namespace in use is released, and said."""
        plain = (member for member in plan.members if member.key[:2] != CRD)
        await _all(self._delete_entry(member, member.resource_version) for member in plain)
        released = [await self._prune_crd(world, member) for member in plan.members if member.key[:2] == CRD]
        released += [await self._prune_namespace(world, facts) for facts in plan.namespaces]
        return Done(plan, LOOK_AGAIN, released=tuple(entry for entry in released if entry is not None))

    async def _prune_crd(self, world: World, member: Member) -> LeftOut | None:
        name = member.key.name
        kind = self._defined_by(name)
        if kind is None or not await self._holds_any(kind, None):
            await self._delete_entry(member, member.resource_version)
            return None
        labels, annotations = {OWNER_UID_LABEL: None}, {RELEASED_ANNOTATION: world.name}
        metadata = {"resourceVersion": member.resource_version, "labels": labels, "annotations": annotations}
        is_released = await self._patch(CRDS, name, metadata)
        return LeftOut(group=member.key.group, kind=member.key.kind, name=name) if is_released else None

    def _defined_by(self, crd: str) -> Kind | None:
        plural, _, group = crd.partition(".")
        return next((kind for kind in self.kinds.of_group(group) if kind.plural == plural), None)

    async def _prune_namespace(self, world: World, facts: NamespaceFacts) -> LeftOut | None:
        if facts.members != {world.uid} or CREATED_LABEL not in facts.labels:
            await self._leave(world, facts)
            return None
        for kind in self.kinds.namespaced():
            if await self._holds_any(kind, facts.name):
                labels = {label: None for label in facts.labels if _is_ours(label)}
                metadata = {"resourceVersion": facts.resource_version, "labels": labels}
                is_released = await self._patch(NAMESPACES, facts.name, metadata)
                return LeftOut(group="", kind="Namespace", name=facts.name) if is_released else None
        await self._delete(NAMESPACES, facts.name, "", facts.uid, facts.resource_version)
        return None

    async def _holds_any(self, kind: Kind, namespace: str | None) -> bool:
        """Whether there is one object that somebody put there."""
        with suppress(NotFound):
            async for objects, _ in self.client.pages(kind, namespace, metadata_only=True, limit=20):
                if any(not _is_made_by_kubernetes(kind, obj) for obj in objects):
                    return True
        return False

    async def tear_down(self, plan: TearDown) -> None:
        """Delete group after group."""
        for group in plan.groups:
            await _all(self._delete_entry(entry) for entry in group)

    async def leave_namespaces(self, world: World, plan: LeaveNamespaces) -> None:
        """End memberships, and Namespaces; one that changed meanwhile is looked at again."""
        for facts in plan.leave:
            await self._leave(world, facts)
        await _all(self._delete(NAMESPACES, facts.name, "", facts.uid, facts.resource_version) for facts in plan.remove)

    async def _leave(self, world: World, facts: NamespaceFacts) -> None:
        """Apply nothing as our manager: what only we had applied goes, what other members have too stays."""
        identity = {"name": facts.name, "uid": facts.uid, "resourceVersion": facts.resource_version}
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": identity}
        with suppress(Conflict, NotFound, Invalid):
            self.sight.namespaces.saw(await self.client.apply(NAMESPACES, body, manager_name(world.name)))

    async def _patch(self, kind: Kind, name: str, metadata: Mapping[str, Any]) -> bool:
        try:
            await self.client.patch(kind, name, {"metadata": metadata})
        except (Conflict, NotFound):
            return False
        return True

    async def _delete_entry(self, entry: Member | Instance, resource_version: str | None = None) -> None:
        kind = self.kinds.stored(entry.key[:2])
        if kind is not None:
            await self._delete(kind, entry.key.name, entry.key.namespace, entry.uid, resource_version)

    async def _delete(
        self, kind: Kind, name: str, namespace: str, uid: str, resource_version: str | None = None
    ) -> None:
        with suppress(Conflict, NotFound):
            async with self.limit:
                await self.client.delete(kind, name, namespace or None, uid=uid, resource_version=resource_version)


async def _all(work: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Everything is tried, then the first failure raised."""
    for result in await asyncio.gather(*work, return_exceptions=True):
        if result is not None:
            raise result


def _is_ours(label: str) -> bool:
    return label == CREATED_LABEL or label.startswith(MEMBER_LABEL_PREFIX)


def _is_made_by_kubernetes(kind: Kind, obj: Object) -> bool:
    """What every Namespace holds, and what is told about others."""
    return kind.kind == "Event" or (kind.kind, obj["metadata"]["name"]) in _MADE_BY_KUBERNETES
