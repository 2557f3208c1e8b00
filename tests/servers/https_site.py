"""A real HTTPS server on loopback, and clients that return what they received."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

import aiohttp
from aiohttp import web
from aiohttp.typedefs import Middleware

from olmkit.tls.client_tls import client_context
from tests.servers.closing import close


@dataclass
class Site:
    """`GET /`: "hello", and 404 for what has "absent" in its path. `GET /slow`: ten lines, each when the test has set `go`."""

    port: int = 0
    go: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(0))
    asked: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    async def hello(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(request.path)
        self.headers.append(dict(request.headers))
        if "absent" in request.path:
            raise web.HTTPNotFound
        return web.Response(text="hello")

    async def slow(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for number in range(10):
            await response.write(f"{number}\n".encode())
            await self.go.acquire()
        return response

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"


@contextlib.asynccontextmanager
async def serve(context: ssl.SSLContext | None, middlewares: Sequence[Middleware] = ()) -> AsyncIterator[Site]:
    """Run the server while the context is open."""
    site = Site()
    application = web.Application(middlewares=middlewares)
    application.router.add_get("/slow", site.slow)
    application.router.add_get("/{path:.*}", site.hello)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    site.port = runner.addresses[0][1]
    try:
        yield site
    finally:
        await close(runner)


async def shown(port: int, bundle: bytes, name: str = "127.0.0.1") -> bytes:
    """The certificate (DER) that a client with these CAs receives on a new connection. Raises ssl.SSLError."""
    context = client_context(bundle.decode(), with_system=False)
    _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context, server_hostname=name)
    try:
        connection: ssl.SSLObject = writer.get_extra_info("ssl_object")
        certificate = connection.getpeercert(binary_form=True)
        assert certificate is not None
        return certificate
    finally:
        writer.transport.abort()


@contextlib.asynccontextmanager
async def session(bundle: bytes) -> AsyncIterator[aiohttp.ClientSession]:
    """A client with one persistent connection."""
    connector = aiohttp.TCPConnector(ssl=client_context(bundle.decode(), with_system=False), limit=1)
    async with aiohttp.ClientSession(connector=connector) as made:
        yield made
