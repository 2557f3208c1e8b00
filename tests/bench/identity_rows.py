"""What it costs to apply an object as a ServiceAccount, and to ask for its permissions before."""

from __future__ import annotations

import asyncio
import json
import statistics
import time
from collections.abc import Iterator

from devcluster import cluster as clusters
from devcluster.cluster import Cluster
from olmkit.api.impersonation import Account
from olmkit.api.meta import Kind
from olmkit.runtime.client import Client
from rukpak.bundledeployment.cluster.access_reviews import may
from rukpak.permissions.rules import Right
from tests.bench.figures import Figure

OBJECTS = 600
"""Objects that each of both applies in turn."""
CONFIG_MAPS = Kind("", "v1", "ConfigMap", "configmaps", namespaced=True)
ACCOUNT = Account("bench", "installer")


def rows() -> Iterator[Figure]:
    """On a cluster of their own."""
    with clusters.start(clusters.ClusterOptions("bench-identity"), print) as cluster:
        _prepare(cluster)
        own, account, asked = asyncio.run(_measure(cluster))
    more = (statistics.fmean(account) / statistics.fmean(own) - 1) * 100
    yield Figure(
        f"one object applied as a ServiceAccount, against rukpak itself ({OBJECTS} each, in turn)",
        f"{_milliseconds(account)} : {_milliseconds(own)} ms ({more:+.1f} %); a review of a permission takes "
        f"{_milliseconds(asked)} ms",
        "+5 %",
    )


def _milliseconds(seconds: list[float]) -> str:
    return f"{statistics.fmean(seconds) * 1000:.2f}"


def _prepare(cluster: Cluster) -> None:
    cluster.run_kubectl("create", "namespace", ACCOUNT.namespace)
    cluster.run_kubectl("create", "serviceaccount", ACCOUNT.name, f"--namespace={ACCOUNT.namespace}")
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": ACCOUNT.name}}
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}]
    cluster.run_kubectl(
        "apply", f"--namespace={ACCOUNT.namespace}", "-f", "-", input=json.dumps({**role, "rules": rules})
    )
    subject = f"--serviceaccount={ACCOUNT.namespace}:{ACCOUNT.name}"
    cluster.run_kubectl(
        "create", "rolebinding", ACCOUNT.name, f"--role={ACCOUNT.name}", subject, f"--namespace={ACCOUNT.namespace}"
    )


async def _measure(cluster: Cluster) -> tuple[list[float], list[float], list[float]]:
    """Seconds of each apply, as rukpak and as the account, and of each review."""
    async with await Client.connect(str(cluster.kubeconfig)) as own:
        account = own.acting_as(ACCOUNT.headers())
        right = Right(ACCOUNT.namespace, "", "configmaps", "", "patch")
        while not await may(account, right):  # noqa: ASYNC110 no event says that a binding was read
            await asyncio.sleep(0.1)
        taken: dict[Client, list[float]] = {own: [], account: []}
        for number in range(OBJECTS):
            order = (own, account) if number % 2 else (account, own)
            for client in order:
                taken[client].append(await _apply(client, f"{'own' if client is own else 'account'}-{number}"))
        asked = []
        for _ in range(OBJECTS):
            started = time.perf_counter()
            await may(account, right)
            asked.append(time.perf_counter() - started)
        return taken[own], taken[account], asked


async def _apply(client: Client, name: str) -> float:
    metadata = {"name": name, "namespace": ACCOUNT.namespace}
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"key": "x" * 1000}}
    started = time.perf_counter()
    await client.apply(CONFIG_MAPS, body, "bench")
    return time.perf_counter() - started
