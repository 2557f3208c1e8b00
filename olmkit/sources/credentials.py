"""Credentials: the logins and keys of Secrets, each for the hosts that its Secret names.

Made in controllers from Secrets (`Credentials.from_secret`), carried to jobs as JSON over a socket, used by the clients of
registries, git and web servers. Pure. Reprs and errors contain names of Secrets, keys and hosts, never values.

A docker config names hosts by its keys, matched as in kubelet: `*` matches one part of a host name, the longest path wins,
and index.docker.io is Docker Hub. Unlike in kubelet, a path ends at a slash: `quay.io/team` does not match
`quay.io/teams`.
The other types name their hosts in the annotation `olm.operatorframework.io/source-hosts`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from olmkit.sources.credential_rules import DOCKER_HUB, DOCKER_HUB_NAMES, CredentialRule, Login, SshKey, split_port
from olmkit.sources.secrets import HOSTS_ANNOTATION, rules_of_secret

__all__ = ["HOSTS_ANNOTATION", "Credentials", "Login", "SshKey"]

Kind = TypeVar("Kind", Login, SshKey)


@dataclass(frozen=True)
class Credentials:
    """Rules in layers: the first layer with a rule for a host is used.

    `own` is the Secret that the object itself names, as "namespace/name", "" for none: sentences speak of its hosts and of no
    other Secret's, because whoever may read the object reads them. `unusable`: what is wrong with the Secret for all objects.
    """

    layers: tuple[tuple[CredentialRule, ...], ...] = ()
    own_secret: str = ""
    common_secret_error: str = ""

    @classmethod
    def from_secret(cls, secret: Mapping[str, Any]) -> Credentials:
        """The credentials of a Secret object.

        Raises Blocked(InvalidSecret), which names the Secret and the missing or invalid key.
        """
        grants = rules_of_secret(secret)
        return cls((grants,), grants[0].value.secret)

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
            fitting = [each for each in layer if _may_pull(each, name, port or 443, repository)]
            found = _heaviest(fitting, Login)
            if found is not None:
                return found
        return None

    def basic_auth(self, host: str, *, verified: bool = True) -> Login | None:
        """The user and password for "host[:port]", port 443 when none is given, of Secrets that name it in their annotation; not
        `verified`, by plain HTTP or without a look at the certificate: of those that allow that for it."""
        return self._annotated(host, 443, (443, 80), Login, verified=verified)

    def ssh_key(self, host: str) -> SshKey | None:
        """The key for "host[:port]", port 22 when none is given."""
        return self._annotated(host, 22, (22,), SshKey)

    def login_at(self, host: str) -> Login | None:
        """A user and password for a host at any port, for messages about credentials that do not apply."""
        grants = (
            grant
            for layer in self.layers
            for grant in layer
            if not grant.registries_only and grant.host == host.lower()
        )
        return next((grant.value for grant in grants if isinstance(grant.value, Login)), None)

    def key_at(self, host: str) -> SshKey | None:
        """The same for a key."""
        grants = (grant for layer in self.layers for grant in layer if grant.host == host.lower())
        return next((grant.value for grant in grants if isinstance(grant.value, SshKey)), None)

    @property
    def ssh_hosts(self) -> tuple[str, ...]:
        """The hosts that the own Secret names for its key, sorted, for messages."""
        return tuple(sorted({grant.host_pattern for grant in self._of_own() if isinstance(grant.value, SshKey)}))

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts that the own Secret names in its annotation, sorted, for messages."""
        return tuple(sorted({grant.host_pattern for grant in self._of_own() if not grant.registries_only}))

    @property
    def registry_only_secret(self) -> str:
        """The own Secret if its credentials are for registries only, else ""."""
        return self.own_secret if any(self._of_own()) and not self.hosts else ""

    @property
    def common_secret_hint(self) -> str:
        """A hint for messages about missing credentials; "" when every Secret could be used."""
        return (
            f"; the Secret for all Catalogs cannot be used: {self.common_secret_error}"
            if self.common_secret_error
            else ""
        )

    def _of_own(self) -> Iterator[CredentialRule]:
        return (
            grant
            for layer in self.layers
            for grant in layer
            if self.own_secret and grant.value.secret == self.own_secret
        )

    def _annotated(
        self, host: str, port: int, usual: tuple[int, ...], kind: type[Kind], *, verified: bool = True
    ) -> Kind | None:
        name, given = split_port(host.lower())
        for layer in self.layers:
            fitting = [each for each in layer if not each.registries_only and each.matches(name, given or port, usual)]
            found = _heaviest([each for each in fitting if verified or each.insecure], kind)
            if found is not None:
                return found
        return None


def _may_pull(grant: CredentialRule, host: str, port: int, repository: str) -> bool:
    """Rules of docker configs, and those of Secrets with an annotation that names the registry."""
    inside = not grant.path or repository == grant.path or repository.startswith(f"{grant.path}/")
    return inside and grant.matches(host, port, (443,))


def _heaviest(grants: Sequence[CredentialRule], kind: type[Kind]) -> Kind | None:
    fitting = sorted(grants, key=lambda grant: grant.specificity, reverse=True)
    return next((grant.value for grant in fitting if isinstance(grant.value, kind)), None)
