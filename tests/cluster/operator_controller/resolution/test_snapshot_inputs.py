"""Which kinds an Operator may require of the cluster, while CRDs come and go."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator

import pytest

from devcluster.cluster import Cluster
from olmkit.api import customresourcedefinitions
from olmkit.api.bundledeployments import OWNER_UID_LABEL
from olmkit.api.ownership import MANAGER_PREFIX
from olmkit.runtime.client import Client
from olmkit.runtime.informer import Change, Informer
from operator_controller.resolution.snapshot_inputs import ClusterFactsReader
from tests.cluster.olmkit.conftest import running, until
from tests.cluster.rukpak.harness import definition


@pytest.fixture
async def client(cluster: Cluster) -> AsyncIterator[Client]:
    async with await Client.connect(str(cluster.kubeconfig)) as connected:
        yield connected


async def test_a_crd_counts_while_it_is_served_without_another_discovery(client: Client) -> None:
    informer = Informer(client, customresourcedefinitions.KIND, transform=customresourcedefinitions.trim)
    reader = ClusterFactsReader(client, informer)

    def changed(change: Change) -> None:
        reader.on_change(change)

    informer.subscribe(changed)
    group = f"facts-{uuid.uuid4().hex[:6]}.example.com"
    before, after = (f"{group}/v1/{kind}" for kind in ("Before", "After"))

    def native() -> tuple[str, ...]:
        return reader.facts.native_kinds or ()

    def served(kind: str) -> bool:
        return any((one.group, one.kind) == (group, kind) for one in reader.facts.custom_kinds)

    async with running(informer):
        await client.create(customresourcedefinitions.KIND, definition(group, "Before"))
        await until(lambda: served("Before"), "the first CRD is served")
        await reader.read()
        assert before in native()
        assert "apps/v1/Deployment" in native()
        installed = definition(group, "After")
        installed["metadata"]["labels"] = {OWNER_UID_LABEL: uuid.uuid4().hex}
        await client.apply(customresourcedefinitions.KIND, installed, f"{MANAGER_PREFIX}any")
        await until(lambda: after in native(), "a CRD that comes later is a kind of the cluster")
        kinds = {one.kind: one.is_installed for one in reader.facts.custom_kinds if one.group == group}
        assert kinds == {"Before": False, "After": True}
        for plural in ("befores", "afters"):
            await client.delete(customresourcedefinitions.KIND, f"{plural}.{group}")
        await until(lambda: not {before, after} & set(native()), "neither is one when it is deleted")
        assert "apps/v1/Deployment" in native()
