"""Replicas of catalogd in the process of the test, as in a cluster: with its account, over TLS, one of them with the lease."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import aiohttp
from yarl import URL

from devcluster.allocation import free_port
from devcluster.suite import NAMESPACE, Suite
from olmkit.runtime.lease_holder import LEASE
from olmkit.runtime.manager import Manager
from tests.cluster.catalogd.conftest import World, running
from tests.cluster.proxy import Proxy


@dataclass
class Replica:
    """A catalogd in the process of the test; the others connect to it at `proxy`."""

    manager: Manager
    port: int
    proxy: Proxy


class Replicas:
    """The replicas of a test, each with the account and namespace of config/rbac."""

    def __init__(self, world: World, suite: Suite, kubeconfig: Path, directory: Path, stack: AsyncExitStack) -> None:
        self.world, self.directory = world, directory
        self._suite, self._kubeconfig, self._stack = suite, kubeconfig, stack
        self._tls: ssl.SSLContext | None = None

    async def start(self, name: str, *more: str) -> Replica:
        """Start another one, with these flags in addition."""
        port = free_port()
        proxy = await self._stack.enter_async_context(Proxy(("127.0.0.1", port), None))
        flags = {
            "--kubeconfig": self._kubeconfig,
            "--system-namespace": NAMESPACE,
            "--catalogs-server-addr": f"127.0.0.1:{port}",
            "--replica-address": proxy.address,
        }
        given = [f"{flag}={value}" for flag, value in flags.items()]
        replica = running(self.world, self.directory / name, *given, *more, role=())
        return Replica(await self._stack.enter_async_context(replica), port, proxy)

    async def ask(self, replica: Replica, path: str, token: str = "") -> tuple[int, Mapping[str, str], bytes]:
        """Status, headers and body of a request with that token; the path is sent as it is."""
        if self._tls is None:
            self._tls = await asyncio.to_thread(self._suite.tls_context)
        url = URL(f"https://127.0.0.1:{replica.port}{path}", encoded=True)
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        connector = aiohttp.TCPConnector(ssl=self._tls)
        async with aiohttp.ClientSession(connector=connector) as http, http.get(url, headers=headers) as answer:
            return answer.status, answer.headers, await answer.read()

    async def served(self, replica: Replica) -> str:
        """The digest of the content it serves; the HTTP status if there is none."""
        status, headers, _ = await self.ask(replica, f"/catalogs/{self.world.name}/all.json")
        return headers.get("Olm-Catalog-Digest", str(status))

    async def serves(self, replica: Replica, digest: str) -> None:
        """Wait until it serves that digest."""
        async with asyncio.timeout(60):
            while await self.served(replica) != digest:  # noqa: ASYNC110 there is no event to await
                await asyncio.sleep(0.05)

    async def give_lease(self, holder: str) -> None:
        """Give the lease to another holder; "" releases it."""
        spec = {"holderIdentity": holder, "leaseDurationSeconds": 3600 if holder else 1}
        await self.world.client.patch(LEASE, "catalogd", {"spec": spec}, NAMESPACE)
