"""Reconciles Bundles: observes one, its content and its job, runs the five steps, and writes its status.

Changes only the status; rukpak.bundle.act carries out Plans. Each image or commit is fetched once, and its content is kept as
long as a Bundle has it. Each pass over a Bundle hashes its content. Missing or corrupt content is fetched again,
as it was resolved first.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from olmkit.api.bundles import Bundle, BundleStatus
from olmkit.api.conditions import StatusReport
from olmkit.errors import Waiting
from olmkit.runtime.informer import Informer
from olmkit.runtime.reconciler import Reconciler
from olmkit.runtime.status_publisher import Publisher
from olmkit.sources.resolved_source import content_digest
from olmkit.sources.spec_source import CONFIG_MAP
from rukpak.bundle.act import BundleActions
from rukpak.bundle.decide import decide
from rukpak.bundle.recorded_sources import recorded_pins, resolved_digest
from rukpak.bundle.report import report
from rukpak.bundle.storage import HELM, intact_type, load_chart
from rukpak.bundle.uploads.stored_upload import StoredUpload, index_name, stored_upload
from rukpak.bundle.world import CONTENT_TYPES, Done, Evaluation, Plan, World, controlling_deployment


@dataclass(frozen=True)
class BundleReconciler:
    """Observes and publishes; `actions` carries out Plans."""

    actions: BundleActions
    publisher: Publisher
    bundles: Informer
    deployments: Informer
    content_url: Callable[[str], str]
    """The address of the files of the Bundle of a name; "" if they are not served."""

    def steps(self) -> Reconciler[World, Plan, Evaluation, Done, StatusReport[BundleStatus] | None]:
        """The pass over one Bundle."""
        return Reconciler(self.observe, decide, self.actions.act, report, self.publish)

    def start_leading(self) -> None:
        """Forget facts that another leader may have changed: results of jobs may be older than the status that it reported."""
        self.publisher.reset()
        self.actions.jobs.cancel_all()

    async def observe(self, key: str) -> World:
        """The World of one Bundle, which has no object if the Bundle is gone."""
        now, raw = datetime.now(UTC), self.bundles.get(key)
        if raw is None:
            return World(key, now)
        bundle = Bundle.load(raw)
        inputs = self.actions.inputs
        world = World(key, now, raw, bundle, monotonic=time.monotonic(), namespace=inputs.namespace)
        world = replace(
            world,
            inputs=inputs.versions(bundle.spec.source),
            common_secret_version=inputs.secrets.common_version,
            content_url=self.content_url(key),
            stored_upload=self._stored_upload(bundle),
        )
        state = self.actions.jobs.state(key)
        recorded = recorded_pins(bundle, self.deployments.get)
        world = replace(world, recorded=recorded, job=state if state is not None and world.is_own(state) else None)
        digest = content_digest(world.found)
        try:
            stored = await asyncio.to_thread(intact_type, self.actions.store, digest) if digest else ""
            is_chart = stored == HELM
            world = replace(
                world, chart=await asyncio.to_thread(load_chart, self.actions.store, digest) if is_chart else None
            )
        except Waiting as error:
            return replace(world, unreadable=error)
        provisioner = bundle.spec.provisioner_class_name
        is_conflict = stored != "" and stored != CONTENT_TYPES.get(provisioner)
        conflicting = self._conflicting(key, digest, provisioner) if is_conflict else None
        if conflicting is None:
            return replace(world, stored_type=stored)
        return replace(
            world,
            stored_type=stored,
            conflicting_bundle=conflicting.metadata.name,
            conflicting_deployment=controlling_deployment(conflicting),
        )

    async def publish(self, world: World, status_report: StatusReport[BundleStatus] | None) -> None:
        """Write the report, if there is one. Raises NotFound when the Bundle is deleted."""
        if world.raw is not None and status_report is not None:
            await self.publisher(world.raw, status_report)

    def _stored_upload(self, bundle: Bundle) -> StoredUpload | None:
        """The upload of the Bundle, if it is complete."""
        uid, inputs = bundle.metadata.uid, self.actions.inputs
        return stored_upload(inputs.informers[CONFIG_MAP].get(index_name(uid), inputs.namespace), uid)

    def _conflicting(self, key: str, digest: str, provisioner: str) -> Bundle | None:
        """The first Bundle by name that has the digest and another provisioner; None if there is none."""
        found = {
            name: raw
            for (_, name), raw in self.bundles.objects.items()
            if name != key and resolved_digest(raw) == digest and raw["spec"]["provisionerClassName"] != provisioner
        }
        return Bundle.load(found[min(found)]) if found else None
