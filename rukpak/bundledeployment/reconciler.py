"""Reconciles BundleDeployments: runs the five steps in order, and publishes.

Changes only the status; rukpak.bundledeployment.act carries out Plans, and rukpak.bundledeployment.observe observes. A pass over
an unchanged object sends no request.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from olmkit.runtime.reconciler import Reconciler
from olmkit.runtime.status_publisher import Publisher
from olmkit.stored_times import time_left
from rukpak.bundledeployment.act import BundleDeploymentActions, Memory
from rukpak.bundledeployment.cluster.rest_mapper import RestMapper
from rukpak.bundledeployment.cost import remaining_cost
from rukpak.bundledeployment.count_schedule import NO_DELAY, time_to_count
from rukpak.bundledeployment.decide import decide
from rukpak.bundledeployment.delays import SYNC_POLL_DELAY
from rukpak.bundledeployment.evaluation import Evaluation
from rukpak.bundledeployment.events import EventMapper
from rukpak.bundledeployment.observe import PODS_READ_AFTER, Observer
from rukpak.bundledeployment.plan import Done, Plan, Release
from rukpak.bundledeployment.render_cache import RenderCache
from rukpak.bundledeployment.report import BundleDeploymentReport, report
from rukpak.bundledeployment.revisions.history import time_to_deadline
from rukpak.bundledeployment.world import DeletedWorld, World


@dataclass(frozen=True)
class BundleDeploymentReconciler:
    """Publishes; `observer` observes, and `actions` carries out Plans."""

    observer: Observer
    actions: BundleDeploymentActions
    rest_mapper: RestMapper
    render_cache: RenderCache
    event_mapper: EventMapper
    publisher: Publisher
    enqueue_after: Callable[[str, timedelta], None]
    """Called with a key and the time to its next pass, in addition to the time that the pass returns."""
    on_missing_content: Callable[[str], None]
    """Called with the name of a Bundle whose content is missing or damaged."""

    @property
    def memories(self) -> dict[str, Memory]:
        """The Memory of each BundleDeployment for which a pass has acted or published, by name."""
        return self.actions.memories

    def steps(
        self,
    ) -> Reconciler[World | DeletedWorld, Plan | Release, Evaluation, Done, BundleDeploymentReport | None]:
        """The pass over one BundleDeployment."""
        return Reconciler(self.observer.observe, decide, self.actions.act, report, self.publish)

    def cost(self, key: str) -> int:
        """The cost of the objects that a BundleDeployment still has to apply, as far as this process knows."""
        memory = self.memories.get(key)
        return memory.cost if memory is not None else 0

    def start_leading(self) -> None:
        """Forget facts that another leader may have changed."""
        self.publisher.reset()
        self.memories.update({key: Memory(memory.uid) for key, memory in self.memories.items()})

    async def publish(self, world: World | DeletedWorld, status_report: BundleDeploymentReport | None) -> None:
        """Record the observations that later passes need, and the changes that enqueue them. Then write the report, if there is
        one."""
        if isinstance(world, DeletedWorld):
            return
        self._remember(world, status_report)
        self._schedule(world, status_report)
        if status_report is not None:
            await self.publisher(status_report.raw, status_report)

    def _remember(self, world: World, status_report: BundleDeploymentReport | None) -> None:
        """Record the facts that the next pass does not have to read again."""
        memory = self.actions.memory(world)
        memory.last_applied = memory.last_applied or dict(world.last_applied)  # restored, and nothing was done
        memory.cost = remaining_cost(world, memory.last_applied)
        memory.brief_wait_since = status_report.brief_wait_since if status_report is not None else None
        memory.unhealthy_since, memory.refused_since = world.unhealthy_since, world.refused_since
        if memory.usage is world.usage:  # what a pass has decided from is read again
            memory.usage = {}
        memory.has_no_custom_resources = world.custom_resources == () and world.deletion_policy == "Cascade"
        memory.custom_resource_counts = world.custom_resource_counts

    def _schedule(self, world: World, status_report: BundleDeploymentReport | None) -> None:
        """Enqueue the passes that are due at a certain time, whatever the outcome is, and record which changes enqueue other
        passes.

        The times count from the time of the World. Work that has become due since then was not done by this pass, and needs
        another pass.
        """
        now = world.now
        until_count = time_to_count(world.deployment, world.custom_resource_counts, now)
        history = status_report.status.history if status_report is not None else None
        until_deadline = time_to_deadline(history or (), world.progress_deadline, now)
        for until in filter(None, (until_count, until_deadline)):
            self.enqueue_after(world.name, max(until, SYNC_POLL_DELAY))
        if world.unhealthy_since is not None and (
            remaining := time_left(world.unhealthy_since, PODS_READ_AFTER, world.now)
        ):
            self.enqueue_after(world.name, remaining)
        if self.event_mapper.record(world.name, world.interests, world.changes_before):
            self.enqueue_after(world.name, NO_DELAY)
        if any(content.missing_kinds or content.too_old for content in world.contents):
            self.rest_mapper.expect_changes()
        for bundle in self.render_cache.take_missing(world.name):
            self.on_missing_content(bundle)
