"""Carries out one Plan of a BundleDeployment. Decides nothing.

Applier and deleter send the requests. The Memory records their results while they work, because a pass may be cut short.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from olmkit.errors import ApiError, Forbidden, Waiting
from rukpak.bundledeployment.account_rules import lacking_permissions, namespace_permissions
from rukpak.bundledeployment.apply.applier import Applier
from rukpak.bundledeployment.apply.certificate_secrets import CertificateSecrets
from rukpak.bundledeployment.apply.permission_check import PermissionChecker
from rukpak.bundledeployment.charts.chart_renderer import ChartRenderer
from rukpak.bundledeployment.cluster.account_watch import AccountWatch
from rukpak.bundledeployment.cluster.conflict_watch import ConflictWatch
from rukpak.bundledeployment.cluster.conversion_watch import ConversionWatch
from rukpak.bundledeployment.cluster.inventory import Inventory
from rukpak.bundledeployment.cluster.pod_watch import PodWatch
from rukpak.bundledeployment.cluster.refusal_watch import RefusalWatch
from rukpak.bundledeployment.cluster.usage import UsageReader
from rukpak.bundledeployment.count_schedule import CustomResourceCounts
from rukpak.bundledeployment.crd_upgrade.existing_objects import ExistingObjectsChecker
from rukpak.bundledeployment.delays import CONTENT_RETRY_DELAY, MAX_RETRY_DELAY
from rukpak.bundledeployment.deletion.deleter import Deleter
from rukpak.bundledeployment.deletion.removal_rights import (
    lacking,
    lacking_to_remove,
    listing_rights,
    right_of,
)
from rukpak.bundledeployment.events import EventMapper
from rukpak.bundledeployment.plan import (
    Activate,
    Announce,
    Apply,
    ApplyBundle,
    BeginRevision,
    CheckExistingObjects,
    CheckPermissions,
    CheckRemovalPermissions,
    CopyConditions,
    DeleteBundles,
    DeleteObjects,
    Done,
    ForgetNotes,
    Keep,
    LeaveNamespaces,
    ListForeignObjects,
    Plan,
    Prune,
    ReadUsage,
    RecordNamespaces,
    RecordTemplates,
    Release,
    RemoveFinalizer,
    RenderChart,
    RollBack,
    UpdateInventory,
    WriteCertificates,
)
from rukpak.bundledeployment.render_cache import RenderCache
from rukpak.bundledeployment.world import (
    ApplyRejected,
    DeletedWorld,
    ForeignObjects,
    LastApplied,
    Usage,
    World,
)
from rukpak.format.objects import ObjectKey

NO_DELAY = timedelta(0)
RECHECK_DELAY = timedelta(seconds=1)
"""The time until the pass that observes whether deleted objects, or a conflicting object, are gone."""


MAX_FAILED_DELETIONS = 3
"""The number of refused deletions after which an object is left behind, if the abandon annotation permits it."""


@dataclass(frozen=True)
class Rejection:
    """The last rejection by the API server, and the time for which it is not retried."""

    cause: tuple[object, ...]
    """Generation, digest of the content, and the rejected objects. A retry of the same objects has the same cause, whatever the
    message is."""
    at: datetime
    after: timedelta

    @classmethod
    def next(cls, last: Rejection | None, world: World, error: ApplyRejected) -> Rejection:
        """The rejection to remember. A retry with the same cause doubles the delay. A pass before the time of the retry does
        not."""
        wanted = (world.deployment.metadata.generation, getattr(world.content, "content", ""))
        cause = (*wanted, error.refused, error.conflicting_objects)
        if last is None or last.cause != cause:
            return cls(cause, world.now, error.after)
        if world.now < last.at + last.after:
            return last
        return cls(cause, world.now, max(error.after, min(last.after * 2, MAX_RETRY_DELAY)))


@dataclass
class Memory:
    """The facts about the BundleDeployment with this uid that only this process knows.

    They may be lost at any time, because they only save writes and requests. `act` records the first part while it works, because
    a pass may be cut short. `publish` records the second part.
    """

    uid: str
    last_applied: dict[ObjectKey, LastApplied] = field(default_factory=dict)
    failed_deletions: dict[str, int] = field(default_factory=dict)
    """The number of times that the API server refused to delete an object, by its uid, while the BundleDeployment is being
    deleted."""
    rejection: Rejection | None = None
    permitted: frozenset[str] = frozenset()
    """Identify the account and the permissions that it was found to have since a request as it was refused."""
    is_refused: bool = False
    """True if a request as the account was refused, and not all of its permissions have been found since."""
    uncopied: Mapping[str, str] = field(default_factory=dict)
    """uid of an OperatorCondition -> the resourceVersion of which the API server has refused the copies of its conditions."""
    usage: Mapping[str, Usage | ApiError] = field(default_factory=dict)
    """The usage that was read for the next pass, by uid. publish drops it after that pass."""
    foreign_objects: Mapping[str, ForeignObjects] = field(default_factory=dict)
    """The objects of others in the Namespaces whose objects have been listed, by uid, while the BundleDeployment is being
    deleted."""

    custom_resource_counts: CustomResourceCounts | None = None
    """The last count of the custom resources of its CRDs."""
    has_no_custom_resources: bool = False
    """True if the last list found no custom resources of its CRDs, while the BundleDeployment is being deleted."""
    refused_since: Mapping[str, datetime] = field(default_factory=dict)
    """Deployment -> the time since which it has refused connections."""
    brief_wait_since: datetime | None = None
    unhealthy_since: datetime | None = None
    """The time since which a workload has not been healthy; None if all workloads are healthy."""
    cost: int = 0
    """The number of objects that were left to apply after the last pass."""

    def forget_permissions(self) -> None:
        """A request as the account was refused: the next pass asks for all that is missing."""
        self.permitted, self.is_refused = frozenset(), True


@dataclass(frozen=True)
class BundleDeploymentActions:
    """Carries out the Plans of all BundleDeployments. `memories` has the Memory of each by name."""

    applier: Applier
    certificates: CertificateSecrets
    deleter: Deleter
    usage: UsageReader
    inventory: Inventory
    event_mapper: EventMapper
    conflicts: ConflictWatch
    refusals: RefusalWatch
    conversions: ConversionWatch
    render_cache: RenderCache
    pods: PodWatch
    existing_objects: ExistingObjectsChecker
    charts: ChartRenderer
    accounts: AccountWatch
    permissions: PermissionChecker
    memories: dict[str, Memory] = field(default_factory=dict)

    async def act(self, world: World | DeletedWorld, plan: Plan | Release) -> Done:
        """Carry out the Plan. Raises the errors of its requests. A request that is rejected repeatedly is retried at growing
        intervals."""
        if isinstance(world, DeletedWorld) or isinstance(plan, Release):
            await self._release(world.name)
            return Done(plan, NO_DELAY)
        memory = self.memory(world)
        memory.last_applied = dict(world.last_applied)  # what is applied is added to it, never to the World
        try:
            done = await self._act(world, plan, memory)
        except ApplyRejected as error:
            memory.forget_permissions()
            last = None if self.refusals.take_change(world.name) else memory.rejection
            memory.rejection = Rejection.next(last, world, error)
            is_deleted = await self.conflicts.watch(world.name, error.conflicting_objects)
            await self.refusals.watch(world.name, error.refused_in, permissions=world.account is not None)
            error.after = RECHECK_DELAY if is_deleted else memory.rejection.after
            raise
        except Waiting:
            if world.deployment.metadata.deleting:  # a refused deletion
                memory.forget_permissions()
            raise
        except Forbidden:  # of a read before a write, or of a removal
            memory.forget_permissions()
            raise
        if not isinstance(plan, ReadUsage | ListForeignObjects):  # what they read decides whether permissions suffice
            await self.conflicts.forget(world.name)
            await self.refusals.forget(world.name)
        return done

    def memory(self, world: World) -> Memory:
        """The Memory of a BundleDeployment, to record something in it."""
        return self.memories.setdefault(world.name, Memory(world.uid))

    async def _release(self, name: str) -> None:
        memory = self.memories.pop(name, None)
        self.event_mapper.interests.pop(name, None)
        self.render_cache.forget(name)
        self.charts.retain(name)
        self.existing_objects.forget(name)
        await self.conflicts.forget(name)
        await self.refusals.forget(name)
        await self.conversions.forget(name)
        await self.pods.forget(name)
        await self.accounts.forget(name)
        if memory is not None:
            await self.inventory.forget(memory.uid)

    async def _act(self, world: World, plan: Plan, memory: Memory) -> Done:
        match plan:
            case UpdateInventory() | ApplyBundle() | CopyConditions() | WriteCertificates() | Apply():
                return await self._write(world, plan, memory)
            case RenderChart():
                await self.charts.start(plan.inputs)
                return Done(plan, CONTENT_RETRY_DELAY)
            case (
                CheckPermissions()
                | CheckRemovalPermissions()
                | CheckExistingObjects()
                | ListForeignObjects()
                | ReadUsage()
            ):
                return Done(plan, NO_DELAY, left=await self._read(world, plan, memory))
            case (
                Activate()
                | Announce()
                | BeginRevision()
                | ForgetNotes()
                | RecordNamespaces()
                | RecordTemplates()
                | RollBack()
            ):
                return Done(plan, NO_DELAY)  # only the status changes
            case Keep():
                self.existing_objects.forget(world.name)
                self.render_cache.drop_bodies(world.name)
                self.charts.retain(world.name, [chart.inputs.place for chart in world.charts])
                return Done(plan, plan.after)
            case RemoveFinalizer():
                await self.deleter.remove_finalizer(world)
                return Done(plan)
            case _:
                await self._delete(world, plan, memory)
                return Done(plan, RECHECK_DELAY)

    async def _write(
        self,
        world: World,
        plan: UpdateInventory | ApplyBundle | CopyConditions | WriteCertificates | Apply,
        memory: Memory,
    ) -> Done:
        match plan:
            case UpdateInventory():
                return Done(plan, NO_DELAY, written=await self.applier.update_inventory(world, plan))
            case ApplyBundle():
                return await self.applier.apply_bundle(world, plan)
            case CopyConditions():
                memory.uncopied = {**world.uncopied, plan.uid: await self.applier.copy_conditions(world, plan)}
                return Done(plan, NO_DELAY)
            case WriteCertificates():
                return await self.certificates.write(world, plan, memory.last_applied)
            case Apply():
                return await self.applier.apply(world, plan, memory.last_applied)

    async def _check_permissions(self, world: World, plan: CheckPermissions, memory: Memory) -> None:
        """Record that the account has all permissions. Raises ApplyRejected with those that it lacks."""
        namespaces = namespace_permissions(world, plan.content)
        if missing := await self.permissions.missing(world, plan.content.permissions, namespaces):
            raise lacking_permissions(world, plan.content, missing)
        memory.permitted, memory.is_refused = frozenset({plan.identity}), False

    async def _check_removal(self, world: World, plan: CheckRemovalPermissions, memory: Memory) -> tuple[str, ...]:
        """Record that the account may remove everything, or what an abandoned deletion leaves behind, which is returned. Raises
        ApplyRejected with the permissions that it lacks."""
        kinds = self.deleter.rest_mapper

        def resource_of(group_kind: tuple[str, str]) -> str:
            kind = kinds.storage_kind(group_kind)
            return kind.plural if kind is not None else ""

        rights = {right for each in plan.removals if (right := right_of(each, resource_of)) is not None}
        missing = await self.permissions.missing_of(world, rights | listing_rights(plan.unlisted))
        found = lacking(plan, missing, resource_of)
        if found.rights and not (world.abandoned and world.deployment.metadata.deleting):
            raise lacking_to_remove(world, found)
        memory.failed_deletions.update({each.uid: MAX_FAILED_DELETIONS for each in found.removals})
        memory.permitted |= {plan.identity}
        return tuple(found.names)

    async def _read(
        self,
        world: World,
        plan: CheckPermissions | CheckRemovalPermissions | CheckExistingObjects | ListForeignObjects | ReadUsage,
        memory: Memory,
    ) -> tuple[str, ...]:
        """Read facts that the next decision depends on, or begin to read them. Returns what is left behind."""
        match plan:
            case CheckRemovalPermissions():
                return await self._check_removal(world, plan, memory)
            case CheckPermissions():
                await self._check_permissions(world, plan, memory)
            case CheckExistingObjects():
                await self.existing_objects.start(world, plan)
            case ListForeignObjects():
                listed = {entry.uid: await self.usage.foreign_objects(world, entry.name) for entry in plan.namespaces}
                memory.foreign_objects = {**world.foreign_objects, **listed}
            case ReadUsage():
                memory.usage = await self.usage.usage(plan)
        return ()

    async def _delete(
        self, world: World, plan: DeleteBundles | Prune | DeleteObjects | LeaveNamespaces, memory: Memory
    ) -> None:
        match plan:
            case DeleteBundles():
                await self.deleter.delete_bundles(world, plan)
            case Prune():
                # When it is applied again, that is no drift: not even if a later request of the same removal fails.
                for key in plan.keys:
                    memory.last_applied.pop(key, None)
                await self.deleter.prune(world, plan)
            case DeleteObjects():
                await self.deleter.delete_objects(world, plan, memory.failed_deletions)
            case LeaveNamespaces():
                await self.deleter.leave_namespaces(world, plan, memory.failed_deletions)
