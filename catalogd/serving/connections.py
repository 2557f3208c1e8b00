"""Connections to catalogd's HTTP, each within limits: slow, silent and greedy clients cost the others nothing.

    accepted --> TLS handshake (5 s) --> head of a request (5 s, 64 KiB) --> answered --> idle (75 s) --> next head ...
                                                                                 |
                                                     nothing taken for 30 s: cut off (a slow reader is not: it takes)

At most `LIMIT` connections are served; one more takes the place of the one that is idle longest, or is told 503, and of those
only `RESERVE` at a time: file descriptors never run out. Used by catalogd.serving.server only; knows nothing of catalogs.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
import time
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import cast

import orjson
from aiohttp import http_exceptions, web
from prometheus_client import Gauge

from catalogd.serving.sockets import Taken, hold_little, listening_sockets
from olmkit import tls_memory
from olmkit.errors import OlmError
from olmkit.probes import parse_address

RESERVE = 64
LINE_LIMIT = 8190
"""Bytes of the request line, and of one header."""
HELD = 64 * 1024
"""Bytes that wait for the client before the next portion is read; TLS's default is 512 KiB."""
_ACCEPT_PAUSE = 0.5
_LOOK_SECONDS = 1.0

OPEN = Gauge("catalogd_http_connections", "Connections that clients of catalogs hold.")

log = logging.getLogger(__name__)
_silent = logging.getLogger(f"{__name__}.protocol")
tls_memory.bound()
_silent.setLevel(logging.CRITICAL + 1)  # aiohttp logs a traceback per bad request; what is unexpected the server logs


@dataclass(frozen=True)
class Limits:
    """Seconds, bytes and numbers."""

    connections: int = 512
    handshake: float = 5.0
    head: float = 5.0
    head_bytes: int = 64 * 1024
    idle: float = 75.0
    stalled: float = 30.0


class Listener:
    """Listens for clients and hands each to `server` (aiohttp's), within the limits, until close()."""

    def __init__(self, server: web.Server, ssl_context: ssl.SSLContext | None, limits: Limits) -> None:
        self.limits = limits
        self._server = server
        self._ssl_context = ssl_context
        self._sockets: list[socket.socket] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._shaking = 0
        self.connections: dict[Connection, None] = {}
        self.idle: dict[Connection, None] = {}

    async def start(self, address: str) -> tuple[str, int]:
        """Listen on `host:port`; returns both as bound. Raises OlmError when that cannot be."""
        host, port = parse_address(address)
        try:
            self._sockets = await asyncio.to_thread(listening_sockets, host, port)
        except OSError as error:
            raise OlmError("AddressInUse", f"cannot listen on {address} for catalogs: {error.strerror}") from error
        for each in self._sockets:
            self._spawn(self._accept(each))
        self._spawn(self._look())
        name = self._sockets[0].getsockname()
        return str(name[0]), int(name[1])

    async def stop(self) -> None:
        """Take no more clients; those there are stay."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        for each in self._sockets:
            each.close()

    def close(self) -> None:
        """Cut off whoever is left."""
        for connection in list(self.connections):
            connection.cut()

    def is_full(self) -> bool:
        """Whether a connection more is too many, after the one that is idle longest has made room."""
        if sum(not each.is_leaving for each in self.connections) < self.limits.connections:
            return False
        if self.idle:
            next(iter(self.idle)).leave()
            return False
        return True

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _accept(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                accepted, _ = await loop.sock_accept(listening)
            except ConnectionError:
                continue  # gone before it was accepted
            except OSError as error:
                log.warning("a client cannot be accepted", extra={"error": error.strerror})
                await asyncio.sleep(_ACCEPT_PAUSE)
                continue
            if len(self.connections) + self._shaking >= self.limits.connections + RESERVE:
                accepted.close()
                continue
            self._shaking += 1
            self._spawn(self._admit(accepted))

    async def _admit(self, accepted: socket.socket) -> None:
        try:
            hold_little(accepted)
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: Connection(self, self._server),
                accepted,
                ssl=self._ssl_context,
                ssl_handshake_timeout=self.limits.handshake if self._ssl_context else None,
                ssl_shutdown_timeout=1.0 if self._ssl_context else None,
            )
        except OSError:  # no TLS spoken, no handshake in time, gone again: TimeoutError and ssl's errors are OSErrors
            accepted.close()
        finally:
            self._shaking -= 1

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            now = time.monotonic()
            for connection in list(self.connections):
                connection.look(now)


class Connection(web.RequestHandler):
    """One client. aiohttp's handler of the protocol, that also counts time and bytes."""

    # Of the parent's own state only the number of requests read so far is looked at.
    _request_count: int

    def __init__(self, listener: Listener, server: web.Server) -> None:
        super().__init__(
            server,
            loop=asyncio.get_running_loop(),
            keepalive_timeout=listener.limits.idle,
            logger=_silent,
            access_log=None,  # type: ignore[arg-type]
            max_line_size=LINE_LIMIT,
            max_field_size=LINE_LIMIT,
            lingering_time=0.0,
        )
        self._listener = listener
        self.is_surplus = False
        self.is_leaving = False
        self._is_busy = False
        self._answered = 0
        self._has_ended = False
        self._head_since: float | None = None
        self._head_bytes = 0
        self._taken = Taken(None)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Asks for room; a client too many is told so when it asks for something."""
        self.is_surplus = self._listener.is_full()
        self._listener.connections[self] = None
        OPEN.set(len(self._listener.connections))
        self._head_since = time.monotonic()
        self._taken = Taken(transport.get_extra_info("socket"))
        cast(asyncio.Transport, transport).set_write_buffer_limits(high=HELD)
        super().connection_made(transport)

    def connection_lost(self, error: BaseException | None) -> None:
        """Gives its room back."""
        self._listener.connections.pop(self, None)
        self._listener.idle.pop(self, None)
        OPEN.set(len(self._listener.connections))
        super().connection_lost(error)

    def data_received(self, data: bytes) -> None:
        """Reads on, as long as a head comes to its end in time and size."""
        self._listener.idle.pop(self, None)
        before = self._request_count
        super().data_received(data)
        if self._request_count > before:
            self._head_since, self._head_bytes = None, 0
            return
        if self._head_since is None:
            self._head_since = time.monotonic()
        self._head_bytes += len(data)
        if self._head_bytes > self._listener.limits.head_bytes:
            self._refuse(431, "the headers of the request are too large")

    def eof_received(self) -> bool | None:  # type: ignore[override]
        """A client that has said all and listens on gets its answer, where the transport can (TLS cannot)."""
        self._has_ended = True
        is_plain = self.transport is not None and self.transport.get_extra_info("ssl_object") is None
        return True if is_plain and self._answered < self._request_count else None

    def began(self) -> None:
        """A request is being answered."""
        self._is_busy = True
        self._listener.idle.pop(self, None)

    def ended(self) -> bool:
        """It has been. Returns whether the connection is to be closed after it."""
        self._is_busy = False
        self._answered += 1
        if self._head_since is not None:
            self._head_since = time.monotonic()
        if self._answered < self._request_count:
            return False
        if self.transport is not None:
            self._listener.idle[self] = None
        return self._has_ended

    def leave(self) -> None:
        """Close once everything is sent."""
        self.is_leaving = True
        self._listener.idle.pop(self, None)
        if self.transport is not None:
            self.transport.close()

    def cut(self) -> None:
        """Close now; what is not sent is lost."""
        if self.transport is not None:
            self.transport.abort()

    def look(self, now: float) -> None:
        """Whether the client still does its part."""
        if self._head_since is not None and not self._is_busy and now - self._head_since > self._listener.limits.head:
            if self._head_bytes:
                self._refuse(408, "the request did not come to its end in time")
            else:
                self.leave()
            self._head_since = None
        if self._taken.silence(now) > self._listener.limits.stalled:
            self.cut()

    def handle_error(
        self, request: web.BaseRequest, status: int = 500, exc: BaseException | None = None, message: str | None = None
    ) -> web.StreamResponse:
        """What cannot be read as a request, as JSON; nothing is logged, and no byte of it is repeated."""
        text = "the request is no HTTP"
        if isinstance(exc, http_exceptions.LineTooLong):
            status, text = 431, f"the request line or a header is longer than {LINE_LIMIT} bytes"
        response = web.Response(status=status, body=_error(text), content_type="application/json")
        response.force_close()
        return response

    def _refuse(self, status: int, text: str) -> None:
        """Answer past aiohttp, which knows of no request, and close."""
        transport = self.transport
        if transport is None or transport.is_closing():
            return
        if not self._is_busy:
            body = _error(text)
            head = (
                f"HTTP/1.1 {status} {_REASONS[status]}\r\nContent-Type: application/json\r\n"
                f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
            )
            transport.write(head.encode() + body)
        self.leave()


_REASONS = {408: "Request Timeout", 431: "Request Header Fields Too Large"}


def _error(text: str) -> bytes:
    return orjson.dumps({"error": text}) + b"\n"


def of(request: web.BaseRequest) -> Connection | None:
    """The connection that a request came by; None in a server without a Listener."""
    return request.protocol if isinstance(request.protocol, Connection) else None
