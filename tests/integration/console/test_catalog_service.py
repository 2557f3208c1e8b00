"""The client of catalogd's Service, at a server with TLS: which CA it trusts, and who gets to see the token."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest
from aiohttp import web

from console.catalog_service import KNOWN_SECONDS, CatalogService
from olmkit.errors import Forbidden, Unavailable
from olmkit.runtime.listener.application_server import ApplicationServer
from olmkit.runtime.listener.listener import ConnectionLimits
from olmkit.tls import client_tls
from olmkit.tls.certificate_authority import create
from olmkit.tls.client_tls import ClientTls
from olmkit.tls.server_tls import ServerTls

HOST = "127.0.0.1"


@dataclass
class Catalogs:
    """What a server of catalogs gets and answers. `tokens` are the values of Authorization, "" without one."""

    tls: ServerTls = field(default_factory=ServerTls)
    requires_token: bool = False
    location: str = ""
    tokens: list[str] = field(default_factory=list)
    port: int = 0

    def renew(self) -> bytes:
        """Serve a certificate of a new CA; returns its PEM."""
        made = create([HOST], datetime.now(UTC))
        self.tls.use(made.leaf)
        return made.ca_bundle()

    async def answer(self, request: web.Request) -> web.Response:
        """An object, or what the fields say."""
        self.tokens.append(request.headers.get("Authorization", ""))
        if self.location:
            return web.Response(status=302, headers={"Location": self.location})
        if self.requires_token and not self.tokens[-1]:
            return web.json_response({}, status=401)
        return web.json_response({"path": request.path})


@pytest.fixture
async def catalogs() -> AsyncIterator[Catalogs]:
    found = Catalogs()
    application = web.Application()
    application.router.add_get("/{path:.*}", found.answer)
    server = ApplicationServer(
        "catalogs",
        application,
        ConnectionLimits(max_connections=8),
        shutdown_grace_seconds=0.1,
        ssl_context=found.tls.context,
    )
    found.port = await server.start(f"{HOST}:0")
    yield found
    await server.close()


@pytest.fixture
async def service(catalogs: Catalogs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[CatalogService]:
    """A client that trusts the CAs in ca.crt, which does not exist yet."""
    monkeypatch.setattr(client_tls, "MIN_REFRESH_SECONDS", 0.0)
    found = CatalogService(f"https://{HOST}:{catalogs.port}", ClientTls(tmp_path / "ca.crt"))
    yield found
    await found.close()


async def test_a_ca_that_is_published_after_the_start_and_a_new_one_are_trusted_at_once(
    catalogs: Catalogs, service: CatalogService, tmp_path: Path
) -> None:
    first = catalogs.renew()
    for text in (None, b"", b"no certificate"):
        if text is not None:
            (tmp_path / "ca.crt").write_bytes(text)
        with pytest.raises(Unavailable, match="is not by a CA that the console trusts"):
            await service.get("/a", "secret")
    (tmp_path / "ca.crt").write_bytes(first)
    assert await service.get("/a", "secret") == {"path": "/a"}
    (tmp_path / "ca.crt").write_bytes(first + catalogs.renew())
    await service.close()
    again = CatalogService(service._url, service._trust)
    assert await again.get("/b", "secret") == {"path": "/b"}
    await again.close()


async def test_the_token_is_sent_only_where_catalogd_requires_one(
    catalogs: Catalogs, service: CatalogService, tmp_path: Path
) -> None:
    (tmp_path / "ca.crt").write_bytes(catalogs.renew())
    await service.get("/a", "secret")
    assert catalogs.tokens == [""]
    catalogs.requires_token = True
    assert await service.get("/a", "secret") == {"path": "/a"}
    assert catalogs.tokens == ["", "", "Bearer secret"]
    with pytest.raises(Forbidden, match="requires a token"):
        await service.get("/a", "")


async def test_whether_catalogd_asks_for_a_token_is_known_for_a_minute(catalogs: Catalogs, tmp_path: Path) -> None:
    """It may be started with other flags, and what it asked for before decides who gets what others have read."""
    (tmp_path / "ca.crt").write_bytes(catalogs.renew())
    times = [0.0]
    service = CatalogService(f"https://{HOST}:{catalogs.port}", ClientTls(tmp_path / "ca.crt"), lambda: times[0])
    assert service.asks_for_token is None
    for requires_token in (False, True):
        catalogs.requires_token = requires_token
        await service.get("/a", "secret")
        assert service.asks_for_token is requires_token
        times[0] += KNOWN_SECONDS
        assert service.asks_for_token is None
    service._url = f"https://{HOST}:1"
    with pytest.raises(Unavailable):
        await service.get("/a", "secret")
    assert service.asks_for_token is True, "while it is away, nothing that was read before is open to others"
    await service.close()


async def test_the_token_never_leaves_in_the_clear_or_to_another_place(
    catalogs: Catalogs, service: CatalogService, tmp_path: Path
) -> None:
    (tmp_path / "ca.crt").write_bytes(catalogs.renew())
    catalogs.location = f"https://{HOST}:{catalogs.port}/elsewhere"
    with pytest.raises(Unavailable, match="leads to another address"):
        await service.get("/a", "secret")
    assert catalogs.tokens == [""]


async def test_a_catalogd_without_tls_gets_no_token() -> None:
    found = Catalogs(requires_token=True)
    application = web.Application()
    application.router.add_get("/{path:.*}", found.answer)
    server = ApplicationServer("plain", application, ConnectionLimits(max_connections=8), shutdown_grace_seconds=0.1)
    port = await server.start(f"{HOST}:0")
    service = CatalogService(f"http://{HOST}:{port}", ClientTls())
    with pytest.raises(Forbidden):
        await service.get("/a", "secret")
    assert found.tokens == [""]
    await service.close()
    await server.close()
