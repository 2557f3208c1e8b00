"""Ends the deletion hold of a BundleDeployment whose Operator has been deleted, once nothing requires its bundle.

It is a separate controller, because this BundleDeployment has no Operator to reconcile: a person has removed the finalizer. The
requirements are read from running bundles, so that they do not depend on catalogs or the solver. It writes only the annotation,
never for a BundleDeployment that has an Operator, and never changes a hold of a person.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta

from olmkit.api.bundledeployments import DELETION_HOLD_ANNOTATION
from olmkit.api.meta import Object
from olmkit.runtime.informer import Change
from operator_controller.operator.act import OperatorActions
from operator_controller.operator.delays import RESYNC_DELAY
from operator_controller.operator.dependencies import hold_text
from operator_controller.operator.events import HOLD_INDEX, Informers
from operator_controller.operator.resolution_request import make_orphan_request
from operator_controller.operator.running_bundle import read_installed_record, read_running
from operator_controller.operator.world import HOLD_PREFIX, HoldDeletion, ObservedBundleDeployment
from operator_controller.resolve.answers.answer import Answer
from operator_controller.resolve.answers.deletion_answers import deletion_answers
from operator_controller.resolve.snapshot.cluster_snapshot import OperatorRequest

KEY = "all"
"""The only key. One pass is over all BundleDeployments without an Operator, because there are hardly ever any."""
REQUESTS_PER_TURN = 10
"""Objects that are read before other tasks of the event loop get their turn."""

log = logging.getLogger(__name__)


def orphaned_hold_plan(
    deployment: ObservedBundleDeployment, answer: Answer, holders: Mapping[str, str]
) -> HoldDeletion | None:
    """The Plan to change or end the hold of a BundleDeployment without an Operator; None if the hold stays. Pure.

    `holders`: by package, the Operator or the BundleDeployment that stands for it, as messages name it.
    """
    metadata = deployment.model.metadata
    reason = hold_text(holders[each] for each in {*answer.needed_by, *answer.required_by_deleting})
    is_changed = reason != metadata.annotations.get(DELETION_HOLD_ANNOTATION, "")
    return HoldDeletion(metadata.name, metadata.uid, reason) if is_changed else None


@dataclass(frozen=True)
class OrphanedHolds:
    """Corrects the holds. `read_request` returns the request of an Operator, None if it has no running bundle."""

    actions: OperatorActions
    informers: Informers
    read_request: Callable[[str], OperatorRequest | None]

    def keys_of(self, change: Change) -> Iterable[str]:
        """KEY, if the change is more than a change of conditions."""
        return () if _requirements_of(change.new) == _requirements_of(change.old) else (KEY,)

    async def reconcile(self, _key: str) -> timedelta | None:
        """Correct the holds of all BundleDeployments without an Operator: each hold ends, changes, or stays. Raises ApiError."""
        orphans = self._orphans()
        if not orphans:
            return None
        requests = await self._read_requests()
        holders = {each.held_package: self._named(each.name) for each in requests}
        answers = {each.operator: each for each in await asyncio.to_thread(deletion_answers, requests)}
        for deployment in orphans:
            name = deployment.model.metadata.name
            answer = answers.get(name)  # none: this controller did not make it
            plan = orphaned_hold_plan(deployment, answer, holders) if answer is not None else None
            if plan is not None and self.informers.operators.get(name) is None:
                await self.actions.hold_deletion(plan)
                if not plan.reason:
                    log.info("ended the hold of the deletion of BundleDeployment %s, which nothing requires", name)
        return RESYNC_DELAY

    def _orphans(self) -> list[ObservedBundleDeployment]:
        held = self.informers.deployments.by_index(HOLD_INDEX, HOLD_PREFIX)
        return [
            ObservedBundleDeployment.load(raw)
            for raw in held
            if self.informers.operators.get(raw["metadata"]["name"]) is None
        ]

    async def _read_requests(self) -> list[OperatorRequest]:
        """Read the requests of Operators, and of BundleDeployments without one, sorted by name."""
        found: list[OperatorRequest] = []
        objects = (*self.informers.operators.objects.values(), *self.informers.deployments.objects.values())
        names: list[str] = sorted({raw["metadata"]["name"] for raw in objects})
        for number, name in enumerate(names, 1):
            is_orphan = self.informers.operators.get(name) is None
            request = self._read_orphan(name) if is_orphan else self.read_request(name)
            if request is not None:
                found.append(request)
            if number % REQUESTS_PER_TURN == 0:
                await asyncio.sleep(0)
        return found

    def _read_orphan(self, name: str) -> OperatorRequest | None:
        raw = self.informers.deployments.get(name)
        if raw is None:
            return None
        deployment = ObservedBundleDeployment.load(raw)
        bundle = self.informers.bundles.get(deployment.model.status.active_bundle or "")
        running = read_running(bundle) if bundle is not None else read_installed_record(deployment)
        return make_orphan_request(deployment, running[0] if running is not None else None)

    def _named(self, name: str) -> str:
        return f"{'BundleDeployment' if self.informers.operators.get(name) is None else 'Operator'} {name}"


def _requirements_of(obj: Object | None) -> tuple[object, ...] | None:
    """The parts of an Operator, a BundleDeployment or a Bundle that decide what runs, is requested and is being deleted."""
    if obj is None:
        return None
    metadata, status = obj["metadata"], obj.get("status") or {}
    annotations = metadata.get("annotations")
    return metadata["uid"], "deletionTimestamp" in metadata, obj.get("spec"), annotations, status.get("activeBundle")
