"""Credentials: the logins and keys of Secrets, each for the hosts that its Secret names.

Pure. Reprs and errors contain names of Secrets, keys and hosts, never values.

A docker config names hosts by its keys, matched as in kubelet: `*` matches one part of a host name, the longest path wins,
and index.docker.io is Docker Hub. Unlike in kubelet, a path ends at a slash: `quay.io/team` does not match `quay.io/teams`. The
other types name their hosts in the annotation `olm.operatorframework.io/source-hosts`.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

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


Kind = TypeVar("Kind", Login, SshKey)


@dataclass(frozen=True)
class Credentials:
    """Rules in layers: the first layer with a rule for a host is used.

    `own_secret` is the Secret that the object itself names, as "namespace/name", "" for none. Messages contain its hosts and not
    those of other Secrets, because everyone who may read the object reads them. `common_secret_error` says what is wrong
    with the Secret for all objects, "" for nothing.
    """

    layers: tuple[tuple[CredentialRule, ...], ...] = ()
    own_secret: str = ""
    common_secret_error: str = ""

    @staticmethod
    def merged(first: Credentials, second: Credentials) -> Credentials:
        """The union; for hosts in both, `first` takes precedence. The object's own Secret is in `first`."""
        return Credentials(
            first.layers + second.layers, first.own_secret, first.common_secret_error or second.common_secret_error
        )

    def for_registry(self, host: str, repository: str) -> Login | None:
        """The login for a repository at "host[:port]"; None when no Secret has one. All names of Docker Hub are equal."""
        host = host.lower()
        name, port = split_port(DOCKER_HUB if host in DOCKER_HUB_NAMES else host)
        for layer in self.layers:
            matching = [each for each in layer if _may_pull(each, name, port or 443, repository)]
            found = _most_specific(matching, Login)
            if found is not None:
                return found
        return None

    def basic_auth(self, host: str, *, verified: bool = True) -> Login | None:
        """The user and password for "host[:port]" (default port 443), from Secrets whose annotation names it.

        Not `verified` means plain HTTP or a certificate that is not checked: the annotation for insecure hosts must then name the
        host too.
        """
        return self._for_server(host, 443, (443, 80), Login, verified=verified)

    def ssh_key(self, host: str) -> SshKey | None:
        """The key for "host[:port]" (default port 22)."""
        return self._for_server(host, 22, (22,), SshKey)

    def login_at(self, host: str) -> Login | None:
        """A user and password for a host at any port, for messages about credentials that do not apply."""
        rules = (
            rule for layer in self.layers for rule in layer if not rule.registries_only and rule.host == host.lower()
        )
        return next((rule.value for rule in rules if isinstance(rule.value, Login)), None)

    def key_at(self, host: str) -> SshKey | None:
        """The same for a key."""
        rules = (rule for layer in self.layers for rule in layer if rule.host == host.lower())
        return next((rule.value for rule in rules if isinstance(rule.value, SshKey)), None)

    @property
    def ssh_hosts(self) -> tuple[str, ...]:
        """The hosts that the own Secret names for its key, sorted, for messages."""
        return tuple(sorted({rule.host_pattern for rule in self._own_rules() if isinstance(rule.value, SshKey)}))

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts that the own Secret names in its annotation, sorted, for messages."""
        return tuple(sorted({rule.host_pattern for rule in self._own_rules() if not rule.registries_only}))

    @property
    def registry_only_secret(self) -> str:
        """The own Secret if its credentials are for registries only, else ""."""
        return self.own_secret if any(self._own_rules()) and not self.hosts else ""

    @property
    def common_secret_hint(self) -> str:
        """A hint for messages about missing credentials; "" when every Secret could be used."""
        return f"; {self.common_secret_error}" if self.common_secret_error else ""

    def _own_rules(self) -> Iterator[CredentialRule]:
        return (
            rule for layer in self.layers for rule in layer if self.own_secret and rule.value.secret == self.own_secret
        )

    def _for_server(
        self, host: str, port: int, default_ports: tuple[int, ...], kind: type[Kind], *, verified: bool = True
    ) -> Kind | None:
        name, port_given = split_port(host.lower())
        for layer in self.layers:
            matching = [
                each
                for each in layer
                if not each.registries_only and each.matches(name, port_given or port, default_ports)
            ]
            found = _most_specific([each for each in matching if verified or each.insecure], kind)
            if found is not None:
                return found
        return None


def _may_pull(rule: CredentialRule, host: str, port: int, repository: str) -> bool:
    """Rules of docker configs, and those of Secrets with an annotation that names the registry."""
    inside = not rule.path or repository == rule.path or repository.startswith(f"{rule.path}/")
    return inside and rule.matches(host, port, (443,))


def _most_specific(rules: Sequence[CredentialRule], kind: type[Kind]) -> Kind | None:
    matching = sorted(rules, key=lambda rule: rule.specificity, reverse=True)
    return next((rule.value for rule in matching if isinstance(rule.value, kind)), None)


def split_port(host: str) -> tuple[str, int]:
    """("host", port or 0) of "host[:port]"; an IPv6 address is in brackets."""
    name, colon, port = host.rpartition(":")
    if not colon or not port.isdigit():
        return host, 0
    return name, int(port)
