"""Carries out one Plan of a BundleDeployment. Called by rukpak.bundledeployment.reconciler; decides nothing.

Requests are sent by applier and deleter; what a process has to remember of them is written to its Memory.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta

from rukpak.bundledeployment.applier import Applier
from rukpak.bundledeployment.conflict_watch import ConflictWatch
from rukpak.bundledeployment.deleter import Deleter
from rukpak.bundledeployment.memory import Memory, Rejection
from rukpak.bundledeployment.plan import (
    Activate,
    AddFinalizer,
    Announce,
    Apply,
    ApplyBundle,
    DeleteBundles,
    DeleteObjects,
    Done,
    LeaveNamespaces,
    NothingToDo,
    Plan,
    Prune,
    RemoveFinalizer,
    UpdateInventory,
)
from rukpak.bundledeployment.render_cache import RenderCache
from rukpak.bundledeployment.world import ApplyRejected, World

NO_DELAY = timedelta(0)
RECHECK_DELAY = timedelta(seconds=1)
"""To the pass that observes whether objects have been deleted, or a conflicting object is gone."""


@dataclass(frozen=True)
class BundleDeploymentActions:
    """Acts for all BundleDeployments; `memories` by name, filled by rukpak.bundledeployment.reconciler."""

    applier: Applier
    deleter: Deleter
    conflicts: ConflictWatch
    render_cache: RenderCache
    memories: dict[str, Memory] = field(default_factory=dict)

    async def act(self, world: World, plan: Plan) -> Done:
        """One step. Raises what its requests raise; what is rejected repeatedly is retried at growing intervals."""
        memory = self.memories[world.name]
        try:
            done = await self._act(world, plan, memory)
        except ApplyRejected as error:
            memory.rejection = Rejection.next(memory.rejection, world, error)
            is_gone = await self.conflicts.watch(world.name, error.conflicting_objects)
            error.after = RECHECK_DELAY if is_gone else memory.rejection.after
            raise
        await self.conflicts.forget(world.name)
        return done

    async def _act(self, world: World, plan: Plan, memory: Memory) -> Done:
        match plan:
            case AddFinalizer():
                memory.latest = await self.applier.add_finalizer(world)
            case UpdateInventory():
                memory.latest = await self.applier.update_inventory(world, plan)
            case ApplyBundle():
                return await self.applier.apply_bundle(world, plan)
            case Apply():
                return await self.applier.apply(world, plan, memory.last_applied)
            case Activate() | Announce():
                pass  # the status is all that changes
            case NothingToDo():
                self.render_cache.drop_bodies(world.name)
                return Done(plan, plan.after)
            case RemoveFinalizer():
                await self.deleter.remove_finalizer(world)
                memory.is_finalized = True
                return Done(plan)
            case _:
                await self._delete(world, plan, memory)
                return Done(plan, RECHECK_DELAY)
        return Done(plan, NO_DELAY)

    async def _delete(
        self, world: World, plan: DeleteBundles | Prune | DeleteObjects | LeaveNamespaces, memory: Memory
    ) -> None:
        match plan:
            case DeleteBundles():
                await self.deleter.delete_bundles(plan)
            case Prune():
                await self.deleter.prune(world, plan)
                for entry in plan.objects:
                    memory.last_applied.pop(entry.key, None)  # when it is applied again, that is no drift
            case DeleteObjects():
                await self.deleter.delete_objects(world, plan, memory.failed_deletions)
            case LeaveNamespaces():
                await self.deleter.leave_namespaces(world, plan, memory.failed_deletions)
