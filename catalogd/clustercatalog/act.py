"""Carries out the Plan of one ClusterCatalog: at most two writes to the API server. Decides nothing."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from catalogd.clustercatalog.world import (
    AdoptCatalog,
    ApplyCatalog,
    DeleteCatalog,
    Done,
    Keep,
    Plan,
    Prepare,
    ReleaseCatalog,
    SetFinalizers,
    StandAside,
    World,
)
from olmkit.api import catalogs
from olmkit.api.clustercatalogs import ADOPT_ANNOTATION
from olmkit.api.clusterextensions import OWNER_KIND_LABEL
from olmkit.runtime.client import Client
from olmkit.runtime.informer import Informer
from olmkit.runtime.owned_objects import OwnedObjects

FIELD_MANAGER = "catalogd-clustercatalog"
"""Not the one of Catalogs: an apply as that would remove the label with the name."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ClusterCatalogActions:
    """Makes all writes of this controller except status writes, and records them in the informers."""

    client: Client
    cluster_catalogs: Informer
    catalogs: Informer

    async def act(self, world: World, plan: Plan) -> Done:
        """Carry out the Plan. Raises ApiError."""
        metadata = world.cluster_catalog.metadata
        match plan:
            case Prepare(finalizers, labels):
                await self._own.set_finalizers(metadata, finalizers, {"labels": dict(labels)})
            case SetFinalizers(finalizers):
                await self._own.set_finalizers(metadata, finalizers)
            case ApplyCatalog(catalog, replaced):
                await self._apply(world, catalog, replaced)
            case AdoptCatalog(identity, owners):
                change = {"annotations": {ADOPT_ANNOTATION: None}}
                await self._owned.set_owners(world.name, identity, owners, change)
                log.info("took over a Catalog, which no object owned", extra={"catalog": world.name})
            case ReleaseCatalog(identity, owners):
                await self._owned.set_owners(world.name, identity, owners, {"labels": {OWNER_KIND_LABEL: None}})
                log.info("left a Catalog (its ClusterCatalog is deleted without it)", extra={"catalog": world.name})
            case DeleteCatalog(uid, resource_version):
                if await self._owned.delete(world.name, uid, resource_version):
                    log.info("deleted a Catalog (its ClusterCatalog is being deleted)", extra={"catalog": world.name})
            case Keep() | StandAside():
                pass
        return Done(plan)

    @property
    def _own(self) -> OwnedObjects:
        return OwnedObjects(self.client, self.cluster_catalogs)

    @property
    def _owned(self) -> OwnedObjects:
        return OwnedObjects(self.client, self.catalogs)

    async def _apply(self, world: World, catalog: Mapping[str, Any], replaced: Mapping[str, Any]) -> None:
        if replaced and world.existing is not None:
            metadata = {**replaced.get("metadata", {}), **world.existing.identity}
            patched = await self.client.patch(catalogs.KIND, world.name, {**replaced, "metadata": metadata})
            self.catalogs.record_write(patched)
        self.catalogs.record_write(await self.client.apply(catalogs.KIND, dict(catalog), FIELD_MANAGER))
