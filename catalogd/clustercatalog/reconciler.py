"""Reconciles ClusterCatalogs: observes one, runs the five steps, and writes its status.

Reads informers and the store. Writes only the status; act carries out Plans.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime

from catalogd.clustercatalog.act import ClusterCatalogActions
from catalogd.clustercatalog.decide import decide
from catalogd.clustercatalog.report import report
from catalogd.clustercatalog.world import Done, Evaluation, ObservedCatalog, Plan, World
from catalogd.storage.catalog_store import CatalogStore
from olmkit.api.clustercatalogs import ClusterCatalog, ClusterCatalogStatus
from olmkit.api.conditions import StatusReport
from olmkit.runtime.foreign_leaders import ForeignLeaders
from olmkit.runtime.orphaning import OrphaningObjects
from olmkit.runtime.reconciler import Reconciler
from olmkit.runtime.status_publisher import Publisher


@dataclass(frozen=True)
class ClusterCatalogReconciler:
    """Observes and publishes; `actions` carries out Plans. `base_url` is the URL that catalogs are served below."""

    actions: ClusterCatalogActions
    publisher: Publisher
    store: CatalogStore
    leaders: ForeignLeaders
    base_url: str
    orphaning: OrphaningObjects = field(default_factory=OrphaningObjects)

    def steps(self) -> Reconciler[World, Plan, Evaluation, Done, StatusReport[ClusterCatalogStatus] | None]:
        """The pass over one ClusterCatalog."""
        return Reconciler(self.observe, decide, self.actions.act, report, self.publish)

    async def observe(self, key: str) -> World | None:
        """The World of a ClusterCatalog; None if it does not exist."""
        raw = self.actions.cluster_catalogs.get(key)
        if raw is None:
            return None
        cluster_catalog, existing = ClusterCatalog.load(raw), self.actions.catalogs.get(key)
        return World(
            now=datetime.now(UTC),
            raw=raw,
            cluster_catalog=cluster_catalog,
            existing=ObservedCatalog.load(existing) if existing is not None else None,
            is_served=self.store.get(key) is not None,
            leader=await self.leaders.state(),
            base_url=self.base_url,
            was_orphaning=cluster_catalog.metadata.uid in self.orphaning,
        )

    async def publish(self, world: World, status_report: StatusReport[ClusterCatalogStatus] | None) -> None:
        """Write the report, if there is one. Raises NotFound when the ClusterCatalog is deleted."""
        if status_report is not None:
            await self.publisher(world.raw, status_report)
