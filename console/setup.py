"""Sets up the console's process: its flags, its client without an identity, its certificate, its server.

In the cluster the process has no permissions: each call to the API server has the token of a user. On a laptop, `olm console`
runs the same server on loopback with the credentials of a kubeconfig (`serve_locally`).
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import signal
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from console.catalog_service import CatalogService
from console.login import AuthMode, who_is
from console.page import ConsoleOptions
from console.server import MAX_BODY_BYTES, ConsoleServer, ServerSettings
from console.session import Sealer
from console.user_client import UserClient
from console.users import Users
from olmctl.questions.system_namespace import SystemNamespace, find_system_namespace
from olmkit.errors import Forbidden, OlmError
from olmkit.runtime.flags import DISTRIBUTION, Settings
from olmkit.runtime.listener.application_server import ApplicationServer
from olmkit.runtime.listener.listener import ConnectionLimits, default_max_connections
from olmkit.runtime.probes import serve_health, serve_metrics
from olmkit.tls.certificate_authority import create
from olmkit.tls.certificate_watcher import CertificateWatcher
from olmkit.tls.client_tls import ClientTls
from olmkit.tls.server_tls import ServerTls
from olmkit.tls.service import CATALOG_SERVICE

NAME = "olm-console"
"""The name of the process, of its Deployment and of its Service."""
SHUTDOWN_GRACE_SECONDS = 3.0
LOOPBACK_ADDRESS = "127.0.0.1"

log = logging.getLogger(__name__)


def make_parser() -> argparse.ArgumentParser:
    """The flags of the process in a cluster."""
    parser = argparse.ArgumentParser(prog=NAME, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    add = parser.add_argument
    add("--bind-address", default=":8443", help="host:port of the console, over HTTPS")
    add(
        "--host",
        action="append",
        default=[],
        help="a host, or host:port, under which browsers reach the console; may be repeated; others are refused",
    )
    add(
        "--auth",
        choices=(AuthMode.TOKEN.value, AuthMode.HEADER.value),
        default=AuthMode.TOKEN.value,
        help="token: people paste one; header: a proxy in front, such as oauth2-proxy, sends one in Authorization",
    )
    add(
        "--session-key-file",
        type=Path,
        help="file with 32 bytes that seal the cookies of sessions, the same for all replicas; without it a random key",
    )
    add("--tls-cert-dir", type=Path, help="directory with tls.crt and tls.key, reloaded; without it a self-signed one")
    _add_places(parser)
    add("--metrics-bind-address", default="0", help="host:port of /metrics; 0 disables it")
    add("--health-probe-bind-address", default=":8081", help="host:port of /healthz and /readyz; 0 disables them")
    add("--version", action="version", version=f"%(prog)s {version(DISTRIBUTION)}")
    add("--log-level", choices=("debug", "info", "warning", "error"), default="info", help="minimum level of log lines")
    return parser


def _add_places(parser: argparse.ArgumentParser) -> None:
    """The flags that say where the cluster and its parts are, and how it is called."""
    add = parser.add_argument
    add("--catalogs-url", help="URL of catalogd, which catalogs are read from; default: that of its Service")
    add("--catalogs-ca-file", type=Path, help="PEM file of the CAs to trust for it; without it those of the system")
    add("--kubeconfig", help="kubeconfig with the address of the API server, of which no credentials are used")
    add("--system-namespace", default=Settings.system_namespace, help="namespace of the suite")
    add(
        "--keys-namespace",
        default=Settings.keys_namespace,
        help="namespace of the suite's keys, which the console never reads",
    )
    add("--cluster-name", default="", help="name of the cluster, for the footer of the pages")
    add(
        "--more-operators-url",
        default=ConsoleOptions.more_operators_url,
        help="where people find operators beyond catalogs",
    )


@asynccontextmanager
async def serving(console: ConsoleServer, address: str, context: ssl.SSLContext | None) -> AsyncIterator[ConsoleServer]:
    """Serve the console while the context lasts. Raises OlmError if it cannot listen."""
    limits = ConnectionLimits(max_connections=default_max_connections(), max_body_bytes=MAX_BODY_BYTES)
    server = ApplicationServer(
        "console", console.application(), limits, shutdown_grace_seconds=SHUTDOWN_GRACE_SECONDS, ssl_context=context
    )
    try:
        console.port = await server.start(address)
        yield console
    finally:
        await server.close()
        await console.close()


async def serve_in_cluster(flags: argparse.Namespace) -> None:
    """Serve until SIGTERM or SIGINT. Raises OlmError if the process cannot start."""
    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    namespace = flags.system_namespace
    hosts = (*map(str.lower, flags.host), f"{NAME}.{namespace}.svc", "localhost", LOOPBACK_ADDRESS)
    options = ConsoleOptions("", flags.cluster_name, version(DISTRIBUTION), flags.more_operators_url)
    settings = ServerSettings(AuthMode(flags.auth), hosts, namespace, options)
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(UserClient(flags.kubeconfig, is_anonymous=True))
        await client.open()
        url = flags.catalogs_url or f"https://{CATALOG_SERVICE.host(namespace)}"
        service = CatalogService(url, ClientTls(flags.catalogs_ca_file))
        stack.push_async_callback(service.close)
        console = ConsoleServer(settings, Users(client, namespace, service), Sealer.read(flags.session_key_file))
        await stack.enter_async_context(serve_metrics(flags.metrics_bind_address))
        tls = ServerTls()
        watching = asyncio.ensure_future(_certificate(tls, flags.tls_cert_dir, hosts)())
        stack.callback(watching.cancel)
        await stack.enter_async_context(serving(console, flags.bind_address, tls.context))
        await stack.enter_async_context(serve_health(flags.health_probe_bind_address, lambda: {"console": True}))
        await stopping.wait()
        log.info("stopping")


def _certificate(tls: ServerTls, directory: Path | None, hosts: tuple[str, ...]) -> Callable[[], Awaitable[None]]:
    """Load the certificate; returns what keeps it current. Raises OlmError."""
    if directory is not None:
        watcher = CertificateWatcher(directory, tls)
        watcher.load()
        return watcher.run
    names = [host for host in hosts if "*" not in host]

    async def renew() -> None:
        while True:
            tls.use(create(names, datetime.now(UTC)).leaf)
            await asyncio.sleep(30 * 24 * 3600)

    return renew


@dataclass(frozen=True)
class LocalSettings:
    """The options of `olm console`. `port` is 0 for a free one."""

    kubeconfig: str | None = None
    context: str | None = None
    impersonate: str | None = None
    system_namespace: str = Settings.system_namespace
    port: int = 0


@asynccontextmanager
async def serve_locally(settings: LocalSettings) -> AsyncIterator[str]:
    """Serve on loopback while the context lasts; the value is the URL that opens a session once. Raises OlmError, ApiError."""
    async with UserClient(settings.kubeconfig, context=settings.context, impersonate=settings.impersonate) as client:
        await client.open()
        options = ConsoleOptions(settings.context or "", client.host, version(DISTRIBUTION))
        shown = ServerSettings(AuthMode.KUBECONFIG, None, settings.system_namespace, options)
        console = ConsoleServer(shown, Users(client, settings.system_namespace), Sealer.read(None))
        async with serving(console, f"{LOOPBACK_ADDRESS}:{settings.port}", None):
            yield f"http://{LOOPBACK_ADDRESS}:{console.port}/login/{console.logins.links.make()}"


async def check(settings: LocalSettings) -> SystemNamespace:
    """The namespace of the suite on the cluster of a kubeconfig. Raises OlmError or ApiError before a browser is opened if the
    cluster cannot be used, or not with its credentials."""
    async with UserClient(settings.kubeconfig, context=settings.context, impersonate=settings.impersonate) as client:
        try:
            if not await client.version():
                raise OlmError("NoCluster", "the API server does not say which version it is")
            await who_is(client)
            return await find_system_namespace(client)
        except Forbidden as error:
            text = "the API server does not accept the credentials of the kubeconfig"
            raise Forbidden(error.status, error.reason, f"{text}: {error.message}") from error
