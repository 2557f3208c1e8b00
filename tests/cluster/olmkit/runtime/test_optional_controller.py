"""A controller of a kind that an installation may leave out: its permissions are the switch."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from devcluster.cluster import Cluster
from olmkit.api.foreign_leader import UPSTREAM_LEASES
from olmkit.api.meta import Kind, Object
from olmkit.runtime.client import Client
from olmkit.runtime.controller import Controller
from olmkit.runtime.foreign_leaders import ForeignLeaders, upstream_review
from olmkit.runtime.lease_holder import LEASE
from olmkit.runtime.manager import Manager, Settings
from olmkit.runtime.optional_controller import MakeInformer, OptionalController
from tests.cluster.olmkit.conftest import CONFIG_MAP, config_map, until
from tests.cluster.olmkit.example import names
from tests.cluster.proxy import run_as
from tests.cluster.recording_proxy import RecordingProxy

ABSENT = Kind("runtime.example.com", "v1", "Absent", "absents")
ACCOUNT = "optional"
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


class Optional:
    """A process with an optional controller of ConfigMaps, which records the leader that each of its passes saw."""

    def __init__(self, client: Client, namespace: str) -> None:
        settings = Settings(
            cache_dir=Path("unused"),
            system_namespace=namespace,
            metrics_bind_address="0",
            health_probe_bind_address="0",
            leader_elect=False,
        )
        self._namespace = namespace
        self.seen: list[str] = []
        self.manager = Manager("optional", settings, client)
        self.optional = OptionalController(self.manager, CONFIG_MAP, self._make, recheck_seconds=0.1)
        self.manager.add_runnable(self.optional.run, every_replica=False)

    def _make(self, informer: MakeInformer) -> Controller:
        self.leaders = ForeignLeaders(informer, upstream_review(self.manager.client, self._namespace))
        controller = Controller("optional", self._reconcile)
        self.informer = informer(CONFIG_MAP, label_selector="test=runtime", field_selector="metadata.name=a")
        controller.watch(self.informer, names)
        controller.watch(informer(ABSENT, absent_is_empty=True), names)
        for leases in self.leaders.informers:
            controller.watch(leases, lambda change: ())
        self.leaders.subscribe(lambda: controller.enqueue("a"))
        return controller

    async def _reconcile(self, key: str) -> None:
        leader = await self.leaders.state()
        self.seen.append(leader.namespace if leader is not None else "nobody")


@pytest.fixture
async def role(cluster: Cluster, client: Client, namespace: str) -> AsyncIterator[tuple[str, str]]:
    """A ClusterRole with the permissions, bound to nobody yet; returns the arguments that bind it to the account."""
    cluster.kubectl("create", "serviceaccount", ACCOUNT, f"--namespace={namespace}")
    rules = [
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list", "watch"]},
        {"apiGroups": [ABSENT.group], "resources": [ABSENT.plural], "verbs": ["list", "watch"]},
        {
            "apiGroups": [LEASE.group],
            "resources": [LEASE.plural],
            "verbs": ["list", "watch"],
            "resourceNames": list(UPSTREAM_LEASES),
        },
    ]
    kind = Kind("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles")
    obj = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": namespace}, "rules": rules}
    await client.create(kind, obj)
    yield f"--clusterrole={namespace}", f"--serviceaccount={namespace}:{ACCOUNT}"
    cluster.kubectl("delete", "clusterrolebinding,clusterrole", namespace, "--ignore-not-found")


def upstream_lease(namespace: str, holder: str) -> Object:
    spec = {"holderIdentity": holder, "leaseDurationSeconds": 137}
    metadata = {"name": UPSTREAM_LEASES[0], "namespace": namespace}
    return {"apiVersion": LEASE.api_version, "kind": LEASE.kind, "metadata": metadata, "spec": spec}


async def test_its_permissions_start_it_and_end_it_and_it_sees_who_leads(
    cluster: Cluster, client: Client, namespace: str, role: tuple[str, str], tmp_path: Path
) -> None:
    await client.create(CONFIG_MAP, config_map(namespace, "a"))
    await client.create(LEASE, upstream_lease(namespace, "another"))
    kubeconfig = cluster.token_kubeconfig(namespace, ACCOUNT)
    async with run_as(RecordingProxy, kubeconfig, tmp_path) as between, Client(str(between.kubeconfig)) as account:
        await account.open()
        process = Optional(account, namespace)
        run = asyncio.create_task(process.manager.run())
        try:
            await until(lambda: len(between.requests) > 2, "it asks what it may do")
            assert {each.path for each in between.requests} == {REVIEWS}, "and for nothing else"
            await asyncio.to_thread(cluster.kubectl, "create", "clusterrolebinding", namespace, *role)
            await until(lambda: process.seen == [namespace], "it works, and sees the Lease of another namespace")
            await client.apply(LEASE, upstream_lease(namespace, ""), "test")
            await until(lambda: process.seen == [namespace, "nobody"], "the end of the leader wakes it")
            await asyncio.to_thread(cluster.kubectl, "delete", "clusterrolebinding", namespace)
            await until(lambda: not process.informer.is_running, "it ends without its permissions")
            await client.patch(CONFIG_MAP, "a", {"data": {"changed": "yes"}}, namespace)
            await asyncio.to_thread(cluster.kubectl, "create", "clusterrolebinding", namespace, *role)
            await until(lambda: len(process.seen) > 2, "it starts again, with every key")
        finally:
            process.manager.stop()
            await run
