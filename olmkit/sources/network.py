"""The settings of connections to servers: addresses that are allowed, certificate authorities, proxies, timeouts. Values only.

transport.py takes a Network. The git and web clients build one from an Access (http_auth.py); for images it is the base class of
oci.registries_conf.Registries, which adds the rules of registries.conf and the credentials. Nothing here opens a connection.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from olmkit.sources.addresses import SourceAddresses
from olmkit.sources.ca_bundle import CABundle
from olmkit.sources.proxies import Proxies


@dataclass(frozen=True)
class Timeouts:
    """The times that a server may take, in seconds; `min_rate_bytes` have to arrive within each `min_rate_window`."""

    connect: float = 10
    read: float = 30
    min_rate_window: float = 30
    min_rate_bytes: int = 32 * 1024

    @property
    def min_rate(self) -> str:
        """The rate below which a transfer is ended, as messages describe it."""
        return f"less than {self.min_rate_bytes // 1024} KiB in {self.min_rate_window:g} s"


@dataclass(frozen=True)
class Endpoint:
    """A server, and for a registry the repository there. `insecure` allows plain HTTP and certificates that do not verify.

    `configured`: registries.conf names the host itself. The administrator chose its address, so the address is not checked.
    """

    host: str
    """The host, with the port when one is given."""
    repository: str
    """"" for servers that are no registry."""
    insecure: bool = False
    configured: bool = False
    kind: str = "registry"
    """Its name in messages: "registry", "git server", "web server"."""

    @property
    def display_name(self) -> str:
        """The name that messages use."""
        return f"{self.kind} {self.host}"


@dataclass(frozen=True, kw_only=True)
class Network:
    """Everything that reaching a server takes, except what is sent to it."""

    addresses: SourceAddresses = field(default_factory=SourceAddresses)
    timeouts: Timeouts = field(default_factory=Timeouts)
    ca_bundle: CABundle = field(default_factory=CABundle, repr=False)
    proxies: Proxies = field(default_factory=Proxies)

    def is_configured(self, host: str) -> bool:
        """Report whether the administrator named this host (with port) in a configuration file. Its address is then not
        checked."""
        return False
