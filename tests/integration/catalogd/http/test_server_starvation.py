"""A peer that takes all connection slots it can, and clients of other addresses, which are served. Real sockets, real TLS."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import sys
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
from prometheus_client import REGISTRY

from catalogd.storage.catalog_store import CatalogStore
from devcluster.processes import REPOSITORY
from olmkit.runtime.listener.listener import ConnectionLimits
from tests.integration.catalogd.catalog_server import DIGEST, WHOLE, Site, put, serving
from tests.integration.tls import Contexts, contexts_in

GREEDY, HONEST = "127.0.0.1", "127.0.0.2"
LIMITS = ConnectionLimits(max_connections=16, handshake_timeout=600.0, header_timeout=600.0, write_stall_timeout=600.0)
"""Timeouts end no connection: only other clients do."""
CLIENTS = 40
MAX_CONCURRENT_REQUESTS = 4
BIG = "sha256:" + "b" * 64
SIZE = 48 * 1024 * 1024


@pytest.fixture
def contexts(tmp_path: Path) -> Contexts:
    """TLS contexts of the server and of a client that trusts it."""
    return contexts_in(tmp_path)


@pytest.fixture
async def catalog_store(tmp_path: Path) -> CatalogStore:
    """`c` is small, `fresh` large."""
    catalog_store = CatalogStore(tmp_path / "catalog_store")
    await put(catalog_store, "c", DIGEST)
    await put(
        catalog_store, "fresh", BIG, [{"schema": "big", "name": str(at), "text": "x" * (SIZE // 8)} for at in range(8)]
    )
    return catalog_store


@contextlib.asynccontextmanager
async def greedy(site: Site, greed: str) -> AsyncIterator[None]:
    """A process that opens as many connections as it can; yields once it has lost one."""
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.integration.catalogd.http.greedy_clients", greed, str(site.port)),
        cwd=REPOSITORY,
        stdout=asyncio.subprocess.PIPE,
    )
    assert child.stdout is not None
    try:
        async with asyncio.timeout(120):
            assert await child.stdout.readline() == b"began\n"
        yield
        assert child.returncode is None
    finally:
        child.kill()
        await child.wait()


async def _all_are_answered() -> None:
    async with asyncio.timeout(120):
        while (REGISTRY.get_sample_value("catalogd_http_requests_in_flight") or 0) < LIMITS.max_connections:  # noqa: ASYNC110
            await asyncio.sleep(0.05)


async def served(site: Site, context: ssl.SSLContext, address: str, clients: int = CLIENTS) -> Counter[str]:
    """Clients of this address, each with one request over its own connection: how many got the catalog, or which error."""
    connector = aiohttp.TCPConnector(local_addr=(address, 0), force_close=True, limit=MAX_CONCURRENT_REQUESTS)
    url = f"https://localhost:{site.port}/catalogs/c/all.json"
    async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(120)) as session:

        async def one() -> str:
            try:
                async with session.get(url, ssl=context) as answer:
                    return "served" if await answer.read() == WHOLE else str(answer.status)
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                return f"{type(error).__name__}: {error}"

        return Counter(await asyncio.gather(*(one() for _ in range(clients))))


@pytest.mark.parametrize(
    "greed",
    [
        pytest.param("silent", id="without a handshake"),
        pytest.param("idle", id="idle after one request"),
        pytest.param("slow", id="reading 512 bytes per second"),
    ],
)
async def test_a_peer_with_many_connections_does_not_starve_clients_of_other_addresses(
    catalog_store: CatalogStore, contexts: Contexts, greed: str
) -> None:
    async with serving(catalog_store, tls=contexts[0], limits=LIMITS) as site, greedy(site, greed):
        if greed == "slow":
            await _all_are_answered()
        assert await served(site, contexts[1], HONEST) == {"served": CLIENTS}


async def test_readers_below_the_minimum_rate_yield_to_clients_of_their_address(
    catalog_store: CatalogStore, contexts: Contexts
) -> None:
    async with serving(catalog_store, tls=contexts[0], limits=LIMITS) as site, greedy(site, "slow"):
        await _all_are_answered()
        async with asyncio.timeout(120):
            while await served(site, contexts[1], GREEDY, clients=1) != {"served": 1}:  # noqa: ASYNC110 their rate is not known
                await asyncio.sleep(0.2)


async def test_a_peer_without_handshakes_does_not_starve_clients_of_its_address(
    catalog_store: CatalogStore, contexts: Contexts
) -> None:
    """A node's proxy, or one that translates addresses, makes one peer of many."""
    async with serving(catalog_store, tls=contexts[0], limits=LIMITS) as site, greedy(site, "silent"):
        assert await served(site, contexts[1], GREEDY) == {"served": CLIENTS}
