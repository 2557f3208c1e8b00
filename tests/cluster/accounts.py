"""Accounts that may, and may not, get the paths of a ClusterRole of config/rbac, and the CA of the server that they ask."""

from __future__ import annotations

import asyncio

from devcluster.cluster import Cluster
from devcluster.processes import REPOSITORY
from olmkit.runtime.client import Client
from olmkit.runtime.informer import Informer
from olmkit.tls.service import CA_KEY, CONFIG_MAP, TlsService

READER, STRANGER = "reader", "stranger"


def accounts(cluster: Cluster, namespace: str, role: str) -> dict[str, str]:
    """The tokens of two accounts of the namespace. READER has the ClusterRole of the suite, by a binding with the name of the
    namespace, which the test deletes."""
    cluster.kubectl("apply", "--server-side", "-f", str(REPOSITORY / "config" / "rbac" / f"{role}.yaml"))
    tokens = {}
    for account in (READER, STRANGER):
        cluster.kubectl("create", "serviceaccount", account, f"--namespace={namespace}")
        tokens[account] = cluster.kubectl("create", "token", account, f"--namespace={namespace}").strip()
    subject = f"--serviceaccount={namespace}:{READER}"
    cluster.kubectl("create", "clusterrolebinding", namespace, f"--clusterrole=olm-suite-{role}", subject)
    return tokens


async def published_ca(client: Client, namespace: str, service: TlsService) -> str:
    """The CA, as soon as it is published."""
    informer, changed = Informer(client, CONFIG_MAP, namespace=namespace), asyncio.Event()
    informer.subscribe(lambda _: changed.set())
    watch = asyncio.create_task(informer.run())
    try:
        async with asyncio.timeout(60):
            while (found := informer.get(service.config_map, namespace)) is None:
                changed.clear()
                await changed.wait()
        return str(found["data"][CA_KEY])
    finally:
        watch.cancel()
        await asyncio.wait([watch])
