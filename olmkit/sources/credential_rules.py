"""A grant: one thing that may be sent, and the host it may be sent to. Out of Secrets (secrets.py), kept by credentials.py.

Pure. No value is ever in a repr.
"""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass

import msgspec

DOCKER_HUB = "docker.io"
DOCKER_HUB_NAMES = frozenset({DOCKER_HUB, "index.docker.io", "registry-1.docker.io"})


class Login(msgspec.Struct, frozen=True, tag=True):
    """What a host is told: `registry_token` (a bearer token), `identity_token` (an OAuth2 refresh token), or user and password.

    `secret` is the name of the Secret it came from, as "namespace/name".
    """

    user: str = ""
    password: str = ""
    identity_token: str = ""
    registry_token: str = ""
    secret: str = ""

    def __repr__(self) -> str:
        return f"Login(secret={self.secret!r})"

    @property
    def basic(self) -> str:
        """The value of a header `Authorization: Basic`; "" when there is no password."""
        if not (self.user or self.password):
            return ""
        return "Basic " + base64.b64encode(f"{self.user}:{self.password}".encode()).decode()


class SshKey(msgspec.Struct, frozen=True, tag=True):
    """A private key as OpenSSH writes it, and the known_hosts lines that tell the right server."""

    private_key: str
    known_hosts: str
    secret: str = ""

    def __repr__(self) -> str:
        return f"SshKey(secret={self.secret!r})"


@dataclass(frozen=True)
class CredentialRule:
    """One host, or hosts by pattern, that one thing may be sent to.

    `port` 0 means the usual one; `path` is that of the repositories meant, without a slash at its ends, "" for all.
    """

    host: str
    port: int
    path: str
    value: Login | SshKey
    registries_only: bool = False
    """Out of a docker config: for registries only."""
    insecure: bool = False
    """Whether it may also be sent there by plain HTTP, or where the certificate is not verified."""

    def matches(self, host: str, port: int, usual: tuple[int, ...]) -> bool:
        """Whether it may be sent there."""
        if port != self.port and not (self.port == 0 and port in usual):
            return False
        # Each * is one part of the name or less, as in kubelet's keyring.
        pattern = re.escape(self.host).replace(r"\*", "[^.]*")
        return re.fullmatch(pattern, host) is not None

    @property
    def host_pattern(self) -> str:
        """host[:port][/path], for sentences."""
        port = f":{self.port}" if self.port else ""
        return f"{self.host}{port}" + (f"/{self.path}" if self.path else "")

    @property
    def specificity(self) -> tuple[bool, int, int]:
        """The heaviest of those that match is taken: a host by its own name, then the longest path."""
        return "*" not in self.host, len(self.path), len(self.host)


def split_port(host: str) -> tuple[str, int]:
    """("host", port or 0) of "host[:port]"; an IPv6 address stands in brackets."""
    name, colon, port = host.rpartition(":")
    if not colon or not port.isdigit():
        return host, 0
    return name, int(port)
