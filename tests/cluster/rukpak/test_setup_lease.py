"""rukpak that loses its lease and wins it again, against the real API server: nothing from before is relied on."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from devcluster.cluster import Cluster
from devcluster.images import Registry
from olmkit.runtime.client import Client
from olmkit.runtime.lease_holder import LEASE
from olmkit.runtime.manager import Manager, Settings
from rukpak.setup import build
from tests.unit.rukpak.builders import csv, files


@dataclass(frozen=True)
class Process:
    """rukpak at work in the test's process, standing for a lease in the namespace `name`; its registries.conf."""

    cluster: Cluster
    name: str
    manager: Manager
    registries: Path

    async def kubectl(self, *arguments: str, input: str | None = None) -> str:
        """kubectl, in addition to the controller under test."""
        return await asyncio.to_thread(self.cluster.kubectl, *arguments, input=input)

    async def bundle(self) -> None:
        """Push an image, and make a Bundle of it."""
        repository = f"bundles/{self.name}"
        content = files(csv("things.v1.0.0"), package="things")
        await asyncio.to_thread(Registry(self.cluster.registry).push, repository, "v1", content, {})
        source = {"type": "image", "image": {"ref": f"{self.cluster.registry}/{repository}:v1"}}
        spec = {"provisionerClassName": "core-rukpak-io-registry", "source": source}
        body = {"apiVersion": "core.rukpak.io/v1alpha1", "kind": "Bundle", "metadata": {"name": self.name}}
        await self.kubectl("create", "-f", "-", input=json.dumps({**body, "spec": spec}))

    async def phase(self, wanted: str) -> None:
        """Return when the Bundle is in it."""
        condition = f"--for=jsonpath={{.status.phase}}={wanted}"
        await self.kubectl("wait", f"bundle/{self.name}", condition, "--timeout=60s")

    async def give_lease(self, holder: str) -> None:
        """Somebody else holds the lease from now on, "" frees it; return when the process has noticed."""
        spec = {"holderIdentity": holder, "leaseDurationSeconds": 3600 if holder else 1}
        await self.manager.client.patch(LEASE, "rukpak", {"spec": spec}, self.name)
        async with asyncio.timeout(60):
            while self.manager.is_leading == bool(holder):  # noqa: ASYNC110 a manager has no such event
                await asyncio.sleep(0.05)


@pytest.fixture
async def process(definitions: Cluster, tmp_path: Path) -> AsyncIterator[Process]:
    name, registries = f"lease-{uuid.uuid4().hex[:8]}", tmp_path / "registries.conf"
    registries.write_text("")
    settings = Settings(
        cache_dir=tmp_path / "cache",
        kubeconfig=str(definitions.kubeconfig),
        system_namespace=name,
        metrics_bind_address="0",
        health_probe_bind_address="0",
        registries_conf=registries,
    )
    async with await Client.connect(settings.kubeconfig) as client:
        manager = Manager("rukpak", settings, client)
        ours = Process(definitions, name, manager, registries)
        await ours.kubectl("create", "namespace", name)
        try:
            await build(manager)
            run = asyncio.create_task(manager.run())
            yield ours
            manager.stop()
            await run
        finally:
            await manager.close()
            await ours.kubectl("delete", "--wait=false", "--ignore-not-found", f"namespace/{name}", f"bundle/{name}")


async def test_a_failure_of_before_the_lease_was_lost_is_not_believed_once_it_is_won_again(process: Process) -> None:
    process.registries.write_text("this is no TOML")
    await process.bundle()
    await process.phase("Failing")
    await process.give_lease("another")
    process.registries.write_text(process.cluster.registries_conf.read_text())
    await process.give_lease("")
    await process.phase("Unpacked")
