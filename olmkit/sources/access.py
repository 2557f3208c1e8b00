"""Everything that a job may use to reach a source: configuration of the process and the Secrets of one object.

Built by controllers, carried to jobs in a request, unfolded there: what it names on disk is read when a
method is called, so that files that change count from the next job on. Proxies come from the environment, of which jobs
inherit what names them (olmkit.jobs.environment).
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


@dataclass(frozen=True)
class Access:
    """`ca_folder` holds PEM files of authorities beside the system's; `allowed` are CIDRs, `denied` hosts ("host" or "host:port")
    that are refused: the API server's.
    """

    registries_conf: Path | None = None
    ca_folder: Path | None = None
    allowed_cidrs: tuple[str, ...] = ()
    denied_hosts: tuple[str, ...] = ()
    credentials: Credentials = field(default_factory=Credentials, repr=False)
    timeouts: Timeouts = field(default_factory=Timeouts)

    def check(self) -> None:
        """Read everything once. Raises Blocked(InvalidConfiguration) for what a person has to put right."""
        self.registries()

    def config_files(self) -> tuple[Path, ...]:
        """What of the configuration lies on disk: jobs have to be allowed to read it."""
        return tuple(path for path in (self.registries_conf, self.ca_folder) if path is not None)

    def addresses(self) -> SourceAddresses:
        """The policy for addresses. Looks names up; raises Blocked."""
        return SourceAddresses.load(self.allowed_cidrs, self.denied_hosts)

    def ca_bundle(self) -> CABundle:
        """The authorities that are believed. Raises Blocked."""
        return CABundle.load(self.ca_folder)

    def proxies(self) -> Proxies:
        """What HTTP_PROXY, HTTPS_PROXY and NO_PROXY say. Raises Blocked."""
        return Proxies.load(os.environ)

    def registries(self) -> Registries:
        """All of it, for images. One value per job: it also keeps the tokens that registries gave. Raises Blocked."""
        return replace(
            Registries.load(self.registries_conf, self.addresses()),
            ca_bundle=self.ca_bundle(),
            proxies=self.proxies(),
            credentials=self.credentials,
            timeouts=self.timeouts,
        )

    def with_credentials(self, credentials: Credentials) -> Access:
        """The same for an object whose Secrets these are."""
        return replace(self, credentials=credentials)

    def with_denied_hosts(self, hosts: tuple[str, ...]) -> Access:
        """The same, and these hosts are refused."""
        return replace(self, denied_hosts=tuple(dict.fromkeys((*self.denied_hosts, *hosts))))
