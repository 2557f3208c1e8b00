"""The controller of kind Bundle: observes a Bundle, its content and its job, and runs the five steps.

Built by rukpak.setup with the Jobs and the Store that the process shares. Each image is pulled once, and its content is kept
as long as a Bundle has it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from olmkit.api import bundledeployments
from olmkit.api.bundledeployments import BundleDeployment
from olmkit.api.bundles import KIND, Bundle, BundleStatus, digest_of_reference, resolved_digest
from olmkit.api.conditions import StatusReport
from olmkit.api.meta import Object
from olmkit.errors import Waiting
from olmkit.jobs import Jobs
from olmkit.runtime.api_server_addresses import ApiServerAddresses
from olmkit.runtime.controller import Controller
from olmkit.runtime.informer import Informer
from olmkit.runtime.manager import Manager, Settings
from olmkit.runtime.publish import Publisher
from olmkit.runtime.reconciler import Reconciler
from olmkit.sources.access import Access
from olmkit.store.store import Store
from rukpak.bundle.act import Actor
from rukpak.bundle.decide import decide
from rukpak.bundle.events import keys_of_bundle, keys_of_conflicting_bundles, keys_of_deployment
from rukpak.bundle.garbage_collector import GarbageCollector
from rukpak.bundle.report import report
from rukpak.bundle.storage import intact_type
from rukpak.bundle.world import CONTENT_TYPES, Done, Evaluation, Plan, UnpackResult, World

NAME = "bundle"
MANAGER = "rukpak"
"""Field manager of statuses, and reporting controller of Events."""


def controller(manager: Manager, jobs: Jobs[UnpackResult], store: Store) -> Controller:
    """The controller, added to the manager. `store` is at `store_folder`; `jobs` has to enqueue the key of a job here when it
    ends.

    Each pass over a Bundle hashes its content: a caller of rukpak.bundle.storage.load that finds the content missing or corrupt
    enqueues the Bundle, and the content is fetched again by the digest that was resolved first.
    """
    bundles, deployments = manager.informer(KIND), manager.informer(bundledeployments.KIND)
    settings, publisher = manager.settings, Publisher(manager.client, KIND, MANAGER, bundles)
    collector = GarbageCollector(bundles, jobs, store)
    access = Access(settings.registries_conf, settings.pull_cas_dir, settings.allow_source_cidr)
    api_servers = ApiServerAddresses(manager.client)
    actor = Actor(jobs, store, store_folder(settings), access, api_servers, collector)

    async def publish(world: World, status: StatusReport[BundleStatus] | None) -> None:
        if world.raw is not None and status is not None:
            await publisher(world.raw, status)

    reconciler: Reconciler[World, Plan, Evaluation, Done, StatusReport[BundleStatus] | None] = Reconciler(
        Observer(bundles, deployments, jobs, store).observe, decide, actor.act, report, publish
    )
    result = Controller(NAME, reconciler)
    result.watch(bundles, keys_of_bundle)
    result.watch(bundles, lambda change: keys_of_conflicting_bundles(change, bundles))
    result.watch(deployments, keys_of_deployment)
    manager.on_started_leading(publisher.reset)
    manager.on_started_leading(jobs.cancel_all)  # their results may be older than the report of another leader since
    manager.add_controller(result)
    manager.add_runnable(collector.run, every_replica=False)
    return result


def store_folder(settings: Settings) -> Path:
    """The folder of the Store of bundles, for this process and its jobs."""
    return settings.cache_dir / "bundles"


@dataclass(frozen=True)
class Observer:
    """Reads the informers, the store and the states of jobs; changes nothing."""

    bundles: Informer
    deployments: Informer
    jobs: Jobs[UnpackResult]
    store: Store

    async def observe(self, key: str) -> World:
        """The World of one Bundle; without an object when the Bundle is gone."""
        now, raw = datetime.now(UTC), self.bundles.get(key)
        if raw is None:
            return World(key, now)
        bundle = Bundle.load(raw)
        world = World(key, now, raw, bundle, monotonic=time.monotonic())
        state = self.jobs.state(key)
        recorded = recorded_image(bundle, self.deployments.get)
        # The job of a Bundle that had the same name, or of an earlier spec, does not count.
        world = replace(
            world, recorded=recorded, job=state if state is not None and state.identity == world.identity else None
        )
        digest = digest_of_reference(world.ref)
        try:
            stored = await asyncio.to_thread(intact_type, self.store, digest) if digest else ""
        except Waiting as error:
            return replace(world, unreadable=error)
        provisioner = bundle.spec.provisioner_class_name
        is_conflict = stored != "" and stored != CONTENT_TYPES.get(provisioner)
        conflicting = self._conflicting(key, digest, provisioner) if is_conflict else ""
        return replace(world, stored_type=stored, conflicting_bundle=conflicting)

    def _conflicting(self, key: str, digest: str, provisioner: str) -> str:
        """The first Bundle by name that has the digest and another provisioner; "" if there is none."""
        names = (
            raw["metadata"]["name"]
            for raw in self.bundles.objects.values()
            if resolved_digest(raw) == digest and raw["spec"]["provisionerClassName"] != provisioner
        )
        return min((name for name in names if name != key), default="")


def recorded_image(bundle: Bundle, deployment: Callable[[str], Object | None]) -> str:
    """The image by digest that the BundleDeployment that controls the Bundle records for it; "" if it records none.

    Only rukpak writes that record, and only of what its registry gave: it is a status.
    """
    owner = next((one for one in bundle.metadata.owner_references if one.controller), None)
    raw = deployment(owner.name) if owner is not None and owner.kind == bundledeployments.KIND.kind else None
    if raw is None or owner is None or raw["metadata"]["uid"] != owner.uid:
        return ""
    record = BundleDeployment.load(raw).status.installed
    if record is None or (record.bundle, record.spec) != (bundle.metadata.name, bundle.spec):
        return ""
    return record.image or ""
