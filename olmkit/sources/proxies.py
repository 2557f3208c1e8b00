"""Selects the proxy that a URL is fetched through: HTTP_PROXY, HTTPS_PROXY and NO_PROXY, with the semantics of Go's net/http.

Pure. A proxy is the administrator's configuration: its address is not checked. Its password is in no repr and no error.
"""

from __future__ import annotations

import base64
import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias
from urllib.parse import unquote, urlsplit

from olmkit.errors import Blocked
from olmkit.sources.errors import SourceReason

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network
DEFAULT_PORTS: Mapping[str, int] = {"http": 80, "https": 443}


@dataclass(frozen=True)
class Proxy:
    """`url` is scheme://host:port; `authorization` is the value of Proxy-Authorization, "" for none."""

    url: str
    authorization: str = field(default="", repr=False)


@dataclass(frozen=True)
class NoProxyEntry:
    """One entry of NO_PROXY."""

    host: str = ""
    """A name, which includes its subdomains; with a leading dot, the subdomains only. "" for a network."""
    network: Network | None = None
    port: int = 0
    """0 means every port."""

    def matches(self, host: str, address: Address | None, port: int) -> bool:
        """Report whether the entry applies to this host of a URL."""
        if self.port not in (0, port):
            return False
        if self.network is not None:
            return address is not None and address in self.network
        if self.host.startswith("."):
            return host.endswith(self.host)
        return host == self.host or host.endswith(f".{self.host}")


@dataclass(frozen=True)
class Proxies:
    """The proxy for each scheme, and the hosts that are reached without one."""

    http: Proxy | None = None
    https: Proxy | None = None
    direct: tuple[NoProxyEntry, ...] = ()
    never: bool = False
    """True if NO_PROXY is `*`."""

    @classmethod
    def load(cls, environment: Mapping[str, str]) -> Proxies:
        """Reads the environment variables in upper case first, then in lower.

        Raises Blocked(InvalidConfiguration) for a value that is not a URL.
        """
        entries = [part.strip().lower() for part in _value(environment, "NO_PROXY").split(",")]
        return cls(
            _proxy(environment, "HTTP_PROXY"),
            _proxy(environment, "HTTPS_PROXY"),
            tuple(found for entry in entries if entry and (found := _no_proxy_entry(entry)) is not None),
            "*" in entries,
        )

    def choose(self, scheme: str, host: str, port: int) -> Proxy | None:
        """The proxy for a URL; None for a direct connection, as always for localhost and loopback addresses."""
        proxy = self.https if scheme == "https" else self.http
        host = host.lower().rstrip(".").strip("[]")
        if proxy is None or self.never or host == "localhost":
            return None
        address = _address(host)
        if address is not None and address.is_loopback:
            return None
        return None if any(each.matches(host, address, port) for each in self.direct) else proxy


def _value(environment: Mapping[str, str], name: str) -> str:
    return environment.get(name) or environment.get(name.lower()) or ""


def _proxy(environment: Mapping[str, str], name: str) -> Proxy | None:
    text = _value(environment, name).strip()
    if not text:
        return None
    try:
        parts = urlsplit(text if "://" in text else f"http://{text}")
        port = parts.port
    except ValueError:
        raise _invalid(name) from None
    if parts.scheme not in DEFAULT_PORTS or not parts.hostname:
        raise _invalid(name)
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    authorization = ""
    if parts.username is not None:
        login = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        authorization = "Basic " + base64.b64encode(login.encode()).decode()
    return Proxy(f"{parts.scheme}://{host}:{port or DEFAULT_PORTS[parts.scheme]}", authorization)


def _invalid(name: str) -> Blocked:
    text = f"the environment variable {name} is not the URL of a proxy: write http://host:port or https://host:port"
    return Blocked(SourceReason.INVALID_CONFIGURATION, text, [name])


def _no_proxy_entry(entry: str) -> NoProxyEntry | None:
    """A CIDR, or a domain or an address with or without a port; None for what Go ignores."""
    try:
        if "/" in entry:
            return NoProxyEntry(network=ipaddress.ip_network(entry, strict=False))
    except ValueError:
        return None
    host, port = _split(entry)
    address = _address(host)
    if address is not None:
        return NoProxyEntry(network=ipaddress.ip_network(address), port=port)
    if not host:
        return None
    return NoProxyEntry(host=host[1:] if host.startswith("*.") else host, port=port)


def _split(entry: str) -> tuple[str, int]:
    host, colon, digits = entry.rpartition(":")
    if colon and digits.isdigit() and (":" not in host or host.endswith("]")):
        return host.strip("[]"), int(digits)
    return entry.strip("[]"), 0


def _address(host: str) -> Address | None:
    try:
        return ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return None
