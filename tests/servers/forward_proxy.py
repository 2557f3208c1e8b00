"""A forward proxy: CONNECT for https, absolute URLs for http.

For tests of olmkit.sources. A real server that connects to loopback only. It resolves private names, so that hosts can be reached
through it only.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit


@dataclass
class ForwardProxy:
    """`hosts` are its names, "registry.test:443" to "127.0.0.1:port"; `login` is "user:password" or "" for no authentication.

    `requests` are request lines, `authorizations` the values of Proxy-Authorization, and `passed_on` those of Authorization.
    """

    hosts: Mapping[str, str]
    login: str = ""
    requests: list[str] = field(default_factory=list)
    authorizations: list[str] = field(default_factory=list)
    passed_on: list[str] = field(default_factory=list)
    address: str = ""

    @asynccontextmanager
    async def running(self, context: ssl.SSLContext | None = None) -> AsyncIterator[ForwardProxy]:
        """Listen on a free port of loopback, `address`; with a context the proxy itself uses TLS."""
        self._tasks: set[asyncio.Task[None]] = set()
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0, ssl=context)
        host, port = server.sockets[0].getsockname()[:2]
        self.address = f"{host}:{port}"
        try:
            yield self
        finally:
            server.close()
            for task in list(self._tasks):
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            await self._serve(reader, writer)
        writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
        self.requests.append(head[0])
        self.authorizations.append(headers.get("proxy-authorization", ""))
        self.passed_on.append(headers.get("authorization", ""))
        method, target, _ = head[0].split(" ")
        expected = "Basic " + base64.b64encode(self.login.encode()).decode()
        if self.login and headers.get("proxy-authorization") != expected:
            writer.write(b'HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm="p"\r\nContent-Length: 0\r\n\r\n')
            await writer.drain()
            return
        there = target if method == "CONNECT" else urlsplit(target).netloc
        address = self.hosts.get(there)
        if address is None:
            writer.write(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
            await writer.drain()
            return
        host, _, port = address.partition(":")
        far_reader, far_writer = await asyncio.open_connection(host, int(port))
        if method == "CONNECT":
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        else:
            path = urlsplit(target)._replace(scheme="", netloc="").geturl()
            kept = [line for line in head[1:-2] if not line.lower().startswith(("proxy-", "connection:"))]
            far_writer.write("\r\n".join([f"{method} {path} HTTP/1.1", *kept, "Connection: close", "", ""]).encode())
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(_copy(reader, far_writer))
                group.create_task(_copy(far_reader, writer))
        finally:
            far_writer.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError, ssl.SSLError):
        while data := await reader.read(64 * 1024):
            writer.write(data)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()
        else:
            writer.close()
