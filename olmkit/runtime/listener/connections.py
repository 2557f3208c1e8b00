"""HTTP connections, each within limits: slow, silent and greedy clients cost the others nothing.

    accepted --> TLS handshake (5 s) --> head of a request (5 s, 64 KiB) --> answered --> idle (75 s) --> next head ...
                                                                                 |
                                                     nothing taken for 30 s: cut off (a slow reader is not: it takes)

Who keeps a place when there are more connections than places is decided in olmkit.runtime.listener.slots; connections without one
(surplus) are refused with 503, and only a few at a time: file descriptors never run out. Used by olmkit.runtime.probes and by
catalogd.http.server; knows nothing of what they serve.
"""

from __future__ import annotations

import asyncio
import logging
import os
import resource
import socket
import ssl
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import cast

import orjson
from aiohttp import http_exceptions, web
from aiohttp.typedefs import Handler

from olmkit.errors import OlmError
from olmkit.runtime import tls_read_buffer
from olmkit.runtime.listener.slots import HANDSHAKE_GRACE_SECONDS, ConnectionSlots, Slot, SlotState
from olmkit.runtime.listener.sockets import (
    SendProgress,
    limit_kernel_send_buffer,
    open_listening_sockets,
    parse_listen_address,
    wait_readable,
)

MAX_LINE_BYTES = 8190
"""Bytes of the request line, and of one header."""
MAX_WRITE_BUFFER_BYTES = 64 * 1024
"""Bytes that wait for the client before the next portion is read; TLS's default is 512 KiB."""
MAX_CONNECTIONS = 512
_ACCEPT_RETRY_SECONDS = 0.5
_CHECK_INTERVAL_SECONDS = 1.0

log = logging.getLogger(__name__)
_silent = logging.getLogger(f"{__name__}.protocol")
tls_read_buffer.limit_tls_read_buffers()
_silent.setLevel(logging.CRITICAL + 1)  # aiohttp logs a traceback per bad request; what is unexpected the server logs


@dataclass(frozen=True)
class ConnectionLimits:
    """Seconds, bytes and numbers. `least_rate`: bytes per second; who takes less may lose its place when places are short."""

    max_connections: int = MAX_CONNECTIONS
    handshake_timeout: float = 5.0
    header_timeout: float = 5.0
    max_header_bytes: int = 64 * 1024
    idle_timeout: float = 75.0
    write_stall_timeout: float = 30.0
    min_send_rate: int = 16 * 1024

    @property
    def overflow_slots(self) -> int:
        """Places for surplus connections, and as many for those that are leaving."""
        return max(4, self.max_connections // 16)


def default_max_connections() -> int:
    """MAX_CONNECTIONS, or half of the process's file descriptors where that is less."""
    descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MAX_CONNECTIONS if descriptors == resource.RLIM_INFINITY else min(MAX_CONNECTIONS, descriptors // 2)


class Listener:
    """Listens for clients and hands each to `server` (aiohttp's), within the limits, until close().

    `on_count` is called with the number of connections whenever it changes.
    """

    def __init__(
        self,
        server: web.Server,
        ssl_context: ssl.SSLContext | None,
        limits: ConnectionLimits,
        on_count: Callable[[int], object] = lambda _: None,
    ) -> None:
        self.limits = limits
        # Without a handshake what a client has to say comes at once.
        self.slots = ConnectionSlots(
            limits.max_connections, limits.overflow_slots, HANDSHAKE_GRACE_SECONDS if ssl_context else 0.0
        )
        self._server = server
        self._ssl_context = ssl_context
        self._on_count = on_count
        self._sockets: list[socket.socket] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._pending_count = 0
        self._connections: dict[Connection, None] = {}
        self._closing: dict[Connection, None] = {}

    async def start(self, address: str, name: str) -> tuple[str, int]:
        """Listen on `host:port` for what `name` says; returns both as bound. Raises OlmError when that cannot be."""
        host, port = parse_listen_address(address)
        try:
            self._sockets = await asyncio.to_thread(open_listening_sockets, host, port)
        except OSError as error:
            why = os.strerror(error.errno or 0)
            raise OlmError("AddressInUse", f"cannot listen on {address} for {name}: {why}") from error
        for each in self._sockets:
            self._spawn(self._accept(each))
        self._spawn(self._check_connections())
        bound = self._sockets[0].getsockname()
        return str(bound[0]), int(bound[1])

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
        for connection in list(self._connections):
            connection.abort()

    def add(self, connection: Connection) -> None:
        """There is one more."""
        self._connections[connection] = None

    def remove(self, connection: Connection) -> None:
        """There is one less."""
        self._connections.pop(connection, None)
        self._closing.pop(connection, None)
        self._report_count()

    def _report_count(self) -> None:
        """Say how many there are."""
        self._on_count(self._pending_count + len(self._connections))

    def mark_closing(self, connection: Connection) -> None:
        """It closes once everything is sent; of those only a few are waited for."""
        self._closing[connection] = None
        if len(self._closing) > self.limits.overflow_slots:
            oldest = next(iter(self._closing))
            del self._closing[oldest]
            oldest.abort()

    def _spawn(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _accept(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                accepted, peer = await loop.sock_accept(listening)
            except ConnectionError:
                continue  # gone before it was accepted
            except OSError as error:
                log.warning("a client cannot be accepted", extra={"error": error.strerror})
                await asyncio.sleep(_ACCEPT_RETRY_SECONDS)
                continue
            place = self.slots.acquire(str(peer[0]), time.monotonic())
            if place is None:
                accepted.close()
            else:
                self._start_admission(accepted, place)
            await asyncio.sleep(0)  # what is accepted at once does not wait; clients that are here have their turn

    def _start_admission(self, accepted: socket.socket, place: Slot) -> None:
        arrival = _PendingConnection(accepted)
        task = self._spawn(self._admit(arrival, place))
        place.evict = task.cancel

        def ended(done: asyncio.Task[None]) -> None:
            self._pending_count -= 1
            self._report_count()
            error = None if done.cancelled() else done.exception()
            if done.cancelled() or error is not None:  # cancelled perhaps before it began
                arrival.close()
                self.slots.release(place)
            # no TLS spoken, no handshake in time, gone again: TimeoutError and ssl's errors are OSErrors
            if error is not None and not isinstance(error, OSError):
                log.error("a client cannot be served", exc_info=error)

        self._pending_count += 1
        self._report_count()
        task.add_done_callback(ended)

    async def _admit(self, arrival: _PendingConnection, place: Slot) -> None:
        """Who says nothing costs a socket, and neither TLS nor a connection."""
        async with asyncio.timeout(self.limits.handshake_timeout if self._ssl_context else self.limits.header_timeout):
            await wait_readable(arrival.sock)
        self.slots.set_state(place, SlotState.RECEIVING)
        limit_kernel_send_buffer(arrival.sock)
        arrival.connection = connection = Connection(self, self._server, place)
        await asyncio.get_running_loop().connect_accepted_socket(
            lambda: connection,
            arrival.sock,
            ssl=self._ssl_context,
            ssl_handshake_timeout=self.limits.handshake_timeout if self._ssl_context else None,
            ssl_shutdown_timeout=1.0 if self._ssl_context else None,
        )

    async def _check_connections(self) -> None:
        while True:
            await asyncio.sleep(_CHECK_INTERVAL_SECONDS)
            now = time.monotonic()
            for connection in list(self._connections):
                connection.check(now)


@dataclass(eq=False)
class _PendingConnection:
    """A socket that was accepted, until a connection is made of it."""

    sock: socket.socket
    connection: Connection | None = None

    def close(self) -> None:
        """Close the socket. Once there is a connection that is its transport's: another socket may have its number by then.

        asyncio ends the transport when it gives up a handshake, but not one whose handshake has just come to its end.
        """
        if self.connection is None:
            self.sock.close()
        else:
            self.connection.abort()


class Connection(web.RequestHandler):
    """One client. aiohttp's handler of the protocol, that also counts time and bytes."""

    # Of the parent's own state only the number of requests read so far is looked at.
    _request_count: int

    def __init__(self, listener: Listener, server: web.Server, place: Slot) -> None:
        super().__init__(
            server,
            loop=asyncio.get_running_loop(),
            keepalive_timeout=listener.limits.idle_timeout,
            logger=_silent,
            access_log=None,  # type: ignore[arg-type]
            max_line_size=MAX_LINE_BYTES,
            max_field_size=MAX_LINE_BYTES,
            lingering_time=0.0,
        )
        self._listener = listener
        self._slot = place
        self._finished_count = 0
        self._is_plain = True
        self._has_eof = False
        self._is_authorized = False
        self._header_started: float | None = None
        self._header_bytes = 0
        self._send_progress = SendProgress(None)

    @property
    def is_over_limit(self) -> bool:
        """Whether it came when there was no place, and has shown no token that counts."""
        return self._slot.is_overflow and not self._is_authorized

    @property
    def _is_busy(self) -> bool:
        return self._slot.state in (SlotState.RESPONDING, SlotState.RESPONDING_SLOWLY)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The handshake is over; a request is waited for."""
        self._slot.evict = self._evict
        self._listener.add(self)
        self._header_started = time.monotonic()
        self._is_plain = transport.get_extra_info("ssl_object") is None  # a transport that is closed cannot tell
        self._send_progress = SendProgress(transport.get_extra_info("socket"))
        cast(asyncio.Transport, transport).set_write_buffer_limits(high=MAX_WRITE_BUFFER_BYTES)
        super().connection_made(transport)

    def connection_lost(self, error: BaseException | None) -> None:
        """Gives its place back."""
        self._listener.slots.release(self._slot)
        self._listener.remove(self)
        super().connection_lost(error)

    def data_received(self, data: bytes) -> None:
        """Reads on, as long as a head comes to its end in time and size."""
        before = self._request_count
        super().data_received(data)
        if self._request_count > before:
            self._header_started, self._header_bytes = None, 0
            self._set_state(SlotState.RESPONDING)
            return
        if self._header_started is None:
            self._header_started = time.monotonic()
        if self._slot.state is SlotState.IDLE:
            self._slot.started = self._header_started
            self._set_state(SlotState.RECEIVING)
        self._header_bytes += len(data)
        if self._header_bytes > self._listener.limits.max_header_bytes:
            self._reject(431, "the headers of the request are too large")

    def eof_received(self) -> bool | None:  # type: ignore[override]
        """A client that has said all and listens on gets its answer, where the transport can (TLS cannot)."""
        self._has_eof = True
        return True if self._is_plain and self._finished_count < self._request_count else None

    def mark_authorized(self) -> None:
        """A token was checked and allows the request: it is answered although there is no place."""
        self._is_authorized = True

    def request_finished(self) -> bool:
        """A request has been answered. Returns whether the connection is to be closed after it."""
        self._finished_count += 1
        if self._slot.is_overflow:
            return True
        if self._header_started is not None:
            self._header_started = time.monotonic()
        if self._finished_count < self._request_count:
            return False
        self._set_state(SlotState.IDLE)
        return self._has_eof

    def close_gracefully(self) -> None:
        """Close once everything is sent."""
        self._listener.slots.release(self._slot)
        if self.transport is not None:
            self._listener.mark_closing(self)
            self.transport.close()

    def abort(self) -> None:
        """Close now; what is not sent is lost."""
        if self.transport is not None:
            self.transport.abort()

    def check(self, now: float) -> None:
        """Whether the client still does its part."""
        if (
            self._header_started is not None
            and not self._is_busy
            and now - self._header_started > self._listener.limits.header_timeout
        ):
            if self._header_bytes:
                self._reject(408, "the request did not come to its end in time")
            else:
                self.close_gracefully()
            self._header_started = None
        if self._send_progress.stalled_seconds(now) > self._listener.limits.write_stall_timeout:
            self.abort()
        self._slot.send_rate = self._send_progress.rate
        if self._is_busy:
            self._set_state(
                SlotState.RESPONDING_SLOWLY
                if self._send_progress.rate < self._listener.limits.min_send_rate
                else SlotState.RESPONDING
            )

    def handle_error(
        self, request: web.BaseRequest, status: int = 500, exc: BaseException | None = None, message: str | None = None
    ) -> web.StreamResponse:
        """What cannot be read as a request, as JSON; nothing is logged, and no byte of it is repeated."""
        text = "the request is no HTTP"
        if isinstance(exc, http_exceptions.LineTooLong):
            status, text = 431, f"the request line or a header is longer than {MAX_LINE_BYTES} bytes"
        response = web.Response(status=status, body=_error(text), content_type="application/json")
        response.force_close()
        return response

    def _set_state(self, state: SlotState) -> None:
        if state is not self._slot.state:
            self._listener.slots.set_state(self._slot, state)

    def _evict(self) -> None:
        """Another connection has the place now."""
        if self._slot.state is SlotState.IDLE:
            self.close_gracefully()
        else:
            self.abort()

    def _reject(self, status: int, text: str) -> None:
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
        self.close_gracefully()


_REASONS = {408: "Request Timeout", 431: "Request Header Fields Too Large"}


def _error(text: str) -> bytes:
    return orjson.dumps({"error": text}) + b"\n"


def connection_of(request: web.BaseRequest) -> Connection | None:
    """The connection that a request came by; None in a server without a Listener."""
    return request.protocol if isinstance(request.protocol, Connection) else None


@web.middleware
async def connection_tracking_middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Outside of all that answers: the connection learns when its answer has come to an end, and which is its last."""
    connection = connection_of(request)
    try:
        response = await handler(request)
    except web.HTTPException as refusal:
        if connection is not None and connection.request_finished():
            refusal.force_close()
        raise
    except BaseException:
        if connection is not None:
            connection.request_finished()
        raise
    if connection is not None and connection.request_finished():
        response.force_close()
    return response


@web.middleware
async def connection_limit_middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Inside of the check of tokens. Raises web.HTTPServiceUnavailable for a connection that is refused."""
    connection = connection_of(request)
    if connection is not None and connection.is_over_limit:
        raise web.HTTPServiceUnavailable(reason="too many connections", headers={"Retry-After": "2"})
    return await handler(request)
