"""What catalogd.serving.connections asks of the kernel: sockets that listen, and how much of what was sent a client has taken."""

from __future__ import annotations

import fcntl
import socket
import struct
import termios
from contextlib import suppress

BACKLOG = 256
UNSENT = 256 * 1024
"""Bytes the kernel holds for one client beyond what is on its way: else up to 4 MiB each, also for those that do not read."""
_QUEUED, _ACKNOWLEDGED = struct.Struct("=i"), struct.Struct("=Q")
_ACKNOWLEDGED_AT = 120  # tcpi_bytes_acked of struct tcp_info in linux/tcp.h


def hold_little(accepted: socket.socket) -> None:
    """Keep the kernel's buffer for this client within UNSENT, where the kernel can."""
    if hasattr(socket, "TCP_NOTSENT_LOWAT"):
        with suppress(OSError):
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, UNSENT)


class Taken:
    """How much of what was sent the client has taken, as the kernel knows it; no socket, or not Linux: never silent."""

    def __init__(self, sent_on: socket.socket | None) -> None:
        self._socket = sent_on if hasattr(socket, "TCP_INFO") else None
        self._last = -1
        self._since: float | None = None

    def silence(self, now: float) -> float:
        """For how long there has been something to take and nothing was taken. Seconds; asked about once a second."""
        try:
            is_waiting, taken = self._state()
        except OSError:
            return 0.0
        if not is_waiting or taken != self._last or self._since is None:
            self._last, self._since = taken, now
        return now - self._since

    def _state(self) -> tuple[bool, int]:
        if self._socket is None:
            return False, 0
        information = self._socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 192)
        if len(information) < _ACKNOWLEDGED_AT + _ACKNOWLEDGED.size:
            return False, 0
        (acknowledged,) = _ACKNOWLEDGED.unpack_from(information, _ACKNOWLEDGED_AT)
        (queued,) = _QUEUED.unpack(fcntl.ioctl(self._socket.fileno(), termios.TIOCOUTQ, bytes(_QUEUED.size)))
        return queued > 0, acknowledged


def listening_sockets(host: str | None, port: int) -> list[socket.socket]:
    """Sockets that listen; without a host one for all addresses of both families. Raises OSError."""
    if host is None:
        both = socket.has_dualstack_ipv6()
        family = socket.AF_INET6 if both else socket.AF_INET
        made = [socket.create_server(("", port), family=family, backlog=BACKLOG, dualstack_ipv6=both)]
    else:
        family, _, _, _, where = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        made = [socket.create_server(where[:2], family=family, backlog=BACKLOG)]
    for each in made:
        each.setblocking(False)
    return made
