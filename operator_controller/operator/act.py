"""Carries out the Plan of one Operator: at most one write to the API server.

Called by olmkit.runtime.reconciler after each decision. Decides nothing: what to do is in the Plan.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

from olmkit.api import bundledeployments, operators
from olmkit.api.bundledeployments import BUNDLE_NAME_ANNOTATION
from olmkit.api.meta import Object
from olmkit.errors import NotFound
from olmkit.runtime.client import Client
from operator_controller.operator.informers import Informers
from operator_controller.operator.world import (
    AddFinalizer,
    ApplyBundleDeployment,
    DeleteBundleDeployment,
    Done,
    Keep,
    ObservedBundleDeployment,
    Plan,
    RemoveFinalizer,
    World,
)

FIELD_MANAGER = "operator-controller"

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class OperatorActions:
    """Makes all writes of this controller except that of the status, and records them in the informers."""

    client: Client
    informers: Informers

    async def act(self, world: World, plan: Plan) -> Done:
        """Carry out the Plan. Raises ApiError."""
        match plan:
            case AddFinalizer(finalizers) | RemoveFinalizer(finalizers):
                await self._set_finalizers(world, finalizers)
                return Done(plan)
            case ApplyBundleDeployment(deployment, after):
                applied = await self.client.apply(bundledeployments.KIND, dict(deployment), FIELD_MANAGER)
                self.informers.deployments.record_write(applied)
                _log_applied(world, applied)
                return Done(plan, after)
            case DeleteBundleDeployment(name, uid):
                await self._delete(name, uid)
                return Done(plan)
            case Keep(after):
                return Done(plan, after)

    async def _set_finalizers(self, world: World, finalizers: tuple[str, ...]) -> None:
        metadata = world.operator.metadata
        change = {"resourceVersion": metadata.resource_version, "finalizers": list(finalizers)}
        try:
            patched = await self.client.patch(operators.KIND, metadata.name, {"metadata": change})
        except NotFound:
            return
        if finalizers or not metadata.deleting:  # without its last finalizer it is deleted already
            self.informers.operators.record_write(patched)

    async def _delete(self, name: str, uid: str) -> None:
        try:
            await self.client.delete(bundledeployments.KIND, name, uid=uid)
        except NotFound:
            return
        log.info("deleted BundleDeployment %s (the Operator is being deleted)", name)


def _log_applied(world: World, applied: Object) -> None:
    """Log what an apply changed; nothing if the API server found no difference."""
    before = world.bundle_deployment
    if before is not None and before.model.metadata.resource_version == applied["metadata"]["resourceVersion"]:
        return
    after = ObservedBundleDeployment.load(applied)
    name, bundle = after.model.metadata.name, after.annotations.get(BUNDLE_NAME_ANNOTATION, "")
    if before is None and world.operator.status.installed is not None:
        log.info("recreated BundleDeployment %s (bundle %s), which had been deleted", name, bundle)
        return
    log.info("%s BundleDeployment %s (bundle %s)", "changed" if before else "created", name, bundle)
