"""Checks the addresses that sources are fetched from: each one when a connection to it is made.

The author of a Catalog or a Bundle chooses a host, and a process inside the cluster connects to it. Therefore loopback,
link-local, metadata services, multicast and the API server are refused, for every name that resolves to them and at every
redirect. Private networks are allowed, because registries are there. `--allow-source-cidr` allows a range. Hosts that the
administrator names as a location or mirror in registries.conf are not checked (oci/registries_conf.py).
"""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from olmkit.errors import Blocked, Waiting
from olmkit.sources.errors import BadReference, SourceReason

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network

METADATA_ADDRESSES = frozenset(
    ipaddress.ip_address(each)
    for each in (
        "100.100.100.200",  # Alibaba Cloud
        "168.63.129.16",  # Azure's wire server
        "192.0.0.192",  # Oracle Cloud
        "fd00:ec2::254",  # AWS over IPv6
        "fd20:ce::254",  # Google Cloud over IPv6
    )
)
"""Metadata services outside the link-local ranges."""
METADATA_NAMES = frozenset({"metadata.google.internal", "metadata.goog", "instance-data", "instance-data.ec2.internal"})

NAT64_NETWORKS = (ipaddress.ip_network("64:ff9b::/96"), ipaddress.ip_network("64:ff9b:1::/48"))
"""Networks whose addresses hold an IPv4 address in their last 32 bits."""

IPV4_COMPATIBLE = ipaddress.ip_network("::/96")
_IPV4_NUMBERS = re.compile(r"(?:0[xX][0-9a-fA-F]+|[0-9]+)(?:\.(?:0[xX][0-9a-fA-F]+|[0-9]+)){0,3}")
THIS_NETWORK = ipaddress.ip_network("0.0.0.0/8")


REFUSED_ADDRESS_HINT = "such addresses are refused unless --allow-source-cidr names them"


class AddressRefused(Waiting):
    """The address of the host is not allowed. Retried, because a name may later resolve to another address."""


@dataclass(frozen=True)
class SourceAddresses:
    """`allowed` takes precedence; `denied` are (address, port) pairs, where port 0 means every port."""

    allowed: tuple[Network, ...] = ()
    denied: tuple[tuple[Address, int], ...] = ()

    @classmethod
    def load(cls, allow_cidrs: Iterable[str] = (), deny: Iterable[str] = ()) -> SourceAddresses:
        """Reads the values of flags. `deny` are "host" or "host:port", such as the API server's; names are resolved here.

        Raises Blocked(InvalidConfiguration) for a CIDR that cannot be parsed. A name without an address denies nothing.
        """
        try:
            allowed = tuple(ipaddress.ip_network(cidr, strict=False) for cidr in allow_cidrs)
        except ValueError as error:
            raise Blocked(
                SourceReason.INVALID_CONFIGURATION, f"--allow-source-cidr: {error}", ["--allow-source-cidr"]
            ) from error
        return cls(allowed, tuple(pair for each in deny for pair in _resolve(each)))

    def refusal_of_host(self, host: str, port: int) -> str | None:
        """Explain why the host of a URL is refused, to follow "it has ...". None when it is allowed.

        Names are not resolved here, except those of metadata services and localhost; a proxy resolves them.
        """
        name = host.lower().rstrip(".")
        if name in METADATA_NAMES:
            return f"the name {name}, which is a metadata service's"
        address = ipaddress.ip_address("127.0.0.1") if f".{name}".endswith(".localhost") else literal_address(host)
        refusal = self.refusal_of_address(str(address), port) if address is not None else None
        return f"the address {address}, {refusal}" if refusal else None

    def check_literal(self, host: str, port: int, server: str) -> None:
        """Raise BadReference when the host is written as an address that is refused: only a change of the spec helps.

        `server` is the name of the server in messages. Host names pass.
        """
        what = self.refusal_of_host(host, port) if literal_address(host) is not None else None
        if what is not None:
            raise BadReference(SourceReason.ADDRESS_REFUSED, f"{server} has {what}: {REFUSED_ADDRESS_HINT}")

    def refusal_of_address(self, address: str, port: int) -> str | None:
        """Explain why an address is refused, to follow "it has the address A, "; None when it is allowed."""
        ip = _without_embedding(ipaddress.ip_address(address.partition("%")[0]))
        if any(ip in network for network in self.allowed):
            return None
        if any(ip == denied and each in (0, port) for denied, each in self.denied):
            return "which is the API server's"
        return _special_use(ip)


class AddressGuard:
    """A socket factory for aiohttp's TCPConnector, which calls it for each address: it applies SourceAddresses."""

    def __init__(self, addresses: SourceAddresses) -> None:
        self._addresses = addresses
        self.refused: set[str] = set()
        """The addresses refused since it was last cleared, each with the reason, to follow "it has ..."."""

    def __call__(self, info: tuple[Any, ...]) -> socket.socket:
        """A socket for getaddrinfo's 5-tuple. Raises PermissionError for a refused address, before any packet is sent."""
        family, kind, protocol, _, endpoint = info
        refusal = self._addresses.refusal_of_address(endpoint[0], endpoint[1])
        if refusal is not None:
            self.refused.add(f"the address {endpoint[0]}, {refusal}")
            raise PermissionError(refusal)
        return socket.socket(family, kind, protocol)


def literal_address(host: str) -> Address | None:
    """The address that the host of a URL is, in every notation that inet_aton accepts (127.1, 0x7f000001); None for a name."""
    host = host.strip("[]").partition("%")[0]
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        pass
    if not _IPV4_NUMBERS.fullmatch(host):
        return None
    try:
        return ipaddress.IPv4Address(socket.inet_aton(host))
    except OSError:
        return None


def _special_use(ip: Address) -> str | None:
    if ip in METADATA_ADDRESSES:
        return "which is a metadata service's"
    if ip.is_loopback:
        return "which is loopback"
    if ip.is_link_local:
        return "which is link-local, the range of metadata services"
    if ip.is_unspecified or (ip.version == 4 and ip in THIS_NETWORK):
        return "which is unspecified"
    if ip.is_multicast or str(ip) == "255.255.255.255":
        return "which is multicast"
    return None


def _without_embedding(ip: Address) -> Address:
    """The IPv4 address that an IPv6 address embeds, else the address itself."""
    if isinstance(ip, ipaddress.IPv6Address):
        wrapped = ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else None)
        if wrapped is None and any(ip in network for network in NAT64_NETWORKS):
            wrapped = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        if wrapped is None and ip in IPV4_COMPATIBLE and int(ip) > 0xFFFF:  # not :: and not ::1
            wrapped = ipaddress.IPv4Address(int(ip))
        return wrapped or ip
    return ip


def _resolve(text: str) -> Sequence[tuple[Address, int]]:
    host, port = text, 0
    if text.count(":") == 1 or text.startswith("["):
        host, _, digits = text.rpartition(":")
        host, port = host.strip("[]"), int(digits)
    try:
        infos = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError:
        return ()
    return tuple(sorted({(ipaddress.ip_address(str(info[4][0]).partition("%")[0]), port) for info in infos}, key=str))
