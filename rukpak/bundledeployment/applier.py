"""Makes and changes what was decided for one BundleDeployment: its finalizer and inventory, its Bundle, its objects.

Called by rukpak.bundledeployment.reconciler. Every write may be the last one before a kill: what is made carries the owner-uid
label from its first moment, what is changed is named by its uid, and nothing is taken over from others. Never retries: what
came of a write is seen in the next pass.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson

from olmkit.api import bundledeployments, bundles
from olmkit.api.bundledeployments import FINALIZER, INVENTORY_ANNOTATION, OWNER_UID_LABEL, Reason
from olmkit.api.meta import Kind, Object, apply_precondition
from olmkit.errors import ApiError, OlmError, Waiting
from olmkit.runtime.client import Client
from rukpak.bundledeployment import inventory, transforms
from rukpak.bundledeployment.apply_errors import CHANGED_RETRY_DELAY, CONFLICT_RETRY_DELAY, ApplyErrors, combine
from rukpak.bundledeployment.inventory import Inventory
from rukpak.bundledeployment.observe import Informers
from rukpak.bundledeployment.plan import Apply, ApplyBundle, Done, ObjectChange, PhaseStep, UpdateInventory, Verb
from rukpak.bundledeployment.render_cache import Bodies, RenderCache
from rukpak.bundledeployment.rest_mapper import RestMapper
from rukpak.bundledeployment.shared_namespaces import namespace_body
from rukpak.bundledeployment.world import (
    CRD,
    NAMESPACE,
    BriefWait,
    LastApplied,
    RenderedObject,
    World,
    manager_name,
)
from rukpak.format.objects import ObjectKey

MAX_CONCURRENT_REQUESTS = 16
"""Requests under way for all BundleDeployments together."""

DELETED = "somebody deleted it"
"""Why an object is made again."""

Notes = dict[ObjectKey, LastApplied]

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Pass:
    """What one apply needs to know; `notes`, `applied` and `changes` are added to."""

    world: World
    plan: Apply
    bodies: Bodies
    notes: Notes
    applied: set[ObjectKey] = field(default_factory=set)
    changes: list[ObjectChange] = field(default_factory=list)


@dataclass(frozen=True)
class Applier:
    """Writes for all BundleDeployments."""

    client: Client
    kinds: RestMapper
    contents: RenderCache
    inventory: Inventory
    sight: Informers
    holder: Callable[[str], str]
    """The name of the BundleDeployment of a uid, empty when there is none."""
    limit: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MAX_CONCURRENT_REQUESTS))

    async def add_finalizer(self, world: World) -> Object:
        """Returns the BundleDeployment as it is now. Raises Conflict."""
        return await self._patch(world, {"finalizers": [*world.deployment.metadata.finalizers, FINALIZER]})

    async def set_inventory(self, world: World, plan: UpdateInventory) -> Object:
        """Write the annotation; returns the BundleDeployment as it is now. Raises Conflict."""
        return await self._patch(
            world, {"annotations": {INVENTORY_ANNOTATION: inventory.format_annotation(plan.kinds) or None}}
        )

    async def _patch(self, world: World, metadata: Mapping[str, Any]) -> Object:
        body = {"metadata": {"resourceVersion": world.deployment.metadata.resource_version, **metadata}}
        result = await self.client.patch(bundledeployments.KIND, world.name, body)
        self.sight.deployments.record_write(result)
        return result

    async def apply_bundle(self, world: World, plan: ApplyBundle) -> Done:
        """Make the Bundle or bring it up to date. Returns it as a change when it is the active one and was gone.

        Raises Conflict when another one stands there.
        """
        body: Object = dict(plan.body)
        name = body["metadata"]["name"]
        precondition = apply_precondition(None if plan.is_new else world.bundles[name].uid)
        body["metadata"] = {**body["metadata"], **precondition}
        self.sight.bundles.record_write(await self.client.apply(bundles.KIND, body, manager_name(world.name)))
        if plan.is_new and name == world.active_bundle:
            change = ObjectChange(ObjectKey(bundles.KIND.group, bundles.KIND.kind, "", name), Verb.RECREATED, DELETED)
            log.info("%s", change)
            return Done(plan, timedelta(), changes=(change,))
        log.info("%s Bundle %s", "created" if plan.is_new else "changed", name)
        return Done(plan, timedelta())

    async def apply(self, world: World, plan: Apply, notes: Notes) -> Done:
        """Apply stage after stage; stops at the first that fails. Returns what was applied and changed, and notes it.

        Raises Refused with what was applied before, Waiting, Settling, or the ApiError of a request that may succeed later.
        """
        try:
            bodies = await self.contents.bodies(plan.content, world.name)
        except KeyError:
            raise Waiting(Reason.UNPACK_PENDING, "content unavailable", CONFLICT_RETRY_DELAY) from None
        turn = _Pass(world, plan, bodies, notes)
        for step in plan.steps:
            # The apply of a single object is as good a try as its dry-run.
            if plan.dry_run_first and len(step.items) > 1:
                await self._each(turn, step, dry_run=True)
            await self._each(turn, step, dry_run=False)
        return Done(plan, timedelta(), applied=frozenset(turn.applied), changes=tuple(sorted(turn.changes)))

    async def _each(self, turn: _Pass, step: PhaseStep, *, dry_run: bool) -> None:
        work = [self._apply_one(turn, item, dry_run) for item in step.items]
        results = await asyncio.gather(*work, return_exceptions=True)
        failed: dict[ObjectKey, Exception] = {}
        for item, result in zip(step.items, results, strict=True):
            if isinstance(result, OlmError | ApiError):
                failed[item.key] = result
            elif isinstance(result, BaseException):
                raise result
        if failed:
            raise combine(failed, frozenset(turn.applied))

    async def _apply_one(self, turn: _Pass, item: RenderedObject, dry_run: bool) -> None:
        kind = self.kinds.kind_for(item.api_version, item.key.kind)
        if kind is None:
            raise BriefWait(
                Reason.WAITING_FOR_KIND, f"{item.key}: waiting until its kind is served", CHANGED_RETRY_DELAY
            )
        body, manager = _body(turn, item), manager_name(turn.world.name)
        try:
            async with self.limit:
                result = await self.client.apply(kind, body, manager, dry_run=dry_run)
        except ApiError as error:
            await ApplyErrors(self.client, self.holder).explain(turn.world.uid, kind, body, error)
            raise
        if not dry_run:
            self._saw(kind, result)
            entry = transforms.applied_fields(result).get(manager, "")
            _log_change(turn, item, result["metadata"], entry)
            _note(turn, item, entry)

    def _saw(self, kind: Kind, result: Object) -> None:
        if kind.group_kind == NAMESPACE:
            self.sight.namespaces.record_write(result)
        else:
            self.inventory.record_write(kind, result)


def _log_change(turn: _Pass, item: RenderedObject, result: Mapping[str, Any], entry: str) -> None:
    """What the apply did to the object; nothing when the API server found nothing to change.

    `entry`: the hash of our fields after it. A repair takes fields back. Where our fields are those that were seen before it,
    others took over what is theirs now (as a scaler takes spec.replicas), and the resourceVersion moved by a write of others.
    """
    world, note = turn.world, turn.notes.get(item.key)
    known = world.namespaces.get(item.key.name) if item.key[:2] == NAMESPACE else world.labeled.get(item.key)
    if known is not None and known.resource_version == result["resourceVersion"]:
        return
    is_drift, bundle = note is not None and note.digest == item.digest, f"bundle {turn.plan.content.bundle}"
    if is_drift and known is not None and known.applied_fields.get(manager_name(world.name), "") == entry:
        return
    if known is None:
        verb, why = (Verb.RECREATED, DELETED) if is_drift else (Verb.CREATED, bundle)
    else:
        verb, why = (
            (Verb.REVERTED, f"changed by {known.last_changed_by or 'somebody'}") if is_drift else (Verb.CHANGED, bundle)
        )
    change = ObjectChange(item.key, verb, why, is_first=note is None or note.quick_reverts == 0)
    turn.changes.append(change)
    log.info("%s", change)


def _note(turn: _Pass, item: RenderedObject, entry: str) -> None:
    now, old = datetime.now(UTC), turn.notes.get(item.key)
    turn.notes[item.key] = old.next(item.digest, entry, now) if old else LastApplied(item.digest, entry, now)
    turn.applied.add(item.key)


def _body(turn: _Pass, item: RenderedObject) -> Object:
    """The object as it is sent: labelled, and tied to what was seen of it (or to there being nothing)."""
    world = turn.world
    if item.key[:2] == NAMESPACE:
        wanted = next(entry for entry in turn.plan.content.namespaces if entry.name == item.key.name)
        return namespace_body(wanted, world.namespaces.get(item.key.name), world.uid)
    body: Object = orjson.loads(turn.bodies[item.key])
    metadata = body["metadata"]
    metadata["labels"] = {**(metadata.get("labels") or {}), OWNER_UID_LABEL: world.uid}
    # One that bears our label and was never applied by us is somebody else's: its label is a copy.
    member = world.owned.get(item.key)
    crd = world.crds.get(item.key.name) if item.key[:2] == CRD else None
    uid: str | None = None
    if member is not None:
        uid = member.uid
        if member.is_scaled_by_others and "replicas" in (body.get("spec") or {}):
            del body["spec"]["replicas"]
    elif crd is not None and crd.released_by and not crd.owner_uid:
        uid = crd.uid
    metadata.update(apply_precondition(uid))
    return body
