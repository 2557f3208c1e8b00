"""A listening port and its connections: slow, silent and greedy clients do not affect the others.

    accepted --> TLS handshake (5 s) --> request header (5 s, 64 KiB) --> body --> response --> idle (75 s) --> next header ...
                                                                         |          |
         larger than its server accepts: 413, the rest is read for 2 s and discarded   |
                                                            nothing read for 30 s: aborted (a slow reader is not: it reads)

When more clients connect than there are slots, olmkit.runtime.listener.slots decides which connection is closed. A connection
without a slot (overflow) is answered with 503. Only a few of those exist at a time: file descriptors never run out. What a
handler reads of a body is limited by its server (olmkit.runtime.listener.http_errors). The middlewares are for the applications
that are served. Knows nothing of what is served. Why aiohttp's handler is subclassed, and what its public options do not limit:
docs/decisions/0028.
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
from aiohttp import StreamReader, http_exceptions, web
from aiohttp.streams import EMPTY_PAYLOAD
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

MAX_CONNECTIONS = 512
MAX_LINE_BYTES = 8190
"""The longest request line, and the longest header line."""
MAX_WRITE_BUFFER_BYTES = 64 * 1024
"""Bytes buffered for a client before the next part of a response is read. The default of a TLS transport is 512 KiB."""

BODY_DISCARD_SECONDS = 2.0
"""The time for which the rest of a body is read that was answered without it. A client that still sends loses the response
otherwise."""
_ACCEPT_RETRY_SECONDS = 0.5
_CHECK_INTERVAL_SECONDS = 1.0
_TLS_SHUTDOWN_TIMEOUT_SECONDS = 3600.0
"""It includes the time to send what is buffered. The connection ends earlier: see write_stall_timeout and shutdown_timeout."""

log = logging.getLogger(__name__)
_protocol_log = logging.getLogger(f"{__name__}.protocol")
_protocol_log.setLevel(
    logging.CRITICAL + 1
)  # aiohttp logs a traceback per bad request; unexpected errors are logged elsewhere
tls_read_buffer.limit_tls_read_buffers()


@dataclass(frozen=True)
class ConnectionLimits:
    """Timeouts in seconds and sizes in bytes.

    `max_body_bytes` is of a request: 0 if none has a body. `min_send_rate` is in bytes per second: a client that reads less
    may lose its slot when no slot is free. `shutdown_timeout` is how long a client may take to end a TLS connection after it has
    received everything.
    """

    max_connections: int = MAX_CONNECTIONS
    handshake_timeout: float = 5.0
    header_timeout: float = 5.0
    max_header_bytes: int = 64 * 1024
    max_body_bytes: int = 0
    idle_timeout: float = 75.0
    write_stall_timeout: float = 30.0
    shutdown_timeout: float = 1.0
    min_send_rate: int = 16 * 1024

    @property
    def overflow_slots(self) -> int:
        """Slots for overflow connections; also the number of closing connections that may flush their data."""
        return max(4, self.max_connections // 16)


def default_max_connections() -> int:
    """MAX_CONNECTIONS, or half of the file descriptors that the process may open, if that is less."""
    descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MAX_CONNECTIONS if descriptors == resource.RLIM_INFINITY else min(MAX_CONNECTIONS, descriptors // 2)


class Listener:
    """Accepts clients and passes each to `server`, within the limits, until close().

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
        # Without a handshake, the request of a client is there at once.
        grace = HANDSHAKE_GRACE_SECONDS if ssl_context else 0.0
        self.slots = ConnectionSlots(limits.max_connections, limits.overflow_slots, grace)
        self._server = server
        self._ssl_context = ssl_context
        self._on_count = on_count
        self._sockets: list[socket.socket] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._pending_count = 0
        self._connections: dict[Connection, None] = {}
        self._closing: dict[Connection, None] = {}

    async def start(self, address: str, name: str) -> tuple[str, int]:
        """Listen on `host:port`; returns host and port as bound. `name` is for the error. Raises OlmError(AddressInUse)."""
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
        """Accept no more clients. Established connections stay open."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        for each in self._sockets:
            each.close()

    def close(self) -> None:
        """Abort all remaining connections."""
        for connection in list(self._connections):
            connection.abort()

    def add(self, connection: Connection) -> None:
        """The connection is established. Called by the connection, like `remove` and `mark_closing`."""
        self._connections[connection] = None

    def remove(self, connection: Connection) -> None:
        """The connection is closed."""
        self._connections.pop(connection, None)
        self._closing.pop(connection, None)
        self._report_count()

    def mark_closing(self, connection: Connection) -> None:
        """The connection closes once its data is sent. Only a few may do so at a time: the oldest is aborted."""
        self._closing[connection] = None
        if len(self._closing) > self.limits.overflow_slots:
            oldest = next(iter(self._closing))
            del self._closing[oldest]
            oldest.abort()

    def _report_count(self) -> None:
        self._on_count(self._pending_count + len(self._connections))

    def _spawn(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _accept(self, listening: socket.socket) -> None:
        while True:
            try:
                accepted, peer = listening.accept()
            except BlockingIOError:
                # Not sock_accept() of the loop: cancelled at the moment at which a client is there, it loses the client's socket.
                await wait_readable(listening)
                continue
            except ConnectionError:
                continue  # closed before it was accepted
            except OSError as error:
                log.warning("a client cannot be accepted", extra={"error": error.strerror})
                await asyncio.sleep(_ACCEPT_RETRY_SECONDS)
                continue
            accepted.setblocking(False)
            slot = self.slots.acquire(str(peer[0]), time.monotonic())
            if slot is None:
                accepted.close()
            else:
                self._start_admission(accepted, slot)
            await asyncio.sleep(0)  # while clients are waiting, let the other tasks run

    def _start_admission(self, accepted: socket.socket, slot: Slot) -> None:
        pending = _PendingConnection(accepted)
        task = self._spawn(self._admit(pending, slot))
        slot.evict = task.cancel

        def finish(done: asyncio.Task[None]) -> None:
            self._pending_count -= 1
            self._report_count()
            error = None if done.cancelled() else done.exception()
            if done.cancelled() or error is not None:  # possibly cancelled before it started
                pending.close()
                self.slots.release(slot)
            # Not TLS, handshake timeout, client closed: TimeoutError and the errors of ssl are OSErrors.
            if error is not None and not isinstance(error, OSError):
                log.error("a client cannot be served", exc_info=error)

        self._pending_count += 1
        self._report_count()
        task.add_done_callback(finish)

    async def _admit(self, pending: _PendingConnection, slot: Slot) -> None:
        """Make a connection once the client has sent something: a silent client costs a socket only, and no TLS buffers."""
        async with asyncio.timeout(self.limits.handshake_timeout if self._ssl_context else self.limits.header_timeout):
            await wait_readable(pending.sock)
        self.slots.set_state(slot, SlotState.RECEIVING)
        limit_kernel_send_buffer(pending.sock)
        pending.connection = connection = Connection(self, self._server, slot)
        await asyncio.get_running_loop().connect_accepted_socket(
            lambda: connection,
            pending.sock,
            ssl=self._ssl_context,
            ssl_handshake_timeout=self.limits.handshake_timeout if self._ssl_context else None,
            ssl_shutdown_timeout=_TLS_SHUTDOWN_TIMEOUT_SECONDS if self._ssl_context else None,
        )

    async def _check_connections(self) -> None:
        while True:
            await asyncio.sleep(_CHECK_INTERVAL_SECONDS)
            now = time.monotonic()
            for connection in list(self._connections):
                connection.check(now)


@dataclass(eq=False)
class _PendingConnection:
    """An accepted socket, until it becomes a connection."""

    sock: socket.socket
    connection: Connection | None = None

    def close(self) -> None:
        """Close the socket. Once there is a connection, its transport owns the socket, whose number may be reused already.

        asyncio closes the transport when a handshake is cancelled, but not when the handshake has just completed.
        """
        if self.connection is None:
            self.sock.close()
        else:
            self.connection.abort()


class Connection(web.RequestHandler):
    """The connection of one client: aiohttp's protocol handler, with limits on time and bytes."""

    # The private attributes of the parent that are used: the number of requests received so far, and those not handled yet, each
    # with its body.
    _request_count: int
    _request_in_progress: bool

    def __init__(self, listener: Listener, server: web.Server, slot: Slot) -> None:
        super().__init__(
            server,
            loop=asyncio.get_running_loop(),
            keepalive_timeout=listener.limits.idle_timeout,
            logger=_protocol_log,
            access_log=None,  # type: ignore[arg-type]
            max_line_size=MAX_LINE_BYTES,
            max_field_size=MAX_LINE_BYTES,
            lingering_time=BODY_DISCARD_SECONDS,
            auto_decompress=False,  # no client of the suite compresses, and a small body would cost the time of a large one
        )
        self._listener = listener
        self._slot = slot
        self._finished_count = 0
        self._is_plain = True
        self._has_eof = False
        self._on_gone: Callable[[], None] | None = None
        self._is_authorized = False
        self._header_started: float | None = None
        self._header_bytes = 0
        self._body: StreamReader = EMPTY_PAYLOAD
        self._closing_since: float | None = None
        self._send_progress = SendProgress(None)

    @property
    def max_body_bytes(self) -> int:
        """The greatest length of the body of a request."""
        return self._listener.limits.max_body_bytes

    @property
    def is_over_limit(self) -> bool:
        """True if no slot was free for the connection, and it has sent no valid token."""
        return self._slot.is_overflow and not self._is_authorized

    @property
    def _is_responding(self) -> bool:
        return self._slot.state in (SlotState.RESPONDING, SlotState.RESPONDING_SLOWLY)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The handshake is complete; the first request is expected."""
        self._slot.evict = self._evict
        self._listener.add(self)
        self._header_started = time.monotonic()
        self._is_plain = transport.get_extra_info("ssl_object") is None  # a closed transport does not know
        self._send_progress = SendProgress(transport.get_extra_info("socket"))
        cast(asyncio.Transport, transport).set_write_buffer_limits(high=MAX_WRITE_BUFFER_BYTES)
        super().connection_made(transport)

    def connection_lost(self, error: BaseException | None) -> None:
        """Release the slot."""
        self._listener.slots.release(self._slot)
        self._listener.remove(self)
        super().connection_lost(error)
        self._notice_eof()

    def data_received(self, data: bytes) -> None:
        """Pass the data on, and check the time and size of the request header.

        The parser calls it without data, to resume. A body is read as fast as its handler reads it.
        """
        before, is_body = self._request_count, not self._body.is_eof()
        super().data_received(data)
        if self._request_count > before:
            _, self._body = self._messages[-1]
            self._header_started, self._header_bytes = None, 0
            self._set_state(SlotState.RESPONDING)
            return
        if is_body or not data:
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
        """Keep the connection half open until the response is sent, where the transport can (TLS cannot)."""
        self._notice_eof()
        return True if self._is_plain and self._finished_count < self._request_count else None

    def _notice_eof(self) -> None:
        self._has_eof = True
        if self._on_gone is not None:
            self._on_gone()

    def on_gone(self, handler: Callable[[], None]) -> None:
        """Call `handler` when the client has ended its side, or the connection is lost; at once if that is so already. For a
        response without an end, which is the last one of its connection."""
        self._on_gone = handler
        if self._has_eof:
            handler()

    def mark_authorized(self) -> None:
        """The request has a valid token that allows it: it is answered even if no slot is free."""
        self._is_authorized = True

    def request_finished(self) -> bool:
        """A request has been answered. Returns whether the connection must be closed after it."""
        self._finished_count += 1
        if self._slot.is_overflow:
            return True
        if self._header_started is not None:
            self._header_started = time.monotonic()
        if self._finished_count < self._request_count:
            return False
        if not self._send_progress.is_waiting():
            self._set_state(SlotState.IDLE)
        return self._has_eof

    def close_gracefully(self) -> None:
        """Close once all data is sent."""
        self._listener.slots.release(self._slot)
        if self.transport is not None:
            self._listener.mark_closing(self)
            self.transport.close()

    def abort(self) -> None:
        """Close immediately; unsent data is lost."""
        if self.transport is not None:
            self.transport.abort()

    def check(self, now: float) -> None:
        """Close the connection if a timeout has expired. Called about once a second."""
        limits = self._listener.limits
        if (
            self._header_started is not None
            and not self._is_responding
            and now - self._header_started > limits.header_timeout
        ):
            if self._header_bytes:
                self._reject(408, "the request was not received in time")
            else:
                self.close_gracefully()
            self._header_started = None
        if self._send_progress.stalled_seconds(now) > limits.write_stall_timeout:
            self.abort()
        if self.transport is not None and self.transport.is_closing():
            self._closing_since = self._closing_since or now
            if min(now - self._closing_since, self._send_progress.sent_seconds(now)) > limits.shutdown_timeout:
                self.abort()
            return
        self._slot.send_rate = self._send_progress.rate
        if self._is_responding or self._slot.state is SlotState.IDLE:
            self._set_state(self._sending_state())

    def _sending_state(self) -> SlotState:
        """A response that was written is not sent yet: it is lost if the connection is closed for another one."""
        if self._finished_count >= self._request_count and self._send_progress.is_sent:
            return SlotState.IDLE
        is_slow = self._send_progress.rate < self._listener.limits.min_send_rate
        return SlotState.RESPONDING_SLOWLY if is_slow else SlotState.RESPONDING

    def handle_error(
        self, request: web.BaseRequest, status: int = 500, exc: BaseException | None = None, message: str | None = None
    ) -> web.StreamResponse:
        """Answer a malformed request with JSON. Logs nothing, and repeats no part of the request."""
        text = "the request is not valid HTTP"
        if isinstance(exc, http_exceptions.LineTooLong):
            status, text = 431, f"the request line or a header is longer than {MAX_LINE_BYTES} bytes"
        response = web.Response(status=status, body=_error_body(text), content_type="application/json")
        response.force_close()
        return response

    def _set_state(self, state: SlotState) -> None:
        if state is not self._slot.state:
            self._listener.slots.set_state(self._slot, state)

    def _evict(self) -> None:
        """Close the connection because another one takes its slot."""
        if self._slot.state is SlotState.IDLE:
            self.close_gracefully()
        else:
            self.abort()

    def _reject(self, status: int, text: str) -> None:
        """Write a response directly, since aiohttp has no request yet, and close. A response that is being written is not mixed
        with it."""
        transport = self.transport
        if transport is None or transport.is_closing():
            return
        if self._finished_count >= self._request_count and not self._request_in_progress:
            body = _error_body(text)
            head = (
                f"HTTP/1.1 {status} {_REASON_PHRASES[status]}\r\nContent-Type: application/json\r\n"
                f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
            )
            transport.write(head.encode() + body)
        self.close_gracefully()


_REASON_PHRASES = {408: "Request Timeout", 431: "Request Header Fields Too Large"}


def _error_body(text: str) -> bytes:
    return orjson.dumps({"error": text}) + b"\n"


def connection_of(request: web.BaseRequest) -> Connection | None:
    """The connection of a request; None in a server without a Listener."""
    return request.protocol if isinstance(request.protocol, Connection) else None


@web.middleware
async def connection_tracking_middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Report the end of each response to its connection, and close the connection after its last one. The outermost one."""
    connection = connection_of(request)
    try:
        response = await handler(request)
    except web.HTTPException as error:
        if connection is not None and connection.request_finished():
            error.force_close()
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
    """Answer 503 on a connection that is over the limit. Place it inside the middleware that checks tokens."""
    connection = connection_of(request)
    if connection is not None and connection.is_over_limit:
        raise web.HTTPServiceUnavailable(reason="too many connections", headers={"Retry-After": "2"})
    return await handler(request)
