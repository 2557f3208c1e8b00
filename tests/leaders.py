"""Leaders of controllers that no process runs: simulated nodes make the pods of the suite Ready and execute nothing."""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from devcluster.cluster import Cluster
from olmctl.suite.manifests import load_manifests
from olmkit.runtime.client import Client
from olmkit.runtime.election import Election


@contextmanager
def leaders(cluster: Cluster, *, are_awaited: bool = True) -> Iterator[None]:
    """Candidates for the Leases of all controllers, as kwok executes none; their host is called elsewhere.

    `are_awaited`: the context begins when each has acquired its Lease. Otherwise their namespace may be created later.
    """
    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        thread = threading.Thread(target=loop.run_forever)
        thread.start()
        try:
            holding = asyncio.run_coroutine_threadsafe(_hold(cluster, are_awaited=are_awaited), loop).result()
            try:
                yield
            finally:
                asyncio.run_coroutine_threadsafe(_release(*holding), loop).result()
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()


@contextmanager
def leader_of_olm_v1(cluster: Cluster, *, has_permission: bool = True) -> Iterator[None]:
    """A controller of OLM v1 that renews its Lease twice a second. Without the permission of its account, the
    Lease is somebody else's."""
    ended = threading.Event()
    account = ("--clusterrole=cluster-admin", "--serviceaccount=default:catalogd-controller-manager")
    if has_permission:
        cluster.kubectl("create", "clusterrolebinding", "leader-of-olm-v1", *account)
    path = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
    spec = {"holderIdentity": "catalogd-7c9_1", "leaseDurationSeconds": 137, "renewTime": "2026-01-01T00:00:00.000000Z"}
    meta = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "catalogd-operator-lock"}}
    cluster.api.apply(path, {**meta, "spec": spec})

    def renew() -> None:
        renewals = 0
        while not ended.wait(0.5):
            renewals += 1
            cluster.api.apply(path, {**meta, "spec": {**spec, "renewTime": f"2026-01-01T00:00:00.{renewals:06}Z"}})

    thread = threading.Thread(target=renew)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        cluster.api.call("DELETE", f"{path}/catalogd-operator-lock")
        cluster.kubectl("delete", "clusterrolebinding", "leader-of-olm-v1", "--ignore-not-found")


async def _hold(cluster: Cluster, *, are_awaited: bool) -> tuple[Client, list[asyncio.Task[None]]]:
    client = await Client(str(cluster.kubeconfig)).__aenter__()
    tasks, events = [], []
    for each in load_manifests().deployments:
        metadata, leads = each["metadata"], asyncio.Event()
        election = Election(client, metadata["name"], metadata["namespace"], holder="elsewhere_1")
        tasks.append(asyncio.create_task(election.run(functools.partial(_lead, leads))))
        events.append(leads)
    if are_awaited:
        await asyncio.gather(*(each.wait() for each in events))
    return client, tasks


async def _lead(leads: asyncio.Event) -> None:
    leads.set()
    await asyncio.Event().wait()


async def _release(client: Client, tasks: list[asyncio.Task[None]]) -> None:
    for each in tasks:
        each.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await client.__aexit__(None, None, None)
