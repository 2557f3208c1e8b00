"""The process `olm-console` on this machine, in front of a cluster, and visitors with sessions of it.

A session is a cookie that is sealed with the key of the process: visitors need no login, so that there may be many of them.
"""

from __future__ import annotations

import secrets
import ssl
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import aiohttp

from console.login import Cookies
from console.session import Sealer, Ticket, new_id, split_parts
from devcluster.cluster import Cluster
from devcluster.processes import python_environment
from devcluster.services import Services, answers, free_address
from devcluster.suite import Suite
from tests.console import RemoteBrowser

NAME = "olm-console"


class ConsoleProcess(Services):
    """The console as it runs in a cluster. Its catalogs are those of the catalogd of `suite`, which must have been ready once."""

    def __init__(self, cluster: Cluster, suite: Suite, flags: Sequence[str] = ()) -> None:
        """Start it; return when it is ready. `seconds` is the time that this took."""
        super().__init__(cluster.directory / f"console-{secrets.token_hex(4)}")
        key, authority = self.directory / "key", self.directory / "ca.crt"
        key.write_text(secrets.token_hex(32))
        path = "/api/v1/namespaces/olm-suite-system/configmaps/catalogd-ca"
        authority.write_text(cluster.api.call("GET", path)["data"]["ca.crt"])
        self.address, probes = free_address(), free_address()
        self._sealer = Sealer.read(key)
        arguments = [
            *("-m", "console", "--kubeconfig", str(cluster.kubeconfig), "--session-key-file", str(key)),
            *("--bind-address", self.address, "--health-probe-bind-address", probes),
            *("--catalogs-url", f"https://{suite.addresses['catalogd'].catalogs}"),
            *("--catalogs-ca-file", str(authority), *flags),
        ]
        started = time.perf_counter()
        self.launch(NAME, sys.executable, arguments, python_environment())
        self.until(NAME, "ready", lambda: answers(probes, "/readyz"))
        self.seconds = time.perf_counter() - started

    @property
    def process(self) -> int:
        """The process id."""
        return self.pid(NAME)

    def cookies(self, token: str) -> dict[str, str]:
        """The cookies of a new session with a token."""
        name = Cookies.in_cluster().name
        ticket = Ticket(new_id(), "visitor", int(time.time()) + 3600, token)
        return {key: value for key, value in split_parts(self._sealer.seal(ticket.dump(), name), name).items() if value}

    @asynccontextmanager
    async def visitors(self, *tokens: str) -> AsyncIterator[list[RemoteBrowser]]:
        """A browser with a session of its own for each token."""
        trusting = ssl.create_default_context()
        trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
        connector = aiohttp.TCPConnector(ssl=trusting, limit=0)
        waiting = aiohttp.ClientTimeout(total=None)
        async with aiohttp.ClientSession(
            connector=connector, cookie_jar=aiohttp.DummyCookieJar(), timeout=waiting
        ) as http:
            yield [RemoteBrowser(http, f"https://{self.address}", cookies=self.cookies(each)) for each in tokens]


def token_of_administrator(cluster: Cluster, name: str) -> str:
    """The token of a new account of this name, in the namespace default, that may do everything."""
    cluster.kubectl("create", "serviceaccount", name, "--namespace=default")
    account = f"--serviceaccount=default:{name}"
    cluster.kubectl("create", "clusterrolebinding", name, "--clusterrole=cluster-admin", account)
    return cluster.kubectl("create", "token", name, "--namespace=default", "--duration=4h").strip()
