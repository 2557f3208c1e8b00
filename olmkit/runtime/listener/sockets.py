"""What olmkit.runtime.listener.connections asks of the kernel: sockets that listen, and how much of what was sent a client has
taken."""

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
"""Bytes the kernel holds for one client beyond what is on its way: else up to 4 MiB each, also for those that do not read."""
RATE_WINDOW_SECONDS = 5.0
"""The time over which a rate is measured."""
_QUEUED, _ACKNOWLEDGED = struct.Struct("=i"), struct.Struct("=Q")
_ACKNOWLEDGED_AT = 120  # tcpi_bytes_acked of struct tcp_info in linux/tcp.h


def limit_kernel_send_buffer(accepted: socket.socket) -> None:
    """Keep the kernel's buffer for this client within UNSENT, where the kernel can."""
    if hasattr(socket, "TCP_NOTSENT_LOWAT"):
        with suppress(OSError):
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, MAX_UNSENT_BYTES)


async def wait_readable(accepted: socket.socket) -> None:
    """Return when the client has said something, or has gone; nothing is read."""
    loop = asyncio.get_running_loop()
    came = asyncio.Event()
    loop.add_reader(accepted, came.set)
    try:
        await came.wait()
    finally:
        loop.remove_reader(accepted)


class SendProgress:
    """How much of what was sent the client has taken, as the kernel knows it; no socket, or not Linux: never silent or slow.

    `rate`: bytes per second over the last RATE_SECONDS in which there was always something to take; else infinite.
    """

    def __init__(self, sent_on: socket.socket | None) -> None:
        self._socket = sent_on if hasattr(socket, "TCP_INFO") else None
        self._last = -1
        self._since: float | None = None
        self._counted: tuple[float, int] | None = None
        self.rate = math.inf

    def stalled_seconds(self, now: float) -> float:
        """For how long there has been something to take and nothing was taken. Seconds; asked about once a second."""
        try:
            is_waiting, taken = self._state()
        except OSError:
            return 0.0
        if not is_waiting or taken != self._last or self._since is None:
            self._last, self._since = taken, now
        self._measure(now, taken if is_waiting else None)
        return now - self._since

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
        raise OlmError("BadAddress", f"{address!r} is no address to listen on: write host:port, :port, or 0 for none")
    return host.strip("[]") or None, int(port)


def open_listening_sockets(host: str | None, port: int) -> list[socket.socket]:
    """Sockets that listen; without a host one for all addresses of both families. Raises OSError."""
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
