"""Applies what was decided for one BundleDeployment: its finalizer and inventory, its Bundle, its objects.

The process may be killed after any write: an object carries the owner-uid label from its creation, a change names a uid, and no
object of others is taken over. Never retries: the next pass observes the result.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson

from olmkit.api import bundledeployments, bundles
from olmkit.api.bundledeployments import ADOPTED_ANNOTATION, FINALIZER, INVENTORY_ANNOTATION, OWNER_UID_LABEL, Reason
from olmkit.api.meta import Kind, Object, apply_precondition
from olmkit.api.ownership import former_managers, manager_name
from olmkit.errors import ApiError, Conflict, Forbidden, Invalid, NotFound, OlmError, Waiting
from olmkit.runtime.client import Client
from rukpak.bundledeployment.apply.adoption import Adoption, key_of
from rukpak.bundledeployment.apply.apply_errors import ApplyErrors, combine
from rukpak.bundledeployment.apply.kept_templates import take_over, with_kept
from rukpak.bundledeployment.apply.kept_values import NOTHING_KEPT, KeptValues
from rukpak.bundledeployment.apply.shared_namespaces import namespace_body
from rukpak.bundledeployment.cluster import inventory, transforms
from rukpak.bundledeployment.cluster.informers import Informers
from rukpak.bundledeployment.cluster.inventory import Inventory
from rukpak.bundledeployment.cluster.rest_mapper import RestMapper
from rukpak.bundledeployment.crd_upgrade.held_definitions import held_body
from rukpak.bundledeployment.delays import CHANGED_RETRY_DELAY, CONFLICT_RETRY_DELAY
from rukpak.bundledeployment.drift import next_applied
from rukpak.bundledeployment.identity import Identities
from rukpak.bundledeployment.object_labels import labels_of
from rukpak.bundledeployment.operator_condition import condition_state
from rukpak.bundledeployment.plan import (
    DELETED,
    Apply,
    ApplyBundle,
    CopyConditions,
    Done,
    ObjectChange,
    PhaseStep,
    UpdateInventory,
    Verb,
)
from rukpak.bundledeployment.render_cache import Bodies, RenderCache
from rukpak.bundledeployment.rendered_bundle import RenderedObject
from rukpak.bundledeployment.revisions.bundle_bodies import foreign_annotations
from rukpak.bundledeployment.world import CRD, NAMESPACE, BriefWait, LastApplied, World
from rukpak.certificates.secrets import inject
from rukpak.format.objects import ObjectKey
from rukpak.permissions.needed import BINDINGS

LABEL_REMOVED = f"others had removed its label {OWNER_UID_LABEL}"

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _ApplyPass:
    """The inputs and results of one apply; `last_applied`, `applied` and `changes` are added to."""

    world: World
    plan: Apply
    bodies: Bodies
    last_applied: dict[ObjectKey, LastApplied]
    kept: KeptValues = NOTHING_KEPT
    applied: set[ObjectKey] = field(default_factory=set)
    changes: list[ObjectChange] = field(default_factory=list)


@dataclass(frozen=True)
class Applier:
    """Applies for all BundleDeployments; `limit` is shared with whoever else sends requests."""

    identities: Identities
    rest_mapper: RestMapper
    render_cache: RenderCache
    inventory: Inventory
    informers: Informers
    name_of: Callable[[str], str]
    """The name of the BundleDeployment of a uid, empty when there is none."""
    confirm: Callable[[World, Collection[RenderedObject]], Awaitable[None]]
    """Called before CustomResourceDefinitions are replaced: raises Waiting if that has to be decided again."""
    limit: asyncio.Semaphore

    async def update_inventory(self, world: World, plan: UpdateInventory) -> Object:
        """Write the annotation and the finalizer; returns the BundleDeployment after the write. Raises Conflict."""
        metadata = world.deployment.metadata
        finalizers = metadata.finalizers if FINALIZER in metadata.finalizers else [*metadata.finalizers, FINALIZER]
        change = {
            "resourceVersion": metadata.resource_version,
            "annotations": {INVENTORY_ANNOTATION: inventory.format_annotation(plan.kinds) or None},
            "finalizers": list(finalizers),
        }
        result = await self.identities.own.patch(bundledeployments.KIND, world.name, {"metadata": change})
        self.informers.deployments.record_write(result)
        return result

    async def apply_bundle(self, world: World, plan: ApplyBundle) -> Done:
        """Create or update the Bundle. Returns a change when it is the active one and somebody had deleted it.

        Raises Conflict when another one of that name exists.
        """
        body: Object = dict(plan.body)
        name = body["metadata"]["name"]
        precondition = apply_precondition(None if plan.is_new else world.bundles[name].uid)
        body["metadata"] = {**body["metadata"], **precondition}
        applied = await self.identities.own.apply(bundles.KIND, body, manager_name(world.name))
        foreign = foreign_annotations(applied["metadata"], plan.body["metadata"])
        if foreign and not plan.is_new:  # an apply removes only what this field manager applied before
            removal = {"uid": applied["metadata"]["uid"], "annotations": dict.fromkeys(foreign)}
            applied = await self.identities.own.patch(bundles.KIND, name, {"metadata": removal})
        self.informers.bundles.record_write(applied)
        if plan.is_new and name == world.active_bundle:
            change = ObjectChange(ObjectKey(bundles.KIND.group, bundles.KIND.kind, "", name), Verb.RECREATED, DELETED)
            log.info("%s", change)
            return Done(plan, timedelta(), changes=(change,))
        log.info("%s Bundle %s", "created" if plan.is_new else "changed", name)
        return Done(plan, timedelta())

    async def apply(self, world: World, plan: Apply, last_applied: dict[ObjectKey, LastApplied]) -> Done:
        """Apply phase after phase; stops at the first that fails. Returns what was applied and changed, and adds it to
        `last_applied`.

        Raises ApplyRejected with what was applied before, Waiting, BriefWait, or the ApiError of a request that may yet succeed.
        """
        try:
            bodies = await self.render_cache.bodies(plan.content, world.name)
        except KeyError:
            raise Waiting(Reason.UNPACK_PENDING, "content unavailable", CONFLICT_RETRY_DELAY) from None
        kept = await self._kept_values(world, plan, bodies)
        current = _ApplyPass(world, plan, bodies, last_applied, kept)
        for step in plan.steps:
            if plan.has_dry_run(step):
                await self._each(current, step, dry_run=True)
            if plan.content is world.content:
                await self.confirm(world, step.items)
            await self._each(current, step, dry_run=False)
        return Done(plan, timedelta(), applied=frozenset(current.applied), changes=tuple(sorted(current.changes)))

    async def copy_conditions(self, world: World, plan: CopyConditions) -> str:
        """Write the status of an OperatorCondition. Returns the resourceVersion of which no copy is tried again: that of an
        object whose status the API server refuses, or stores in another form; empty if it is stored. Raises Conflict."""
        kind = self.rest_mapper.storage_kind(plan.key[:2])
        if kind is None:
            return ""
        metadata = {"name": plan.key.name, "namespace": plan.key.namespace, "resourceVersion": plan.resource_version}
        body = {"metadata": metadata, "status": {"conditions": list(plan.conditions)}}
        client = self.identities.of_object(world, plan.key)
        try:
            stored = await client.apply_status(kind, body, manager_name(world.name))
        except NotFound:
            return ""
        except (Invalid, Forbidden) as error:
            log.warning("%s: its conditions cannot be copied to its status: %s", plan.key, error.message)
            return plan.resource_version
        self.inventory.record_write(kind, stored)
        return stored["metadata"]["resourceVersion"] if condition_state(stored).copied is not None else ""

    async def _kept_values(self, world: World, plan: Apply, bodies: Bodies) -> KeptValues:
        """The values of its existing objects that a chart gives anew each time it is rendered. Raises ApiError."""
        if not any(item.changing for step in plan.steps for item in step.items):
            return NOTHING_KEPT
        live: dict[ObjectKey, Object] = {}
        client = self.identities.of(world)
        for item in plan.content.objects():
            kind = self.rest_mapper.kind_for(item.api_version, item.key.kind)
            if item.changing and item.key in world.owned and kind is not None:
                with suppress(NotFound):
                    live[item.key] = await client.get(kind, item.key.name, item.key.namespace or None)
        return KeptValues.of(plan.content, bodies, live)

    async def _each(self, current: _ApplyPass, step: PhaseStep, *, dry_run: bool) -> None:
        """Apply the objects of a phase. An account may bind a role only if that exists, so that its bindings come after the
        others, and have no dry run."""
        bindings = [item for item in step.items if current.world.account is not None and item.key[:2] in BINDINGS]
        others = [item for item in step.items if item not in bindings]
        for items in (others, [] if dry_run else bindings):
            await self._together(current, items, dry_run=dry_run)

    async def _together(self, current: _ApplyPass, items: Sequence[RenderedObject], *, dry_run: bool) -> None:
        work = [self._apply_one(current, item, dry_run) for item in items]
        results = await asyncio.gather(*work, return_exceptions=True)
        failed: dict[ObjectKey, Exception] = {}
        for item, result in zip(items, results, strict=True):
            if isinstance(result, OlmError | ApiError):
                failed[item.key] = result
            elif isinstance(result, BaseException):
                raise result
        if failed:
            raise combine(failed, frozenset(current.applied))

    async def _apply_one(self, current: _ApplyPass, item: RenderedObject, dry_run: bool) -> None:
        kind = self.rest_mapper.kind_for(item.api_version, item.key.kind)
        if kind is None:
            raise BriefWait(
                Reason.WAITING_FOR_KIND, f"{item.key}: waiting until its kind is served", CHANGED_RETRY_DELAY
            )
        manager, client = manager_name(current.world.name), self.identities.of_object(current.world, item.key)
        if not dry_run:
            _distrust(current, item)
        async with self.limit:  # a parsed object takes many times the size of its JSON: few of them are in memory
            body = _body(current, item)
            if item.held:
                body = held_body(body, await client.get(kind, item.key.name), item.held)
            if item.changing:
                body = current.kept.applied_to(item, body)
            member = current.world.owned.get(item.key)
            if member is not None and member.kept_template is not None:
                noted = current.world.kept_templates.get(item.key, "")
                body = await with_kept(client, kind, body, noted, manager, dry_run=dry_run)
            result, is_found = await self._send(client, current.world, kind, body, dry_run)
            if not dry_run and kind.group_kind != NAMESPACE:
                result = await _forget_former(client, kind, result, manager)
        if not dry_run:
            self._record_write(kind, result)
            entry = transforms.applied_fields(result).get(manager, "")
            _log_change(current, item, result["metadata"], entry, is_found=is_found)
            _remember(current, item, entry)

    async def _send(
        self, client: Client, world: World, kind: Kind, body: Object, dry_run: bool, *, is_found: bool = False
    ) -> tuple[Object, bool]:
        """The object after its apply, and whether it was found and taken over: then it is the one that was found, or the apply
        fails."""
        try:
            return await client.apply(kind, body, manager_name(world.name), dry_run=dry_run), is_found
        except ApiError as error:
            created = world.deployment.metadata.creation_timestamp
            adopts = world.adopts and not is_found
            errors = ApplyErrors(Adoption(client, self.name_of, adopts, created, self.identities.own))
            takeover = await errors.explain(world.uid, kind, body, error)
            if takeover is None:
                raise
        log.info(
            "%s %s: it exists, and nobody manages it",
            "would take over" if dry_run else "takes over",
            body["metadata"]["name"],
        )
        body = {**body, "metadata": {**body["metadata"], **takeover.precondition}}
        if takeover.is_adopted:
            _mark_adopted(world, body["metadata"])
        if key_of(kind, body) in world.named_templates:
            body = await take_over(client, kind, body, dry_run=dry_run)
        return await self._send(client, world, kind, body, dry_run, is_found=True)

    def _record_write(self, kind: Kind, result: Object) -> None:
        if kind.group_kind == NAMESPACE:
            self.informers.namespaces.record_write(result)
        else:
            self.inventory.record_write(kind, result)


async def _forget_former(client: Client, kind: Kind, applied: Object, manager: str) -> Object:
    """The object without the fields that only BundleDeployments have applied that had it before: a container or a webhook of
    an older version would stay for ever."""
    for former in former_managers(applied, manager):
        metadata = applied["metadata"]
        identity = {name: metadata[name] for name in ("name", "namespace", "uid") if name in metadata}
        body = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": identity}
        try:
            applied = await client.apply(kind, body, former)
        except (Invalid, Forbidden, Conflict) as error:
            log.info("what %s has applied to %s stays: %s", former, metadata["name"], error.message)
    return applied


def _mark_adopted(world: World, metadata: Object) -> None:
    metadata["annotations"] = {**(metadata.get("annotations") or {}), ADOPTED_ANNOTATION: world.name}


def _log_change(
    current: _ApplyPass, item: RenderedObject, result: Mapping[str, Any], entry: str, *, is_found: bool
) -> None:
    """Log what the apply did to the object; nothing when the API server changed nothing.

    `entry`: the hash of our fields after it. A repair takes fields back. If our fields are those that were observed before, other
    managers took over some (as a scaler takes spec.replicas), and the resourceVersion was changed by their write.
    """
    world, last = current.world, current.last_applied.get(item.key)
    known = world.namespaces.get(item.key.name) if item.key[:2] == NAMESPACE else world.labeled.get(item.key)
    if known is not None and known.resource_version == result["resourceVersion"]:
        return
    is_drift, bundle = last is not None and last.digest == item.digest, f"bundle {current.plan.content.bundle}"
    if is_drift and known is not None and known.applied_fields.get(manager_name(world.name), "") == entry:
        return
    if known is None and is_found and is_drift:
        verb, why = Verb.REVERTED, LABEL_REMOVED
    elif known is None:
        verb, why = (Verb.RECREATED, DELETED) if is_drift else (Verb.CREATED, bundle)
    else:
        verb, why = (
            (Verb.REVERTED, f"changed by {known.last_changed_by or 'somebody'}") if is_drift else (Verb.CHANGED, bundle)
        )
    change = ObjectChange(item.key, verb, why, is_first=last is None or last.quick_reverts == 0)
    current.changes.append(change)
    log.info("%s", change)


def _distrust(current: _ApplyPass, item: RenderedObject) -> None:
    """Forget in which form the object was applied before, until the answer is there: another form may have been stored by an
    apply whose answer is lost, and within a second the hash of our fields does not tell them apart."""
    last = current.last_applied.get(item.key)
    if last is not None and last.digest != item.digest:
        current.last_applied[item.key] = replace(last, digest="")


def _remember(current: _ApplyPass, item: RenderedObject, entry: str) -> None:
    last = current.last_applied.get(item.key)
    current.last_applied[item.key] = next_applied(last, item.digest, entry, datetime.now(UTC))
    current.applied.add(item.key)


def _body(current: _ApplyPass, item: RenderedObject) -> Object:
    """The request: the labeled object, with a precondition on the uid that was observed, or on its absence."""
    world = current.world
    if item.key[:2] == NAMESPACE:
        rendered = next(entry for entry in current.plan.content.namespaces if entry.name == item.key.name)
        return namespace_body(
            rendered, world.namespaces.get(item.key.name), world.uid, only_joins=world.only_joins(rendered.name)
        )
    body: Object = orjson.loads(current.bodies[item.key])
    metadata = body["metadata"]
    metadata["labels"] = labels_of(world, metadata)
    # An object with our label that we never applied belongs to others: its label is a copy.
    member = world.owned.get(item.key)
    crd = world.crds.get(item.key.name) if item.key[:2] == CRD else None
    precondition = apply_precondition(member.uid if member is not None else None)
    if member is not None:
        if member.is_adopted:
            _mark_adopted(world, metadata)
        if member.is_scaled_by_others and "replicas" in (body.get("spec") or {}):
            del body["spec"]["replicas"]
    elif crd is not None and crd.released_by and not crd.owner_uid:
        # As it was observed: another BundleDeployment may take it over first.
        precondition = {"uid": crd.uid, "resourceVersion": crd.resource_version}
    metadata.update(precondition)
    endpoint = current.plan.content.certified.get(item.key)
    if endpoint is not None:
        inject(body, world.certificates[endpoint.secret_key])
    return body
