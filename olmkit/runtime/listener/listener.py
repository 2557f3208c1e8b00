"""A listening port: accepts clients and serves each within the limits of olmkit.runtime.listener.connections.

When more clients connect than there are slots, olmkit.runtime.listener.slots decides which connection is closed. A connection
without a slot (overflow) is answered with 503. Only a few of those exist at a time: file descriptors never run out. Knows nothing
of what is served.
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

from aiohttp import web

from olmkit.errors import OlmError
from olmkit.runtime import tls_read_buffer
from olmkit.runtime.listener.connections import MAX_CONNECTIONS, Connection, ConnectionLimits
from olmkit.runtime.listener.slots import HANDSHAKE_GRACE_SECONDS, ConnectionSlots, Slot, SlotState
from olmkit.runtime.listener.sockets import (
    limit_kernel_send_buffer,
    open_listening_sockets,
    parse_listen_address,
    wait_readable,
)

_ACCEPT_RETRY_SECONDS = 0.5
_CHECK_INTERVAL_SECONDS = 1.0
_TLS_SHUTDOWN_TIMEOUT_SECONDS = 3600.0
"""It includes the time to send what is buffered. The connection ends earlier: see write_stall_timeout and shutdown_timeout."""

log = logging.getLogger(__name__)
tls_read_buffer.limit_tls_read_buffers()


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
        loop = asyncio.get_running_loop()
        while True:
            try:
                accepted, peer = await loop.sock_accept(listening)
            except ConnectionError:
                continue  # closed before it was accepted
            except OSError as error:
                log.warning("a client cannot be accepted", extra={"error": error.strerror})
                await asyncio.sleep(_ACCEPT_RETRY_SECONDS)
                continue
            slot = self.slots.acquire(str(peer[0]), time.monotonic())
            if slot is None:
                accepted.close()
            else:
                self._start_admission(accepted, slot)
            await asyncio.sleep(0)  # sock_accept() does not yield when a client is waiting: let the other tasks run

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
