"""What `observe` leaves behind on the real API server: nothing. A standby observes what the leader installs and removes."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from olmkit.api.bundledeployment_status import COUNT_ANNOTATION
from olmkit.api.bundledeployments import DELETION_HOLD_ANNOTATION, KIND
from olmkit.api.ownership import manager_name
from olmkit.errors import Waiting
from olmkit.jobs.memory_budget import job_memory_budget
from olmkit.runtime.client import Client
from olmkit.runtime.lease_holder import LEASE
from olmkit.runtime.manager import Manager
from olmkit.runtime.reconciler import Reconciler
from olmkit.store.store import Store
from rukpak.bundledeployment.act import MAX_FAILED_DELETIONS
from rukpak.bundledeployment.cluster.rest_mapper import NAMESPACES
from rukpak.bundledeployment.observe import Observer
from rukpak.bundledeployment.plan import Apply, DeleteObjects
from rukpak.bundledeployment.rendered_bundle import MissingContent
from rukpak.bundledeployment.world import World
from rukpak.format.objects import ObjectKey
from rukpak.setup import bundle_deployment_controller, store_directory
from tests.cluster.proxy import run_as
from tests.cluster.refusing_proxy import RefusingProxy
from tests.cluster.rukpak.harness import (
    CONFIG_MAPS,
    READY,
    WITHIN,
    Harness,
    config_map,
    definition,
    kind_of,
    namespace,
    plain,
    rukpak,
    says,
    settings,
    thing,
)

EPOCH = datetime.fromtimestamp(0, UTC)
STAY = "test.example.com/stay"
MAX_OBSERVATIONS = 10


class RecordingClient(Client):
    """`changes`: its requests that are not reads, without those of the lease."""

    changes: list[str]

    async def request(self, method: str, path: str, **options: Any) -> dict[str, Any]:
        if method != "GET" and "/leases" not in path:
            self.changes.append(f"{method} {path}")
        return await super().request(method, path, **options)


@dataclass(frozen=True)
class Standby:
    """The steps of a process that does not lead, and what they did."""

    steps: Reconciler[Any, Any, Any, Any, Any]
    observer: Observer
    client: RecordingClient
    changed: asyncio.Event
    """Set by each change of a BundleDeployment that its informer shows."""
    missing: list[str] = field(default_factory=list)
    """The Bundles whose content was reported missing."""

    async def world_before(self, name: str, plan: type) -> tuple[World, Any]:
        """Make passes until such a Plan is next; the World, and the Plan, which is not carried out."""
        for _ in range(20):
            world = await self.observer.observe(name)
            assert isinstance(world, World)
            decision = self.steps.decide(world)
            if isinstance(decision.plan, plan):
                return world, decision.plan
            await self.steps(name)
        pytest.fail(f"no {plan.__name__} follows; the last Plan was {decision.plan}")

    async def until_deleting(self, name: str) -> None:
        """Return when its informer shows that the BundleDeployment is being deleted."""
        async with asyncio.timeout(WITHIN):
            while "deletionTimestamp" not in (self.observer.informers.deployments.get(name) or {})["metadata"]:
                self.changed.clear()
                await self.changed.wait()

    async def world(self, name: str) -> World:
        """What it observes of a BundleDeployment that exists."""
        found = await self.observer.observe(name)
        assert isinstance(found, World)
        return found

    async def observe_twice(self, name: str) -> World:
        """The World, which is the same if it is observed again; it is observed without any effect."""
        memories, interests = repr(self.observer.memories), dict(self.observer.event_mapper.interests)
        missing = list(self.missing)
        first, second = await self.world(name), await self.world(name)
        for _ in range(MAX_OBSERVATIONS):
            if first.raw == second.raw:
                break  # otherwise the leader has written the status meanwhile
            first, second = second, await self.world(name)
        assert comparable(first) == comparable(second)
        assert repr(first.evaluation) == repr(second.evaluation), "an error equals no other one"
        assert repr(self.observer.memories) == memories
        assert self.observer.event_mapper.interests == interests
        assert (self.client.changes, self.missing) == ([], missing)
        return first


def comparable(world: World) -> World:
    """Without what is another one whenever it is observed."""
    since = EPOCH if world.unhealthy_since is not None else None
    counts = world.custom_resource_counts
    counts = replace(counts, at=EPOCH) if counts is not None else None
    return replace(
        world, now=EPOCH, changes_before=0, unhealthy_since=since, custom_resource_counts=counts, evaluation=None
    )


@contextlib.asynccontextmanager
async def standby(at: Harness, cache: Path, **changes: Any) -> AsyncIterator[Standby]:
    made = settings(at.cluster, cache, leader_elect=True, system_namespace=at.name, **changes)
    async with await RecordingClient.connect(made.kubeconfig) as client:
        client.changes = []
        manager, missing = Manager("rukpak", made, client), list[str]()
        controller = bundle_deployment_controller(
            manager, Store(store_directory(made)), job_memory_budget(made.jobs_memory), missing.append
        )
        run = asyncio.create_task(manager.run())
        try:
            for informer in controller.informers:
                await informer.synced.wait()
            steps = controller.reconcile
            assert isinstance(steps, Reconciler)
            observer = getattr(steps.observe, "__self__", None)
            assert isinstance(observer, Observer)
            changed = asyncio.Event()
            observer.informers.deployments.subscribe(lambda _: changed.set())
            yield Standby(steps, observer, client, changed, missing)
        finally:
            manager.stop()
            await run
            await manager.close()


async def test_observing_has_no_effect_and_the_end_of_a_pass_records_it(at: Harness, tmp_path: Path) -> None:
    await at.create(NAMESPACES, namespace(at.name))
    space = f"{at.name}-space"
    objects = (namespace(space), config_map("log", space), definition(at.group))
    async with rukpak(at.cluster, tmp_path / "leader", leader_elect=True, system_namespace=at.name):
        await at.install(at.push(plain(*objects)))
        await at.until(READY)
        await at.client.patch(KIND, at.name, {"metadata": {"annotations": {COUNT_ANNOTATION: "now"}}})
        await at.until(lambda raw: raw is not None and raw["status"].get("lastHandledCount") == "now")
        async with standby(at, tmp_path / "empty") as other:
            await without_content(at, other)
        async with standby(at, tmp_path / "leader") as other:
            await installed(at, other)
            await at.install(at.push(plain(*objects, thing(kind_of("absent.example.com"), "dinghy", space)), "v2"))
            await at.until(says("Ready", "False", "Upgrading"))
            await other.steps.observe(at.name)
            seen = await other.observe_twice(at.name)
            assert seen.evaluation is not None
            assert seen.evaluation.blocker is not None, "it needs a kind that is not there"
            await deleted(at, other, space)


async def without_content(at: Harness, other: Standby) -> None:
    seen = await other.observe_twice(at.name)
    assert seen.content == MissingContent()
    await other.steps(at.name)
    assert other.missing == [seen.target_bundle]


async def installed(at: Harness, other: Standby) -> None:
    seen = await other.observe_twice(at.name)
    assert seen.last_applied, "the notes of the leader"
    assert seen.custom_resource_counts is not None
    assert other.observer.memories == {}
    await other.steps(at.name)
    memory = other.observer.memories[at.name]
    assert memory.last_applied == seen.last_applied
    assert memory.custom_resource_counts is not None
    assert other.observer.event_mapper.interests == {at.name: seen.interests}
    assert (await other.observe_twice(at.name)).custom_resource_counts == memory.custom_resource_counts


async def deleted(at: Harness, other: Standby, space: str) -> None:
    await at.client.patch(CONFIG_MAPS, "log", {"metadata": {"finalizers": [STAY]}}, space)
    await at.client.patch(KIND, at.name, {"metadata": {"annotations": {DELETION_HOLD_ANNOTATION: "not yet"}}})
    await at.remove()
    await at.until(says("Ready", "False", "DeletionHeld"))
    assert (await other.observe_twice(at.name)).deletion_hold
    await at.client.patch(KIND, at.name, {"metadata": {"annotations": {DELETION_HOLD_ANNOTATION: None}}})
    await at.until(says("Ready", "False", "Removing", STAY))
    seen = await other.observe_twice(at.name)
    assert seen.deployment.metadata.deleting
    assert not seen.deletion_hold
    await at.client.patch(CONFIG_MAPS, "log", {"metadata": {"finalizers": []}}, space)


async def test_what_was_done_is_known_to_the_next_pass_if_the_pass_was_cut_short(at: Harness, tmp_path: Path) -> None:
    """Nothing is published here after what `act` does."""
    space = f"{at.name}-space"
    key = ObjectKey("", "ConfigMap", space, "log")
    await at.create(NAMESPACES, namespace(at.name))
    async with rukpak(at.cluster, tmp_path / "leader"):
        await at.install(at.push(plain(namespace(space), config_map("log", space))))
        await at.until(READY)
    moment = datetime.now(UTC).isoformat().replace("+00:00", "Z")
    held = {"holderIdentity": "another", "leaseDurationSeconds": 3600, "acquireTime": moment, "renewTime": moment}
    lease = {"apiVersion": LEASE.api_version, "kind": LEASE.kind, "metadata": {"name": "rukpak", "namespace": at.name}}
    await at.create(LEASE, {**lease, "spec": held})
    await at.client.delete(CONFIG_MAPS, "log", space)
    async with (
        run_as(RefusingProxy, at.cluster.kubeconfig, tmp_path) as between,
        standby(at, tmp_path / "leader", kubeconfig=str(between.kubeconfig)) as other,
    ):
        world, plan = await other.world_before(at.name, Apply)
        await other.steps.act(world, plan)
        seen = await other.observer.observe(at.name)
        assert isinstance(seen, World)
        assert seen.last_applied[key].fields_hash == seen.labeled[key].applied_fields[manager_name(at.name)]
        assert not isinstance(other.steps.decide(seen).plan, Apply), "it is not applied twice"

        await at.remove()
        await other.until_deleting(at.name)
        world, plan = await other.world_before(at.name, DeleteObjects)
        between.refuse("DELETE .*/configmaps/log", status=403)
        for _ in range(MAX_FAILED_DELETIONS):
            with pytest.raises(Waiting):
                await other.steps.act(world, plan)
        seen = await other.observer.observe(at.name)
        assert isinstance(seen, World)
        assert seen.undeletable == {seen.labeled[key].uid}
