"""How catalogd is asked: trust that follows, tokens that stay where they belong, another replica when one refuses."""

from __future__ import annotations

import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from olmkit.runtime.client import Client
from olmkit.tls.certificate_authority import CertificateSet, create
from olmkit.tls.client_tls import ClientTls
from olmkit.tls.server_tls import ServerTls
from operator_controller.catalog_client.http import (
    MAX_REPLICA_ATTEMPTS,
    MAX_RETRY_AFTER_SECONDS,
    UNTRUSTED_CERTIFICATE,
    CatalogRequestError,
    CatalogServers,
)

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass
class Server:
    """Notes what it is asked: (number of the connection, headers)."""

    port: int = 0
    asked: list[tuple[int, dict[str, str]]] = field(default_factory=list)
    connections: dict[Any, int] = field(default_factory=dict)
    empty: Callable[[int], bool] = lambda number: False
    """Whether the replica that a connection leads to refuses: it has nothing yet, or has too much to do."""
    refusal: Callable[[int], int] = lambda number: 503
    """How it does that."""
    retry_after: str = "2"

    async def handle(self, request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        peer = request.transport.get_extra_info("peername")
        number = self.connections.setdefault(peer, len(self.connections))
        self.asked.append((number, dict(request.headers)))
        if self.empty(number):
            headers = {"Retry-After": self.retry_after} if self.retry_after else {}
            return web.Response(status=self.refusal(number), headers=headers)
        return web.Response(text="content", headers={"Olm-Catalog-Digest": "sha256:1"})


@contextlib.asynccontextmanager
async def serving(context: ssl.SSLContext | None = None) -> AsyncIterator[Server]:
    server = Server()
    application = web.Application()
    application.router.add_get("/{path:.*}", server.handle)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    server.port = runner.addresses[0][1]
    try:
        yield server
    finally:
        await runner.cleanup()


def made() -> tuple[ServerTls, CertificateSet]:
    tls, material = ServerTls(), create(("127.0.0.1",), datetime.now(UTC))
    tls.use(material.leaf)
    return tls, material


@contextlib.asynccontextmanager
async def asking(trust: ClientTls | None = None, client: Client | None = None) -> AsyncIterator[CatalogServers]:
    servers = CatalogServers(aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=10)), trust, client)
    try:
        yield servers
    finally:
        await servers.close()


async def get(servers: CatalogServers, server: Server, scheme: str = "https") -> str:
    base = f"{scheme}://127.0.0.1:{server.port}"
    answered = await servers.get(base, f"{base}/x")
    assert (answered.status, answered.digest) == (200, "sha256:1")
    return answered.body.decode()


async def test_a_server_that_changes_its_ca_is_followed_as_soon_as_the_new_one_is_told(tmp_path: Path) -> None:
    tls, first = made()
    file = tmp_path / "ca.crt"
    file.write_bytes(first.ca_bundle())
    seconds = [1000.0]
    async with serving(tls.context) as server, asking(ClientTls(file, clock=lambda: seconds[0])) as servers:
        assert await get(servers, server) == "content"
        assert await get(servers, server) == "content"
        assert len(server.connections) == 1
        second = create(("127.0.0.1",), datetime.now(UTC))
        tls.use(second.leaf)
        assert await get(servers, server) == "content"  # over the connection that is open
        await servers.session.close()
        servers.session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=10))
        with pytest.raises(CatalogRequestError) as refused:
            await get(servers, server)
        assert str(refused.value) == UNTRUSTED_CERTIFICATE
        file.write_bytes(second.ca_bundle())
        seconds[0] += 2
        assert await get(servers, server) == "content"


async def test_a_server_of_a_stranger_is_not_asked() -> None:
    tls, _ = made()
    async with serving(tls.context) as server, asking(ClientTls()) as servers:
        with pytest.raises(
            CatalogRequestError, match="certificate is not trusted: name its CA with --catalogs-ca-file"
        ):
            await get(servers, server)
        assert not server.asked


async def test_plain_http_is_asked_as_before(tmp_path: Path) -> None:
    _, material = made()
    (tmp_path / "ca.crt").write_bytes(material.ca_bundle())
    async with serving() as server, asking(ClientTls(tmp_path / "ca.crt")) as servers:
        assert await get(servers, server, "http") == "content"


async def test_plain_http_where_tls_is_expected_is_said_without_an_address() -> None:
    async with serving() as server, asking(ClientTls()) as servers:
        with pytest.raises(CatalogRequestError, match=r"^catalogd does not answer \(no TLS connection\)$"):
            await get(servers, server)


async def test_without_the_flag_no_token_is_sent(tmp_path: Path) -> None:
    tls, material = made()
    (tmp_path / "ca.crt").write_bytes(material.ca_bundle())
    async with serving(tls.context) as server, asking(ClientTls(tmp_path / "ca.crt")) as servers:
        await get(servers, server)
        assert "Authorization" not in server.asked[0][1]


@pytest.mark.parametrize(
    ("status", "retry_after"),
    [
        pytest.param(503, "2", id="it has nothing yet"),
        pytest.param(503, "", id="it does not say when to ask again"),
        pytest.param(429, "2", id="it has too much to do"),
    ],
)
async def test_a_replica_that_refuses_is_left_for_another(status: int, retry_after: str) -> None:
    async with serving() as server, asking() as servers:
        server.refusal, server.retry_after = lambda number: status, retry_after
        server.empty = lambda number: number < 3
        assert await get(servers, server, "http") == "content"
        assert [number for number, _ in server.asked] == [0, 1, 2, 3]
        # The connection that is kept leads to one that still has nothing.
        assert await get(servers, server, "http") == "content"
        assert [number for number, _ in server.asked[4:]] == [0, 4]


@pytest.mark.parametrize(
    ("refusals", "said"),
    [
        pytest.param([503], "catalogd answered 503", id="none of them has it"),
        pytest.param([429], "catalogd answered 429", id="all have too much to do"),
        pytest.param([503, 429], "catalogd answered 503", id="one of them has too much to do, and it is one sentence"),
        pytest.param([429, 503], "catalogd answered 503", id="the same in another order"),
    ],
)
async def test_when_all_replicas_refuse_that_is_said_after_a_few(refusals: list[int], said: str) -> None:
    async with serving() as server, asking() as servers:
        server.empty, server.refusal = lambda number: True, lambda number: refusals[number % len(refusals)]
        with pytest.raises(CatalogRequestError, match=f"^{said}$"):
            await get(servers, server, "http")
        assert len(server.asked) == MAX_REPLICA_ATTEMPTS


@dataclass
class Clock:
    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


async def refused(servers: CatalogServers, server: Server, path: str, content: str = "sha256:1") -> int:
    """How many requests a question costs that is refused."""
    base, before = f"http://127.0.0.1:{server.port}", len(server.asked)
    with pytest.raises(CatalogRequestError):
        await servers.get(base, f"{base}/{path}", content)
    return len(server.asked) - before


@pytest.mark.parametrize(
    ("status", "retry_after", "seconds", "others"),
    [
        pytest.param(429, "30", 30, 0, id="too much to do: nothing is asked of that server until then"),
        pytest.param(503, "30", 30, MAX_REPLICA_ATTEMPTS, id="no content: other catalogs are asked for all the same"),
        pytest.param(429, "86400", MAX_RETRY_AFTER_SECONDS, 0, id="too long a time is cut"),
        pytest.param(429, "", 0, MAX_REPLICA_ATTEMPTS, id="no time"),
        pytest.param(429, "Fri, 31 Dec 1999 23:59:59 GMT", 0, MAX_REPLICA_ATTEMPTS, id="a date, which is not read"),
    ],
)
async def test_when_all_replicas_refuse_they_are_asked_again_when_they_said(
    status: int, retry_after: str, seconds: int, others: int
) -> None:
    async with serving() as server, asking() as servers:
        servers.clock = clock = Clock()
        server.empty, server.refusal, server.retry_after = lambda number: True, lambda number: status, retry_after
        assert await refused(servers, server, "catalogs/a/api/v1/resolution?package=p") == MAX_REPLICA_ATTEMPTS
        if seconds:
            clock.now += seconds - 1
            assert await refused(servers, server, "catalogs/a/api/v1/resolution?package=q") == 0
        assert await refused(servers, server, "catalogs/b/api/v1/resolution?package=p") == others
        assert await refused(servers, server, "catalogs/a/api/v1/resolution?package=p", "sha256:2") == others
        clock.now += 1
        assert await refused(servers, server, "catalogs/a/api/v1/resolution?package=q") == MAX_REPLICA_ATTEMPTS
