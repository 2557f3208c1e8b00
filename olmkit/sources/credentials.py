"""What may be sent to which host: logins and keys out of Secrets, each bound to the hosts its Secret names.

Made in controllers from Secrets (`Credentials.from_secret`), carried to jobs as JSON over a socket, asked by whoever talks to a
host. Pure. No value of a Secret is ever in a repr or in an error; names of Secrets, keys and hosts are.

A docker config names hosts by its keys, matched as kubelet does: `*` stands for one part of a host name, the longest path wins,
and Docker Hub is also called index.docker.io. Unlike kubelet's, a path ends at a slash: `quay.io/team` does not mean
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
    """Grants in layers: the first layer that has one for a host decides.

    `own` is the Secret that the object itself names, as "namespace/name", "" for none: sentences speak of its hosts and of no
    other Secret's, because whoever may read the object reads them. `unusable`: what is wrong with the Secret for all objects.
    """

    layers: tuple[tuple[CredentialRule, ...], ...] = ()
    own_secret: str = ""
    common_secret_error: str = ""

    @classmethod
    def from_secret(cls, secret: Mapping[str, Any]) -> Credentials:
        """What a Secret (as the API server gives it) grants.

        Raises Blocked(InvalidSecret) naming the Secret and what is missing in it.
        """
        grants = rules_of_secret(secret)
        return cls((grants,), grants[0].value.secret)

    @staticmethod
    def merged(first: Credentials, second: Credentials) -> Credentials:
        """Both; where both name a host, what `first` has for it is taken. The object's own Secret is in `first`."""
        return Credentials(
            first.layers + second.layers, first.own_secret, first.common_secret_error or second.common_secret_error
        )

    def for_registry(self, host: str, repository: str) -> Login | None:
        """The login for a repository at "host[:port]"; None when no Secret names it. Docker Hub goes by any of its names."""
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
        """A user and password for a host at any port, for sentences about what is there and does not fit."""
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
        """The hosts that the own Secret names for its key, sorted, for sentences."""
        return tuple(sorted({grant.host_pattern for grant in self._of_own() if isinstance(grant.value, SshKey)}))

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts that the own Secret names in its annotation, sorted, for sentences."""
        return tuple(sorted({grant.host_pattern for grant in self._of_own() if not grant.registries_only}))

    @property
    def registry_only_secret(self) -> str:
        """The own Secret if what it holds is for registries only, else ""."""
        return self.own_secret if any(self._of_own()) and not self.hosts else ""

    @property
    def common_secret_hint(self) -> str:
        """What to add to a sentence about a login that is missing: "" when every Secret could be used."""
        return (
            f"; the one for all Catalogs cannot be used: {self.common_secret_error}" if self.common_secret_error else ""
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
    """A Secret with an annotation that names the registry will do as well."""
    inside = not grant.path or repository == grant.path or repository.startswith(f"{grant.path}/")
    return inside and grant.matches(host, port, (443,))


def _heaviest(grants: Sequence[CredentialRule], kind: type[Kind]) -> Kind | None:
    fitting = sorted(grants, key=lambda grant: grant.specificity, reverse=True)
    return next((grant.value for grant in fitting if isinstance(grant.value, kind)), None)
