"""The ports and address ranges of one cluster, claimed so that no two clusters of a machine ever share one.

A claim is a number. It is held by listening on the first port of the number's block, so it is seen by every user and cache
of the machine, and the kernel drops it with its holder, however that ends. Only the supervisor claims.
"""

import ipaddress
import os
import random
import socket
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from devcluster.errors import DevclusterError

CLAIMS = 32
PORTS_PER_CLAIM = 8
# Below the range from which the kernel takes ports of outgoing connections, so that none of them is in the way.
_FIRST_PORT = 21000
_SPARE_PORTS = range(22000, 32000)
_SPARE_PORTS_PER_PROCESS = 400
_given: set[int] = set()
# kubeadm takes 10.96, flannel 10.244, Docker 172.17: these are seldom anyone's.
_FIRST_RANGE = 180
_ROUTES = Path("/proc/net/route")
_REJECT_FLAG = 0x0200


@dataclass(frozen=True)
class Claim:
    """One number's share: ports on 127.0.0.1 and two /16 ranges as text ("10.180.0.0/16")."""

    number: int
    ports: tuple[int, ...]
    pod_range: str
    service_range: str

    @property
    def first_service_address(self) -> str:
        """The address of the Service `kubernetes` in `default`."""
        return str(ipaddress.ip_network(self.service_range)[1])


def share(number: int) -> Claim:
    """What belongs to a number from 0 to CLAIMS - 1; no two numbers overlap. The first port is the claim itself."""
    first = _FIRST_PORT + number * (PORTS_PER_CLAIM + 1)
    ranges = [f"10.{_FIRST_RANGE + 2 * number + half}.0.0/16" for half in (0, 1)]
    return Claim(number, tuple(range(first + 1, first + 1 + PORTS_PER_CLAIM)), ranges[0], ranges[1])


def take() -> tuple[Claim, socket.socket]:
    """Claim the first number that is free; it is ours as long as the returned socket is open."""
    foreign = routed_networks(_ROUTES.read_text().splitlines()) if _ROUTES.exists() else []
    for number in range(CLAIMS):
        claim = share(number)
        if any(overlaps(range_, foreign) for range_ in (claim.pod_range, claim.service_range)):
            continue
        holder = _listen(claim.ports[0] - 1)
        if holder is None:
            continue
        if all(_is_free(port) for port in claim.ports):
            return claim, holder
        holder.close()
    last = share(CLAIMS - 1)
    raise DevclusterError(
        f"No room for one more cluster: ports {_FIRST_PORT} to {last.ports[-1]} or networks up to {last.service_range} "
        "are taken; stop a cluster with `python -m devcluster down --name NAME`."
    )


def routed_networks(lines: Sequence[str]) -> list[ipaddress.IPv4Network]:
    """The networks of a routing table in the form of /proc/net/route, without the default route and without unreachable
    ones (those are ours, or one that a killed cluster left)."""
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
    """Whether the range shares an address with one of the networks."""
    return any(ipaddress.IPv4Network(range_).overlaps(network) for network in networks)


def spare_port() -> int:
    """A free port of 127.0.0.1 for a server that starts soon.

    No outgoing connection and no cluster takes it meanwhile, and hardly another process that asks for one: each begins elsewhere.
    A process gets each port once.
    """
    first = os.getpid() * _SPARE_PORTS_PER_PROCESS % len(_SPARE_PORTS)
    ours = _SPARE_PORTS[first : first + _SPARE_PORTS_PER_PROCESS]
    for port in (*random.sample(ours, len(ours)), *random.sample(_SPARE_PORTS, len(_SPARE_PORTS))):
        if port not in _given and _is_free(port):
            _given.add(port)
            return port
    raise DevclusterError(
        f"All ports from {_SPARE_PORTS[0]} to {_SPARE_PORTS[-1]} of 127.0.0.1 are taken; stop something."
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
