"""Socket helpers of olmkit.runtime.listener: listening sockets, kernel buffers, and how much of a response a client has read."""

from __future__ import annotations

import asyncio
import fcntl
import math
import socket
import struct
import termios
from contextlib import suppress

from olmkit.errors import OlmError

LISTEN_BACKLOG = 1024
MAX_UNSENT_BYTES = 256 * 1024
"""Unsent bytes that the kernel buffers for one client. Its default is up to 4 MiB, also for clients that do not read."""
RATE_WINDOW_SECONDS = 5.0
"""The period over which a send rate is measured."""
_QUEUED, _ACKNOWLEDGED = struct.Struct("=i"), struct.Struct("=Q")
_ACKNOWLEDGED_AT = 120  # tcpi_bytes_acked of struct tcp_info in linux/tcp.h


def limit_kernel_send_buffer(accepted: socket.socket) -> None:
    """Limit the kernel's send buffer of this socket to MAX_UNSENT_BYTES, where the kernel supports it."""
    if hasattr(socket, "TCP_NOTSENT_LOWAT"):
        with suppress(OSError):
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, MAX_UNSENT_BYTES)


async def wait_readable(accepted: socket.socket) -> None:
    """Return when the client has sent data or closed the connection. Reads nothing."""
    loop = asyncio.get_running_loop()
    readable = asyncio.Event()
    loop.add_reader(accepted, readable.set)
    try:
        await readable.wait()
    finally:
        loop.remove_reader(accepted)


class SendProgress:
    """The progress of the client in acknowledging the sent data, from the kernel. Without a socket or outside Linux: never
    stalled.

    `rate` is in bytes per second over the last RATE_WINDOW_SECONDS in which there was always data to send; else infinite.
    """

    def __init__(self, sent_on: socket.socket | None) -> None:
        self._socket = sent_on if hasattr(socket, "TCP_INFO") else None
        self._last = -1
        self._since: float | None = None
        self._counted: tuple[float, int] | None = None
        self._sent_since: float | None = None
        self.rate = math.inf

    def is_waiting(self) -> bool:
        """Report whether there is data that the client has not acknowledged."""
        try:
            return self._state()[0]
        except OSError:
            return False

    def stalled_seconds(self, now: float) -> float:
        """The seconds for which there has been unsent data and the client acknowledged none. Called about once a second."""
        try:
            is_waiting, taken = self._state()
        except OSError:
            return 0.0
        if not is_waiting or taken != self._last or self._since is None:
            self._last, self._since = taken, now
        self._measure(now, taken if is_waiting else None)
        self._sent_since = None if is_waiting else self._sent_since or now
        return now - self._since

    @property
    def is_sent(self) -> bool:
        """True if the client has acknowledged everything, as of the last call of `stalled_seconds`."""
        return self._sent_since is not None

    def sent_seconds(self, now: float) -> float:
        """The seconds for which the client has acknowledged everything, as of the same call."""
        return 0.0 if self._sent_since is None else now - self._sent_since

    def _measure(self, now: float, taken: int | None) -> None:
        if taken is None:
            self._counted, self.rate = None, math.inf
        elif self._counted is None:
            self._counted = now, taken
        elif now - self._counted[0] >= RATE_WINDOW_SECONDS:
            self.rate = (taken - self._counted[1]) / (now - self._counted[0])
            self._counted = now, taken

    def _state(self) -> tuple[bool, int]:
        if self._socket is None:
            return False, 0
        information = self._socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 192)
        if len(information) < _ACKNOWLEDGED_AT + _ACKNOWLEDGED.size:
            return False, 0
        (acknowledged,) = _ACKNOWLEDGED.unpack_from(information, _ACKNOWLEDGED_AT)
        (queued,) = _QUEUED.unpack(fcntl.ioctl(self._socket.fileno(), termios.TIOCOUTQ, bytes(_QUEUED.size)))
        return queued > 0, acknowledged


def parse_listen_address(address: str) -> tuple[str | None, int]:
    """`host:port`, `[v6]:port` or `:port` as (host, port), host None for all addresses. Raises OlmError."""
    host, separator, port = address.rpartition(":")
    if not separator or not port.isdecimal() or int(port) > 65535:
        raise OlmError("BadAddress", f"{address!r} is not a listen address: use host:port, :port, or 0 to disable it")
    return host.strip("[]") or None, int(port)


def open_listening_sockets(host: str | None, port: int) -> list[socket.socket]:
    """Listening sockets; without a host, one for all addresses of both IP families. Raises OSError."""
    if host is None:
        both = socket.has_dualstack_ipv6()
        family = socket.AF_INET6 if both else socket.AF_INET
        made = [socket.create_server(("", port), family=family, backlog=LISTEN_BACKLOG, dualstack_ipv6=both)]
    else:
        family, _, _, _, where = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        made = [socket.create_server(where[:2], family=family, backlog=LISTEN_BACKLOG)]
    for each in made:
        each.setblocking(False)
    return made
