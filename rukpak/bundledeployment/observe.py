"""Gathers the World of one BundleDeployment out of informers and contents. Called by rukpak.bundledeployment.reconciler.

A pass over what did not change sends no request. What a process remembers beside the cluster (notes of what it applied) may be
lost at any time: it only spares writes.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from olmkit.api import bundles, operators
from olmkit.api.bundledeployments import INVENTORY_ANNOTATION, BundleDeployment, template_spec
from olmkit.api.conditions import find_condition
from olmkit.api.meta import Object
from olmkit.errors import ApiError, NotFound
from olmkit.runtime.client import Client
from olmkit.runtime.informer import Informer
from rukpak.bundledeployment import inventory, transforms
from rukpak.bundledeployment.conflict_watch import ConflictWatch
from rukpak.bundledeployment.events import EventMapper, Interests, controllers
from rukpak.bundledeployment.inventory import OWNER_INDEX, Inventory
from rukpak.bundledeployment.namespace_finalizers import blocking_finalizers
from rukpak.bundledeployment.render_cache import RenderCache
from rukpak.bundledeployment.rest_mapper import RestMapper
from rukpak.bundledeployment.template import bundle_name, derive_record
from rukpak.bundledeployment.webhook_endpoints import webhooks_without_endpoints
from rukpak.bundledeployment.world import (
    CRD,
    NAMESPACE,
    BundleInfo,
    Content,
    CrdInfo,
    CustomResource,
    LabeledObject,
    LastApplied,
    MissingContent,
    NamespaceInfo,
    RenderedBundle,
    UnpackState,
    World,
)
from rukpak.format.objects import ObjectKey

MEMBER_INDEX, RELEASED_INDEX = "member", "released"
TRIES = 3
"""An object whose deletion is refused that often is left behind, where that is asked for."""
ASKED_LIMIT = 4096
"""Deletions that are remembered; the informers show them within seconds."""

Shown = TypeVar("Shown", LabeledObject, NamespaceInfo)


@dataclass(frozen=True)
class Rejection:
    """What the API server refused last, and for how long it is left at that."""

    what: tuple[object, ...]
    at: datetime
    after: timedelta


@dataclass
class Memory:
    """What a process knows of a BundleDeployment beside what the cluster shows; nothing is lost with it but time."""

    uid: str
    notes: dict[ObjectKey, LastApplied] = field(default_factory=dict)
    refused: dict[str, int] = field(default_factory=dict)
    """While it is being deleted: uid -> how often the API server refused to delete the object."""
    foreign: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """While it is being deleted: what is in the Namespaces that go with it and were looked into."""
    is_cleared: bool = False
    """While it is being deleted: its CRDs had no custom resources any more."""
    settling_since: datetime | None = None
    refusal: Rejection | None = None
    latest: Object | None = None
    """The object after an own write in this pass."""
    is_let_go: bool = False
    """The finalizer was removed in this pass."""


class PendingDeletions:
    """Which objects the API server agreed to delete: they are going, though the informers do not show it yet."""

    def __init__(self) -> None:
        self._since: OrderedDict[str, datetime] = OrderedDict()

    def add(self, uid: str) -> None:
        """The API server said yes."""
        self._since[uid] = datetime.now(UTC)
        while len(self._since) > ASKED_LIMIT:
            self._since.popitem(last=False)

    def since(self, uid: str, shown: datetime | None) -> datetime | None:
        """When the object began to go: as it shows, else as it was asked to."""
        return shown or self._since.get(uid)


@dataclass(frozen=True)
class Informers:
    """The informers that are read. Namespaces, CRDs and inventory are projected by rukpak.bundledeployment.transforms."""

    deployments: Informer
    bundles: Informer
    namespaces: Informer
    crds: Informer
    asked: PendingDeletions = field(default_factory=PendingDeletions)

    def __post_init__(self) -> None:
        self.bundles.add_index(OWNER_INDEX, lambda obj: [entry["uid"] for entry in controllers(obj)])
        self.namespaces.add_index(MEMBER_INDEX, _members)
        self.crds.add_index(OWNER_INDEX, transforms.owner_uid_index)
        for informer in (self.namespaces, self.crds):
            informer.add_index(RELEASED_INDEX, transforms.released_by_index)


@dataclass(frozen=True)
class Observer:
    """Sees for all BundleDeployments."""

    client: Client
    sight: Informers
    kinds: RestMapper
    contents: RenderCache
    inventory: Inventory
    wakeups: EventMapper
    blockers: ConflictWatch
    memories: dict[str, Memory] = field(default_factory=dict)

    async def observe(self, key: str) -> World | None:
        """None when the BundleDeployment is gone. Raises ApiError only when the API server cannot be asked what it serves."""
        raw = self.sight.deployments.get(key)
        if raw is None:
            await self.forget(key)
            return None
        await self.kinds.refresh()
        deployment = BundleDeployment.load(raw)
        memory = await self._memory(key, deployment.metadata.uid)
        world = World(
            now=datetime.now(UTC),
            raw=raw,
            deployment=deployment,
            desired_bundle=bundle_name(key, template_spec(raw)),
            inventory=inventory.parse_annotation(deployment.metadata.annotations.get(INVENTORY_ANNOTATION, "")),
            last_applied=dict(memory.notes),  # as observed: a pass adds to the Memory, never to its World
            brief_wait_since=memory.settling_since,
        )
        if deployment.metadata.deleting:
            world = await self._with_objects(world)
            here = [key for key, member in world.owned.items() if member.deletion_timestamp is None]
            return replace(
                world,
                custom_resources=await self._instances(world, memory),
                webhooks_without_endpoints=await webhooks_without_endpoints(self.client, here),
                foreign_objects=dict(memory.foreign),
                undeletable=frozenset(uid for uid, times in memory.refused.items() if times >= TRIES),
            )
        return await self._with_objects(await self._with_record(await self._with_bundles(world)))

    def begin(self) -> None:
        """This process leads from now on: what it remembers of before may be older than what another one did since."""
        self.memories.update({key: Memory(memory.uid) for key, memory in self.memories.items()})

    async def forget(self, key: str) -> None:
        """The BundleDeployment is gone."""
        memory = self.memories.pop(key, None)
        self.wakeups.concerns.pop(key, None)
        self.contents.drop_bodies(key)
        await self.blockers.forget(key)
        if memory is not None:
            await self.inventory.forget(memory.uid)

    async def _memory(self, key: str, uid: str) -> Memory:
        memory = self.memories.get(key)
        if memory is None or memory.uid != uid:
            await self.forget(key)
            memory = self.memories[key] = Memory(uid)
        memory.latest, memory.is_let_go = None, False
        return memory

    async def _with_bundles(self, world: World) -> World:
        own = {obj["metadata"]["name"]: obj for obj in self.sight.bundles.by_index(OWNER_INDEX, world.uid)}
        other = self.sight.bundles.get(world.desired_bundle) if world.desired_bundle not in own else None
        active = world.active_bundle if world.active_bundle != world.desired_bundle else None
        known = {name: self._bundle(obj) for name, obj in own.items()}
        return replace(
            world,
            bundles=known,
            bundle_owner=_holder(other) if other else "",
            content=await self._content(world.name, known.get(world.desired_bundle)),
            active_content=await self._content(world.name, known.get(active) if active else None),
            is_active_name_taken=active is not None
            and active not in own
            and self.sight.bundles.get(active) is not None,
        )

    async def _with_record(self, world: World) -> World:
        """When the active Bundle is missing and was never recorded, its Operator knows what it was."""
        is_known = (
            world.active_bundle is None
            or world.active_bundle in world.bundles
            or world.record(world.active_bundle) is not None
        )
        owners = world.deployment.metadata.owner_references
        owner = next((one for one in owners if one.controller and one.kind == operators.KIND.kind), None)
        if is_known or owner is None:
            return world
        try:
            operator = operators.Operator.load(await self.client.get(operators.KIND, owner.name))
        except ApiError:
            return world
        is_owner = operator.metadata.uid == owner.uid
        return replace(world, derived_record=derive_record(world, operator.status) if is_owner else None)

    async def _content(self, deployment: str, bundle: BundleInfo | None) -> Content:
        """What a Bundle holds, if it is unpacked."""
        digest = bundles.digest_of_reference(bundle.image) if bundle is not None else ""
        if bundle is None or not digest or bundle.unpack_state is not UnpackState.DONE:
            return MissingContent()
        return await self.contents.rendered(bundle.name, deployment, digest)

    async def _with_objects(self, world: World) -> World:
        concerns = self.wakeups.concerns[world.name] = self._concerns(world)
        seen = await self.inventory.list(world.uid, world.inventory)
        namespaces = {name: facts for name in concerns.namespaces if (facts := self._namespace(name)) is not None}
        for obj in self.sight.namespaces.by_index(MEMBER_INDEX, world.uid):
            namespaces[obj["facts"].name] = self._going(obj["facts"])
        crds = {name: crd for name in concerns.crds if (crd := self._crd(name)) is not None}
        kinds = self.kinds.listable_kinds() if any(facts.deletion_timestamp for facts in namespaces.values()) else ()
        return replace(
            world,
            labeled={key: self._going(member) for key, member in seen.members.items()},
            unsynced=seen.unsynced,
            unreachable_kinds=seen.hidden,
            stale=seen.stale | ({NAMESPACE} if self.sight.namespaces.stale else frozenset()),
            namespaces=namespaces,
            crds=crds,
            namespace_finalizers={
                name: await blocking_finalizers(self.client, kinds, name)
                for name, facts in namespaces.items()
                if facts.deletion_timestamp
            },
        )

    def _concerns(self, world: World) -> Interests:
        contents = [content for content in (world.content, world.active_content) if isinstance(content, RenderedBundle)]
        keys = [item.key for content in contents for item in content.objects()]
        spaces, definitions = (
            {obj["metadata"]["name"] for obj in informer.by_index(RELEASED_INDEX, world.name)}
            for informer in (self.sight.namespaces, self.sight.crds)
        )
        return Interests(
            kinds=world.inventory.union(*(content.absent_kinds for content in contents)),
            namespaces=frozenset(spaces.union(key.name for key in keys if key[:2] == NAMESPACE)),
            crds=frozenset(definitions.union(key.name for key in keys if key[:2] == CRD)),
        )

    def _namespace(self, name: str) -> NamespaceInfo | None:
        obj = self.sight.namespaces.get(name)
        facts = transforms.namespace_info_of(obj)
        return self._going(facts) if facts is not None else None

    def _bundle(self, raw: Object) -> BundleInfo:
        facts = _bundle_facts(raw)
        return replace(facts, is_deleting=facts.is_deleting or self.sight.asked.since(facts.uid, None) is not None)

    def _going(self, facts: Shown) -> Shown:
        since = self.sight.asked.since(facts.uid, facts.deletion_timestamp)
        return facts if since == facts.deletion_timestamp else replace(facts, deletion_timestamp=since)

    def _crd(self, name: str) -> CrdInfo | None:
        obj = self.sight.crds.get(name)
        definition = transforms.definition_of(obj)
        return definition.info if definition is not None else None

    async def _instances(self, world: World, memory: Memory) -> tuple[CustomResource, ...] | None:
        """Custom resources of the CRDs it has, read anew each pass until there are none; None when they cannot be read."""
        if memory.is_cleared:
            return ()
        found: list[CustomResource] = []
        for obj in self.sight.crds.by_index(OWNER_INDEX, world.uid):
            crd = transforms.definition_of(obj)
            if crd is None:
                return None
            kind = self.kinds.storage_kind((crd.group, crd.kind))
            if kind is None:
                continue
            try:
                objects, _ = await self.client.list(kind, metadata_only=True)
            except NotFound:
                continue
            except ApiError:
                return None
            found += [_instance(entry) for entry in objects]
        memory.is_cleared = not found
        return tuple(found)


def _members(obj: Object) -> Iterable[str]:
    facts = transforms.namespace_info_of(obj)
    return facts.members if facts is not None else ()


def _bundle_facts(raw: Object) -> BundleInfo:
    bundle = bundles.Bundle.load(raw)
    conditions = bundle.status.conditions
    unpacked = find_condition(conditions, bundles.ConditionType.UNPACKED)
    if unpacked is not None and unpacked.status == "True":
        state = UnpackState.DONE
    elif find_condition(conditions, bundles.ConditionType.STALLED) is not None:
        state = UnpackState.FAILED
    elif unpacked is not None and unpacked.reason == bundles.Reason.UNPACK_FAILED:
        state = UnpackState.RETRYING
    else:
        state = UnpackState.PENDING
    metadata = bundle.metadata
    return BundleInfo(
        name=metadata.name,
        uid=metadata.uid,
        unpack_state=state,
        message=unpacked.message if unpacked else "",
        labels=metadata.labels,
        annotations=metadata.annotations,
        is_deleting=metadata.deleting,
        spec=raw["spec"],
        image=_image_by_digest(bundle),
    )


def _image_by_digest(bundle: bundles.Bundle) -> str:
    source = bundle.status.resolved_source
    return source.image.ref if source is not None and source.image is not None else ""


def _holder(bundle: Object) -> str:
    owners = controllers(bundle)
    return f"BundleDeployment {owners[0]['name']}" if owners else "nobody that is known here"


def _instance(obj: Object) -> CustomResource:
    metadata = obj["metadata"]
    return CustomResource(
        key=transforms.object_key(obj),
        uid=metadata["uid"],
        resource_version=metadata["resourceVersion"],
        deletion_timestamp=transforms.parse_time(metadata.get("deletionTimestamp")),
        finalizers=tuple(metadata.get("finalizers") or ()),
    )
