"""A proxy in front of a real registry that injects faults.

For tests that pull images: `async with RegistryProxy(cluster.registry) as proxy`, then `proxy.on("/blobs/", status(500))`.
Requests without a fault are passed to the registry unchanged.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Mapping
from types import TracebackType
from typing import Self, TypeAlias

import aiohttp
from aiohttp import web

from tests.servers.closing import close

Fault: TypeAlias = Callable[[web.Request, "RegistryProxy"], Awaitable[web.StreamResponse]]
KEPT = ("Content-Type", "Docker-Content-Digest", "Docker-Distribution-Api-Version", "WWW-Authenticate")
FORWARDED = ("Accept", "Authorization")


class RegistryProxy:
    """Listens on a free port of loopback at `address`; `requests` are "GET /v2/..." lines with their headers.

    With `tls` it uses TLS only.
    """

    def __init__(self, upstream: str, tls: ssl.SSLContext | None = None) -> None:
        self._upstream = upstream
        self._tls = tls
        self._faults: dict[str, Fault] = {}
        self._closing = asyncio.Event()
        self.requests: list[tuple[str, Mapping[str, str]]] = []
        self.address = ""

    async def __aenter__(self) -> Self:
        application = web.Application(client_max_size=1024**3)
        application.router.add_route("*", "/{path:.*}", self._answer)
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0, ssl_context=self._tls)
        await site.start()
        host, port = self._runner.addresses[0][:2]
        self.address = f"{host}:{port}"
        self._session = aiohttp.ClientSession(f"http://{self._upstream}", auto_decompress=False)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        await self._session.close()
        await close(self._runner)

    def on(self, part: str, fault: Fault | None) -> None:
        """Set the fault for requests whose path contains `part`; None removes it."""
        self._faults.pop(part, None)
        if fault is not None:
            self._faults[part] = fault

    def paths(self) -> list[str]:
        """The requested paths, without /v2/."""
        return [line.removeprefix("GET ") for line, _ in self.requests if not line.endswith("/v2/")]

    async def fetch(self, request: web.Request) -> tuple[int, Mapping[str, str], bytes]:
        """The response of the registry: status, headers, body."""
        headers = {name: request.headers[name] for name in FORWARDED if name in request.headers}
        async with self._session.request(request.method, request.path_qs, headers=headers) as answer:
            kept = {name: answer.headers[name] for name in KEPT if name in answer.headers}
            return answer.status, kept, await answer.read()

    async def closing(self) -> None:
        """Wait until the proxy is closed."""
        await self._closing.wait()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        self.requests.append((f"{request.method} {request.path}", dict(request.headers)))
        for part, fault in self._faults.items():
            if part in request.path:
                return await fault(request, self)
        code, headers, body = await self.fetch(request)
        return web.Response(status=code, headers=headers, body=body)


def status(code: int, headers: Mapping[str, str] | None = None, body: bytes = b"") -> Fault:
    """Respond with that status."""

    async def fault(request: web.Request, proxy: RegistryProxy) -> web.StreamResponse:
        return web.Response(status=code, headers=headers, body=body)

    return fault


def redirect(location: str, code: int = 307) -> Fault:
    """Redirect the client."""
    return status(code, {"Location": location})


async def silence(request: web.Request, proxy: RegistryProxy) -> web.StreamResponse:
    """Accept the request and never respond."""
    await proxy.closing()
    return web.Response()


async def digest_unsaid(request: web.Request, proxy: RegistryProxy) -> web.StreamResponse:
    """Respond as the registry does, without its digest header."""
    code, headers, body = await proxy.fetch(request)
    kept = {name: value for name, value in headers.items() if name != "Docker-Content-Digest"}
    return web.Response(status=code, headers=kept, body=body)


def redirect_to(address: str) -> Fault:
    """Redirect the client to the same path at another address."""

    async def fault(request: web.Request, proxy: RegistryProxy) -> web.StreamResponse:
        return web.Response(status=307, headers={"Location": f"http://{address}{request.path}"})

    return fault


def changed(change: Callable[[bytes], bytes]) -> Fault:
    """Respond with other bytes than the registry, with the same headers."""

    async def fault(request: web.Request, proxy: RegistryProxy) -> web.StreamResponse:
        code, headers, body = await proxy.fetch(request)
        return web.Response(status=code, headers=headers, body=change(body))

    return fault


def trickle(pause: float) -> Fault:
    """Respond byte by byte."""

    async def fault(request: web.Request, proxy: RegistryProxy) -> web.StreamResponse:
        code, headers, body = await proxy.fetch(request)
        response = web.StreamResponse(status=code, headers=headers)
        response.content_length = len(body)
        await response.prepare(request)
        for position in range(len(body)):
            await response.write(body[position : position + 1])
            await asyncio.sleep(pause)
        return response

    return fault


async def hang_up_midway(request: web.Request, proxy: RegistryProxy) -> web.StreamResponse:
    """Declare the complete length, send half of the body and close the connection."""
    code, headers, body = await proxy.fetch(request)
    response = web.StreamResponse(status=code, headers=headers)
    response.content_length = len(body)
    await response.prepare(request)
    await response.write(body[: len(body) // 2])
    assert request.transport is not None
    request.transport.close()
    return response


def wants_token(realm: str, token: str) -> Fault:
    """Require the token, and name its token service."""

    async def fault(request: web.Request, proxy: RegistryProxy) -> web.StreamResponse:
        if request.headers.get("Authorization") != f"Bearer {token}":
            challenge = f'Bearer realm="{realm}",service="registry",scope="repository:a/b:pull"'
            return web.Response(status=401, headers={"WWW-Authenticate": challenge})
        code, headers, body = await proxy.fetch(request)
        return web.Response(status=code, headers=headers, body=body)

    return fault
