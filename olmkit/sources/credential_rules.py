"""A credential rule: a login or key, and the hosts that it may be sent to. Parsed by secrets.py, evaluated by credentials.py.

Pure. Reprs contain no values.
"""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass

import msgspec

DOCKER_HUB = "docker.io"
DOCKER_HUB_NAMES = frozenset({DOCKER_HUB, "index.docker.io", "registry-1.docker.io"})


class Login(msgspec.Struct, frozen=True, tag=True):
    """A login: `registry_token` (a bearer token), `identity_token` (an OAuth2 refresh token), or user and password.

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
    """A private key in OpenSSH format, and the known_hosts lines that verify the server."""

    private_key: str
    known_hosts: str
    secret: str = ""

    def __repr__(self) -> str:
        return f"SshKey(secret={self.secret!r})"


@dataclass(frozen=True)
class CredentialRule:
    """A host, or a pattern of hosts, and the credentials for it.

    `port` 0 is the default port; `path` is a repository or a directory of repositories, without slashes at the ends; "" for all.
    """

    host: str
    port: int
    path: str
    value: Login | SshKey
    registries_only: bool = False
    """True if it is for registries only: the credentials of a docker config are."""
    insecure: bool = False
    """True if it may also be sent over plain HTTP, or without verification of the certificate."""

    def matches(self, host: str, port: int, default_ports: tuple[int, ...]) -> bool:
        """Report whether the credential may be sent to this host and port."""
        if port != self.port and not (self.port == 0 and port in default_ports):
            return False
        # As in kubelet's keyring, each * matches at most one part of the name.
        pattern = re.escape(self.host).replace(r"\*", "[^.]*")
        return re.fullmatch(pattern, host) is not None

    @property
    def host_pattern(self) -> str:
        """host[:port][/path], for messages."""
        port = f":{self.port}" if self.port else ""
        return f"{self.host}{port}" + (f"/{self.path}" if self.path else "")

    @property
    def specificity(self) -> tuple[bool, int, int]:
        """The sort key of matching rules: names before patterns, then longer paths, then longer hosts."""
        return "*" not in self.host, len(self.path), len(self.host)


def split_port(host: str) -> tuple[str, int]:
    """("host", port or 0) of "host[:port]"; an IPv6 address is in brackets."""
    name, colon, port = host.rpartition(":")
    if not colon or not port.isdigit():
        return host, 0
    return name, int(port)
