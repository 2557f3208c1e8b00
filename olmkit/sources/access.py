"""The access of a job to a source: the configuration of the process, and the credentials and the signature policy of one object.

Built by controllers, passed to jobs in a request, and evaluated there: files are read when a method is called, so a changed file
takes effect with the next job. Proxies come from the environment variables that jobs inherit (olmkit.jobs.fork_client).
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from pathlib import Path

from olmkit.sources.addresses import SourceAddresses
from olmkit.sources.ca_bundle import CABundle
from olmkit.sources.credentials import Credentials
from olmkit.sources.network import Timeouts
from olmkit.sources.oci.registries_conf import Registries
from olmkit.sources.proxies import Proxies
from olmkit.sources.signatures.policy import SignaturePolicy


@dataclass(frozen=True)
class Access:
    """`ca_directory` contains PEM files of authorities that are trusted in addition to the system's. `denied_hosts` are "host" or
    "host:port", such as the API server's.
    """

    registries_conf: Path | None = None
    ca_directory: Path | None = None
    allowed_cidrs: tuple[str, ...] = ()
    denied_hosts: tuple[str, ...] = ()
    credentials: Credentials = field(default_factory=Credentials, repr=False)
    timeouts: Timeouts = field(default_factory=Timeouts)
    policy: SignaturePolicy | None = None
    """The policy for the signatures of images; None if signatures are not verified."""

    def check(self) -> None:
        """Read all configuration once. Raises Blocked(InvalidConfiguration) for what an administrator has to fix."""
        self.registries()

    def config_files(self) -> tuple[Path, ...]:
        """The files and directories of the configuration, which the sandbox of jobs has to allow."""
        return tuple(path for path in (self.registries_conf, self.ca_directory) if path is not None)

    def addresses(self) -> SourceAddresses:
        """The rules for addresses. Resolves names. Raises Blocked."""
        return SourceAddresses.load(self.allowed_cidrs, self.denied_hosts)

    def ca_bundle(self) -> CABundle:
        """The trusted certificate authorities. Raises Blocked."""
        return CABundle.load(self.ca_directory)

    def proxies(self) -> Proxies:
        """The proxies of HTTP_PROXY, HTTPS_PROXY and NO_PROXY. Raises Blocked."""
        return Proxies.load(os.environ)

    def registries(self) -> Registries:
        """The configuration for images. One value per job, because it also caches tokens of registries. Raises Blocked."""
        return replace(
            Registries.load(self.registries_conf, self.addresses()),
            ca_bundle=self.ca_bundle(),
            proxies=self.proxies(),
            credentials=self.credentials,
            timeouts=self.timeouts,
        )

    def with_credentials(self, credentials: Credentials) -> Access:
        """A copy with the credentials of an object."""
        return replace(self, credentials=credentials)

    def with_policy(self, policy: SignaturePolicy | None) -> Access:
        """A copy with the signature policy of an object."""
        return replace(self, policy=policy)

    def with_denied_hosts(self, hosts: tuple[str, ...]) -> Access:
        """A copy that also denies these hosts."""
        return replace(self, denied_hosts=tuple(dict.fromkeys((*self.denied_hosts, *hosts))))
