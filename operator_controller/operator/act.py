"""Carries out the Plan of one Operator: at most one write to the API server.

Decides nothing: the Plan contains the action.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from types import MappingProxyType
from typing import Any
from uuid import uuid4

from olmkit.api import bundledeployments, operators
from olmkit.api.bundle_annotations import BUNDLE_NAME_ANNOTATION
from olmkit.api.bundledeployment_status import COUNT_ANNOTATION
from olmkit.api.bundledeployments import DELETION_HOLD_ANNOTATION, PLANNED_BUNDLE_ANNOTATION
from olmkit.api.meta import Object
from olmkit.api.operators import ADOPT_ANNOTATION, DELETION_PROTECTION_ANNOTATION, INSTALLED_FOR_LABEL, PROTECTED
from olmkit.api.ownership import OPERATOR_CONTROLLER
from olmkit.errors import NotFound
from olmkit.runtime.client import Client
from olmkit.runtime.owned_objects import OwnedObjects
from operator_controller.operator.bundle_deployment import foreign_fields, replaced_fields
from operator_controller.operator.dependencies import count_request
from operator_controller.operator.events import Informers
from operator_controller.operator.world import (
    AddFinalizer,
    AdoptBundleDeployment,
    ApplyBundleDeployment,
    CreateDependency,
    DeleteBundleDeployment,
    DeleteDependency,
    DependencyPlan,
    Done,
    HoldDeletion,
    Keep,
    ObservedBundleDeployment,
    Plan,
    ProtectDeployment,
    RecordPlan,
    ReleaseBundleDeployment,
    RemoveDependencyLabel,
    RemoveFinalizer,
    RequestCount,
    WithdrawCount,
    World,
)

NO_DELAY = timedelta(0)

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class OperatorActions:
    """Makes all writes of this controller except status writes, and records them in the informers."""

    client: Client
    informers: Informers

    @property
    def _deployments(self) -> OwnedObjects:
        return OwnedObjects(self.client, self.informers.deployments)

    async def act(self, world: World, plan: Plan) -> Done:
        """Carry out the Plan. Raises ApiError."""
        match plan:
            case AddFinalizer(finalizers) | RemoveFinalizer(finalizers):
                await OwnedObjects(self.client, self.informers.operators).set_finalizers(
                    world.operator.metadata, finalizers
                )
                return Done(plan)
            case ApplyBundleDeployment(deployment, after):
                await self._replace(world, deployment)
                applied = await self.client.apply(bundledeployments.KIND, dict(deployment), OPERATOR_CONTROLLER)
                if foreign := foreign_fields(ObservedBundleDeployment.load(applied), deployment):
                    applied = await self._patch_spec(applied, foreign)
                self.informers.deployments.record_write(applied)
                _log_applied(world, applied)
                return Done(plan, after)
            case AdoptBundleDeployment():
                await self._set_owners(plan, {"annotations": {ADOPT_ANNOTATION: None}})
                log.info("took over BundleDeployment %s, which no object owned", plan.name)
                return Done(plan)
            case ReleaseBundleDeployment():
                await self._set_owners(plan, {})
                log.info("left BundleDeployment %s (the Operator is deleted without its dependents)", plan.name)
                return Done(plan)
            case DeleteBundleDeployment():
                if await self._deployments.delete(plan.name, plan.uid, plan.resource_version):
                    log.info("deleted BundleDeployment %s (the Operator is being deleted)", plan.name)
                return Done(plan)
            case Keep(after):
                return Done(plan, after)
            case CreateDependency() | RemoveDependencyLabel():
                await self._act_on_dependencies(world, plan)
                return Done(plan, NO_DELAY)  # the change of another Operator does not enqueue this one
            case _:
                await self._act_on_dependencies(world, plan)
                return Done(plan)

    async def _act_on_dependencies(self, world: World, plan: DependencyPlan) -> None:
        match plan:
            case CreateDependency(operator):
                created = await self.client.apply(operators.KIND, dict(operator), OPERATOR_CONTROLLER)
                self.informers.operators.record_write(created)
                name, required_by = created["metadata"]["name"], world.operator.metadata.name
                log.info("created Operator %s, which Operator %s requires", name, required_by)
            case RemoveDependencyLabel(names):
                for name in names:
                    await self._keep(name)
            case RequestCount(name, uid):
                await self._annotate(name, uid, COUNT_ANNOTATION, count_request(world.now, uuid4().hex))
            case WithdrawCount(name, uid):
                await self._annotate(name, uid, COUNT_ANNOTATION, None)
            case HoldDeletion():
                await self.hold_deletion(plan)
            case ProtectDeployment(name, uid, is_protected):
                await self._annotate(name, uid, DELETION_PROTECTION_ANNOTATION, PROTECTED if is_protected else None)
            case RecordPlan(name, uid, record):
                await self._annotate(name, uid, PLANNED_BUNDLE_ANNOTATION, record or None)
            case DeleteDependency(name, uid, resource_version):
                with suppress(NotFound):
                    await self.client.delete(operators.KIND, name, uid=uid, resource_version=resource_version)
                    log.info("deleted Operator %s: nothing requires it any more", name)

    async def hold_deletion(self, plan: HoldDeletion) -> None:
        """Write the annotation that holds the deletion of a BundleDeployment, or remove it. Raises ApiError."""
        await self._annotate(plan.name, plan.uid, DELETION_HOLD_ANNOTATION, plan.reason or None)

    async def _keep(self, dependency: str) -> None:
        body = {"metadata": {"labels": {INSTALLED_FOR_LABEL: None}}}
        with suppress(NotFound):
            self.informers.operators.record_write(await self.client.patch(operators.KIND, dependency, body))
            log.info("Operator %s is no dependency any more: it stays also if nothing requires it", dependency)

    async def _annotate(self, name: str, uid: str, annotation: str, value: str | None) -> None:
        """Set an annotation of a BundleDeployment; None removes it."""
        body = {"metadata": {"uid": uid, "annotations": {annotation: value}}}
        with suppress(NotFound):
            self.informers.deployments.record_write(await self.client.patch(bundledeployments.KIND, name, body))

    async def _replace(self, world: World, desired: Mapping[str, Any]) -> None:
        """Replace what an apply would keep of a BundleDeployment that was taken over: another source, of which the API server
        accepts one only, and everything if it has another account. Raises Conflict if others have changed it since."""
        existing = world.bundle_deployment
        if existing is not None and (change := replaced_fields(existing.raw, desired)):
            version = {"resourceVersion": existing.model.metadata.resource_version}
            self.informers.deployments.record_write(await self._patch_spec(existing.raw, change, version))

    async def _patch_spec(
        self,
        deployment: Mapping[str, Any],
        change: Mapping[str, object],
        version: Mapping[str, str] = MappingProxyType({}),
    ) -> Object:
        metadata = deployment["metadata"]
        body = {"metadata": {"uid": metadata["uid"], **version}, "spec": dict(change)}
        return await self.client.patch(bundledeployments.KIND, metadata["name"], body)

    async def _set_owners(
        self, plan: AdoptBundleDeployment | ReleaseBundleDeployment, change: Mapping[str, object]
    ) -> None:
        identity = {"uid": plan.uid, "resourceVersion": plan.resource_version}
        await self._deployments.set_owners(plan.name, identity, plan.owners, change)


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
