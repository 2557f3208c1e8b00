"""A real web server for tests of archives: files with ETag and Last-Modified, an optional login, and faults."""

from __future__ import annotations

import asyncio
import base64
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import TracebackType
from typing import Self, TypeAlias

from aiohttp import web

from tests.servers.closing import close

Fault: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse | None]]


class WebServer:
    """Serves the files of a directory on a free port of loopback, at `address`.

    `requests` are the received requests; `login` is the (user, password) that requests must have.
    """

    def __init__(
        self, directory: Path, *, login: tuple[str, str] | None = None, tls: ssl.SSLContext | None = None
    ) -> None:
        self.directory = directory
        self._login = login
        self._tls = tls
        self._closing = asyncio.Event()
        self.fault: Fault | None = None
        self.requests: list[web.Request] = []
        self.address = ""

    @property
    def url(self) -> str:
        """http(s)://127.0.0.1:port"""
        return f"{'https' if self._tls else 'http'}://{self.address}"

    async def __aenter__(self) -> Self:
        application = web.Application(client_max_size=1024**3)
        application.router.add_route("*", "/{path:.*}", self._answer)
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0, ssl_context=self._tls).start()
        host, port = self._runner.addresses[0][:2]
        self.address = f"{host}:{port}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        await close(self._runner)

    async def closing(self) -> None:
        """Wait until the server is closed."""
        await self._closing.wait()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        self.requests.append(request)
        if self.fault is not None:
            answer = await self.fault(request)
            if answer is not None:
                return answer
        if self._login is not None:
            wanted = "Basic " + base64.b64encode(":".join(self._login).encode()).decode()
            if request.headers.get("Authorization") != wanted:
                return web.Response(status=401, headers={"WWW-Authenticate": 'Basic realm="files"'})
        return await self.content(request)

    async def content(self, request: web.Request) -> web.StreamResponse:
        """The response to an authorized request."""
        path = self.directory / request.path.lstrip("/")
        return web.FileResponse(path) if path.is_file() else web.Response(status=404, text="nothing here")


async def trickle(request: web.Request) -> web.StreamResponse:
    """Send one byte every 20 ms, without end; answer HEAD at once."""
    response = web.StreamResponse(headers={"Content-Type": "application/x-git-upload-pack-advertisement"})
    await response.prepare(request)
    while request.method != "HEAD" and request.transport and not request.transport.is_closing():
        await response.write(b"0")
        await asyncio.sleep(0.02)
    return response


def redirect(location: str, code: int = 302) -> Fault:
    """Redirect the client."""

    async def fault(request: web.Request) -> web.StreamResponse:
        return web.Response(status=code, headers={"Location": location})

    return fault
