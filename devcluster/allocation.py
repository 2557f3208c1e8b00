"""Allocates ports and address ranges to clusters, so that no two clusters of a machine share any.

An allocation is a number. It is held by a socket that listens on the first port of the number's block: every process of the
machine sees it, and the kernel releases it when its holder ends, in whatever way. `free_port` serves tests and the suite: it
takes ports from blocks that are held in the same way.
"""

import ipaddress
import random
import socket
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from devcluster.errors import DevclusterError

MAX_CLUSTERS = 32
PORTS_PER_CLUSTER = 8
# Below the range from which the kernel takes ports for outgoing connections.
_FIRST_PORT = 21000
_FREE_PORTS = range(22000, 32000)
_PORTS_PER_BLOCK = 100
_reserved_ports: list[int] = []
"""The ports of the last block that this process has reserved, without those that were returned."""
# kubeadm uses 10.96, flannel 10.244, Docker 172.17: these ranges are rarely in use.
_FIRST_RANGE = 180
_ROUTES = Path("/proc/net/route")
_REJECT_FLAG = 0x0200


@dataclass(frozen=True)
class Allocation:
    """The ports on 127.0.0.1 and the two /16 ranges ("10.180.0.0/16") of one number."""

    number: int
    ports: tuple[int, ...]
    pod_cidr: str
    service_cidr: str

    @property
    def first_service_address(self) -> str:
        """The address of the Service `kubernetes` in `default`."""
        return str(ipaddress.ip_network(self.service_cidr)[1])


def allocation_of(number: int) -> Allocation:
    """Return the allocation of a number from 0 to MAX_CLUSTERS - 1. No two overlap. The port before its first one is the lock."""
    first = _FIRST_PORT + number * (PORTS_PER_CLUSTER + 1)
    ranges = [f"10.{_FIRST_RANGE + 2 * number + half}.0.0/16" for half in (0, 1)]
    return Allocation(number, tuple(range(first + 1, first + 1 + PORTS_PER_CLUSTER)), ranges[0], ranges[1])


def allocate() -> tuple[Allocation, socket.socket]:
    """Allocate the first free number; the returned socket reserves it while open. Raises DevclusterError when none is free."""
    foreign = routed_networks(_ROUTES.read_text().splitlines()) if _ROUTES.exists() else []
    for number in range(MAX_CLUSTERS):
        found = allocation_of(number)
        if any(overlaps(range_, foreign) for range_ in (found.pod_cidr, found.service_cidr)):
            continue
        holder = _listen(found.ports[0] - 1)
        if holder is None:
            continue
        if all(_is_free(port) for port in found.ports):
            return found, holder
        holder.close()
    last = allocation_of(MAX_CLUSTERS - 1)
    raise DevclusterError(
        f"No room for another cluster: ports {_FIRST_PORT} to {last.ports[-1]} or networks up to {last.service_cidr} "
        "are taken; stop a cluster with `python -m devcluster down --name NAME`."
    )


def routed_networks(lines: Sequence[str]) -> list[ipaddress.IPv4Network]:
    """The networks of a routing table in the form of /proc/net/route, without the default route and without
    unreachable routes, which are those of clusters."""
    found = []
    for line in lines[1:]:
        columns = line.split()
        destination, flags, mask = (int(columns[index], 16) for index in (1, 3, 7))
        if mask and not flags & _REJECT_FLAG:
            # The kernel prints its big-endian words as the machine reads them: little-endian.
            address = ipaddress.IPv4Address(destination.to_bytes(4, "little"))
            prefix = mask.bit_count()
            found.append(ipaddress.IPv4Network((address, prefix), strict=False))
    return found


def overlaps(range_: str, networks: Iterable[ipaddress.IPv4Network]) -> bool:
    """Report whether the range shares an address with one of the networks."""
    return any(ipaddress.IPv4Network(range_).overlaps(network) for network in networks)


def free_port() -> int:
    """Return a free port of 127.0.0.1 for a server that starts soon. No process gets a port that was returned to it before, or to
    another one that still runs.

    No outgoing connection and no cluster uses these ports. Raises DevclusterError when all are in use.
    """
    while True:
        while _reserved_ports:
            port = _reserved_ports.pop()
            if _is_free(port):
                return port
        _reserve_block()


def _reserve_block() -> None:
    """Reserve ports until this process ends, by listening on the first one of a block: its file descriptor is never closed."""
    blocks = range(0, len(_FREE_PORTS), _PORTS_PER_BLOCK)
    for start in random.sample(blocks, len(blocks)):
        first, *rest = _FREE_PORTS[start : start + _PORTS_PER_BLOCK]
        holder = _listen(first)
        if holder is not None:
            holder.detach()
            _reserved_ports.extend(random.sample(rest, len(rest)))
            return
    raise DevclusterError(
        f"All ports from {_FREE_PORTS[0]} to {_FREE_PORTS[-1]} of 127.0.0.1 are taken; stop something."
    )


def _is_free(port: int) -> bool:
    listener = _listen(port)
    if listener is None:
        return False
    listener.close()
    return True


def _listen(port: int) -> socket.socket | None:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
        listener.listen()
    except OSError:
        listener.close()
        return None
    return listener
