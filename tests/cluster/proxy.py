"""A TCP proxy in front of the real API server whose connections tests can cut, stall, refuse and manipulate.

Plain HTTP on the client's side, TLS towards the API server, so that the bytes of a watch can be touched on their way. It knows
nothing of HTTP: it forwards bytes.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, Self, TypeVar
from urllib.parse import urlsplit

import yaml

Touch = Callable[[bytes], bytes]
CHUNK = 65536
P = TypeVar("P", bound="Proxy")


class Proxy:
    """Made by run(); `kubeconfig` connects through it."""

    def __init__(self, upstream: tuple[str, int], tls: ssl.SSLContext | None) -> None:
        self._upstream = upstream
        self._tls = tls
        self._writers: set[asyncio.StreamWriter] = set()
        self._client_of: dict[asyncio.StreamWriter, asyncio.StreamWriter] = {}
        """The writer towards the client, by that towards the API server."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._flows = asyncio.Event()
        self._flows.set()
        self._server: asyncio.Server | None = None
        self._held: socket.socket | None = None
        """Bound and never listening: while the proxy is closed, no other socket gets its port."""
        self._touch: Touch | None = None
        self.port = 0
        self.kubeconfig = Path()
        self.accepted = 0
        self.held_back = 0
        """The connections on which bytes for the client wait, because the proxy is silent."""
        self._came = asyncio.Event()

    @property
    def address(self) -> str:
        """Its address, host:port."""
        return f"127.0.0.1:{self.port}"

    async def until_accepted(self, count: int) -> None:
        """Wait until that many connections have been accepted in total."""
        while self.accepted < count:
            self._came.clear()
            await self._came.wait()

    async def open(self) -> None:
        """Accept connections (again, on the same port)."""
        if self._held is None:
            self._held = socket.socket()
            self._held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._held.bind(("127.0.0.1", 0))
            self.port = self._held.getsockname()[1]
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self.port)

    def close(self) -> None:
        """Refuse new connections; existing ones continue."""
        if self._server is not None:
            self._server.close()
            self._server = None

    def cut(self) -> None:
        """Reset all connections."""
        for writer in self._writers:
            writer.transport.abort()

    def silence(self) -> None:
        """Stop forwarding bytes from the API server to clients; connections stay open."""
        self._flows.clear()

    def resume(self) -> None:
        """Forward bytes again, beginning with those that were held back."""
        self._flows.set()

    def touch(self, change: Touch | None) -> None:
        """Send clients the result of `change` for each chunk from the API server; None: forward it unchanged."""
        self._touch = change

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        self._came.set()
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._writers.add(writer)
        try:
            up_reader, up_writer = await self._connect()
            self._client_of[up_writer] = writer
            directions = {
                asyncio.create_task(self._move(reader, up_writer, is_answer=False)),
                asyncio.create_task(self._move(up_reader, writer, is_answer=True)),
            }
            await asyncio.wait(directions, return_when=asyncio.FIRST_COMPLETED)
            for direction in directions:
                direction.cancel()
            await asyncio.wait(directions)
            del self._client_of[up_writer]
            up_writer.transport.abort()
        except OSError:
            pass  # no upstream: the connection of the client ends
        finally:
            writer.transport.abort()
            self._writers.discard(writer)
            self._tasks.discard(task)

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection with a small receive buffer, so that the API server soon notices a stall."""
        upstream = socket.socket(socket.AF_INET)
        upstream.setblocking(False)
        upstream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, CHUNK)
        try:
            await asyncio.get_running_loop().sock_connect(upstream, self._upstream)
        except OSError:
            upstream.close()
            raise
        host = self._upstream[0] if self._tls is not None else None
        return await asyncio.open_connection(sock=upstream, ssl=self._tls, server_hostname=host)

    async def _move(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, is_answer: bool) -> None:
        with contextlib.suppress(OSError):
            while chunk := await reader.read(CHUNK):
                if is_answer:
                    self.held_back += 1
                    try:
                        await self._flows.wait()
                    finally:
                        self.held_back -= 1
                    chunk = self._touch(chunk) if self._touch is not None else chunk
                writer.write(chunk)
                await writer.drain()

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()
        if self._held is not None:
            self._held.close()
        self.cut()
        self.resume()
        if self._tasks:
            await asyncio.wait(self._tasks)


def _tls(entry: dict[str, Any]) -> ssl.SSLContext | None:
    if not entry["server"].startswith("https:"):
        return None
    encoded = entry.get("certificate-authority-data")
    if encoded:
        return ssl.create_default_context(cadata=base64.b64decode(encoded).decode())
    return ssl.create_default_context(cafile=entry.get("certificate-authority"))


def run(kubeconfig: Path, directory: Path) -> contextlib.AbstractAsyncContextManager[Proxy]:
    """A proxy in front of the cluster of `kubeconfig`; its own kubeconfig is written into `directory`."""
    return run_as(Proxy, kubeconfig, directory)


@contextlib.asynccontextmanager
async def run_as(make: type[P], kubeconfig: Path, directory: Path) -> AsyncIterator[P]:
    """A proxy of that class."""
    content = yaml.safe_load(await asyncio.to_thread(kubeconfig.read_text))
    entry = content["clusters"][0]["cluster"]
    address = urlsplit(entry["server"])
    proxy = make((address.hostname or "", address.port or 443), _tls(entry))
    async with proxy:
        content["clusters"][0]["cluster"] = {"server": f"http://127.0.0.1:{proxy.port}"}
        proxy.kubeconfig = directory / "proxy.kubeconfig"
        await asyncio.to_thread(proxy.kubeconfig.write_text, yaml.safe_dump(content))
        yield proxy
