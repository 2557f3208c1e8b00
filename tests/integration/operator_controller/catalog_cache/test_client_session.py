"""Requests to catalogd: changing CAs, tokens over HTTPS alone, retries over replicas. Servers on loopback."""

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
from operator_controller.catalog_cache.client import (
    MAX_REPLICA_ATTEMPTS,
    MAX_RETRY_AFTER_SECONDS,
    UNTRUSTED_CERTIFICATE,
    CatalogRequestError,
    CatalogResponse,
    CatalogSession,
)
from tests.servers.closing import close

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass
class Server:
    """Records each request: (number of its connection, headers)."""

    port: int = 0
    requests: list[tuple[int, dict[str, str]]] = field(default_factory=list)
    connections: dict[Any, int] = field(default_factory=dict)
    refuses: Callable[[int], bool] = lambda number: False
    """True if the replica of a connection refuses: it does not have the content yet, or is overloaded."""
    refusal: Callable[[int], int] = lambda number: 503
    """With which status."""
    retry_after: str = "2"

    async def handle(self, request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        peer = request.transport.get_extra_info("peername")
        number = self.connections.setdefault(peer, len(self.connections))
        self.requests.append((number, dict(request.headers)))
        if self.refuses(number):
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
        await close(runner)


def create_tls() -> tuple[ServerTls, CertificateSet]:
    tls, material = ServerTls(), create(("127.0.0.1",), datetime.now(UTC))
    tls.use(material.leaf)
    return tls, material


@contextlib.asynccontextmanager
async def session_with(trust: ClientTls | None = None, client: Client | None = None) -> AsyncIterator[CatalogSession]:
    session = CatalogSession(aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=10)), trust, client)
    try:
        yield session
    finally:
        await session.close()


@dataclass
class Body:
    """Receives the body in memory."""

    received: bytearray = field(default_factory=bytearray)

    def accepts(self, response: CatalogResponse) -> bool:
        return response.status == 200

    async def write(self, chunk: bytes) -> None:
        self.received += chunk


async def get(session: CatalogSession, server: Server, scheme: str = "https") -> str:
    base, body = f"{scheme}://127.0.0.1:{server.port}", Body()
    response = await session.get(base, f"{base}/x", body)
    assert (response.status, response.digest) == (200, "sha256:1")
    return body.received.decode()


async def test_a_server_with_another_ca_is_trusted_once_the_file_contains_it(tmp_path: Path) -> None:
    tls, first = create_tls()
    file = tmp_path / "ca.crt"
    file.write_bytes(first.ca_bundle())
    seconds = [1000.0]
    async with serving(tls.context) as server, session_with(ClientTls(file, clock=lambda: seconds[0])) as session:
        assert await get(session, server) == "content"
        assert await get(session, server) == "content"
        assert len(server.connections) == 1
        second = create(("127.0.0.1",), datetime.now(UTC))
        tls.use(second.leaf)
        assert await get(session, server) == "content"  # over the open connection
        await session.session.close()
        session.session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=10))
        with pytest.raises(CatalogRequestError) as refused:
            await get(session, server)
        assert str(refused.value) == UNTRUSTED_CERTIFICATE
        file.write_bytes(second.ca_bundle())
        seconds[0] += 2
        assert await get(session, server) == "content"


async def test_a_server_with_an_untrusted_certificate_receives_no_request() -> None:
    tls, _ = create_tls()
    async with serving(tls.context) as server, session_with(ClientTls()) as session:
        with pytest.raises(CatalogRequestError, match="certificate is not trusted: set --catalogs-ca-file to its CA"):
            await get(session, server)
        assert not server.requests


async def test_plain_http_needs_no_trust(tmp_path: Path) -> None:
    _, material = create_tls()
    (tmp_path / "ca.crt").write_bytes(material.ca_bundle())
    async with serving() as server, session_with(ClientTls(tmp_path / "ca.crt")) as session:
        assert await get(session, server, "http") == "content"


async def test_plain_http_where_tls_is_expected_is_reported_without_an_address() -> None:
    async with serving() as server, session_with(ClientTls()) as session:
        with pytest.raises(CatalogRequestError, match=r"^catalogd does not answer \(no TLS connection\)$"):
            await get(session, server)


async def test_without_the_flag_no_token_is_sent(tmp_path: Path) -> None:
    tls, material = create_tls()
    (tmp_path / "ca.crt").write_bytes(material.ca_bundle())
    async with serving(tls.context) as server, session_with(ClientTls(tmp_path / "ca.crt")) as session:
        await get(session, server)
        assert "Authorization" not in server.requests[0][1]


@pytest.mark.parametrize(
    ("status", "retry_after"),
    [
        pytest.param(503, "2", id="it does not have the content yet"),
        pytest.param(503, "", id="it names no time for a retry"),
        pytest.param(429, "2", id="it is overloaded"),
    ],
)
async def test_a_request_that_a_replica_refuses_is_sent_to_another(status: int, retry_after: str) -> None:
    async with serving() as server, session_with() as session:
        server.refusal, server.retry_after = lambda number: status, retry_after
        server.refuses = lambda number: number < 3
        assert await get(session, server, "http") == "content"
        assert [number for number, _ in server.requests] == [0, 1, 2, 3]
        # The pooled connection leads to one that still refuses.
        assert await get(session, server, "http") == "content"
        assert [number for number, _ in server.requests[4:]] == [0, 4]


@pytest.mark.parametrize(
    ("refusals", "message"),
    [
        pytest.param([503], "catalogd answered 503", id="none of them has it"),
        pytest.param([429], "catalogd answered 429", id="all are overloaded"),
        pytest.param([503, 429], "catalogd answered 503", id="one of them is overloaded, and there is one message"),
        pytest.param([429, 503], "catalogd answered 503", id="the same in another order"),
    ],
)
async def test_an_error_is_raised_after_a_limited_number_of_refusals(refusals: list[int], message: str) -> None:
    async with serving() as server, session_with() as session:
        server.refuses, server.refusal = lambda number: True, lambda number: refusals[number % len(refusals)]
        with pytest.raises(CatalogRequestError, match=f"^{message}$"):
            await get(session, server, "http")
        assert len(server.requests) == MAX_REPLICA_ATTEMPTS


@dataclass
class Clock:
    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


async def refused(session: CatalogSession, server: Server, path: str, content: str = "sha256:1") -> int:
    """How many requests are sent for a call that fails."""
    base, before = f"http://127.0.0.1:{server.port}", len(server.requests)
    with pytest.raises(CatalogRequestError):
        await session.get(base, f"{base}/{path}", Body(), content)
    return len(server.requests) - before


@pytest.mark.parametrize(
    ("status", "retry_after", "seconds", "others"),
    [
        pytest.param(429, "30", 30, 0, id="overloaded: the server receives no request until then"),
        pytest.param(503, "30", 30, MAX_REPLICA_ATTEMPTS, id="no content: other catalogs are requested"),
        pytest.param(429, "86400", MAX_RETRY_AFTER_SECONDS, 0, id="a long time is shortened"),
        pytest.param(429, "", 0, MAX_REPLICA_ATTEMPTS, id="no time"),
        pytest.param(429, "Fri, 31 Dec 1999 23:59:59 GMT", 0, MAX_REPLICA_ATTEMPTS, id="a date is ignored"),
    ],
)
async def test_replicas_that_refuse_are_retried_after_the_time_they_name(
    status: int, retry_after: str, seconds: int, others: int
) -> None:
    async with serving() as server, session_with() as session:
        session.clock = clock = Clock()
        server.refuses, server.refusal, server.retry_after = lambda number: True, lambda number: status, retry_after
        assert await refused(session, server, "catalogs/a/api/v1/resolution?package=p") == MAX_REPLICA_ATTEMPTS
        if seconds:
            clock.now += seconds - 1
            assert await refused(session, server, "catalogs/a/api/v1/resolution?package=q") == 0
        assert await refused(session, server, "catalogs/b/api/v1/resolution?package=p") == others
        assert await refused(session, server, "catalogs/a/api/v1/resolution?package=p", "sha256:2") == others
        clock.now += 1
        assert await refused(session, server, "catalogs/a/api/v1/resolution?package=q") == MAX_REPLICA_ATTEMPTS
