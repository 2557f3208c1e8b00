"""Sets up TLS, authentication and authorization of a server.

The flags of olmkit.tls.flags say what catalogd requires; a debug server and webhooks always require all of it.

    serving = await secure_serving(manager, CATALOG_SERVICE, flags.external_address or "")
    await server.start(address, ssl_context=serving.context, authorize=serving.authorize)
"""

from __future__ import annotations

import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from aiohttp.typedefs import Middleware

from olmkit.errors import OlmError
from olmkit.runtime.manager import Manager, Settings
from olmkit.tls.certificate_rotator import CertificateLocation, CertificateRotator
from olmkit.tls.certificate_watcher import CertificateWatcher
from olmkit.tls.delegated_auth import DelegatedAuth
from olmkit.tls.peers import Peers
from olmkit.tls.server_tls import ServerTls
from olmkit.tls.service import TlsService

AuthorizationCheck = Callable[[str, str, str], Awaitable[None]]


@dataclass(frozen=True)
class SecureServing:
    """`context` is for the server's socket, None for plain HTTP; `authorize` is a middleware or None; `check` is
    DelegatedAuth.check, for what is never given without a token; `peers` is for asking another replica of this component, None
    when there is none; `ca_bundle` returns PEM of the CAs of a managed certificate, empty while they are not known."""

    context: ssl.SSLContext | None
    authorize: Middleware | None
    check: AuthorizationCheck
    peers: Peers | None
    ca_bundle: Callable[[], bytes] = bytes

    @property
    def scheme(self) -> str:
        """ "https" or "http"."""
        return "http" if self.context is None else "https"


async def secure_serving(manager: Manager, service: TlsService, *addresses: str) -> SecureServing:
    """Set up serving by the flags; `addresses` (host[:port]) are further names of the server. Raises OlmError.

    Returns within about ten seconds, even when the API server is unavailable. Handshakes then fail until it is available, unless
    a certificate is cached on disk.
    """
    flags = manager.settings.extra
    _check_flags(manager.settings)
    auth = DelegatedAuth(manager.client)
    authorize = auth.middleware if flags.authenticate_requests else None
    if flags.insecure_http:
        return SecureServing(None, authorize, auth.check, None)
    tls = ServerTls()
    if flags.tls_cert_dir is not None:
        watcher = CertificateWatcher(flags.tls_cert_dir, tls)
        watcher.load()
        manager.add_runnable(watcher.run)
        return SecureServing(tls.context, authorize, auth.check, Peers(tls, client=manager.client))
    cached_copy = manager.settings.cache_dir / "serving" / "certificate.pem"
    rotator = _certificate_rotator(manager, service, tls, cached_copy, *addresses)
    await rotator.load()
    manager.add_runnable(rotator.run)
    manager.add_ready_check("serving certificate", lambda: tls.pair is not None)
    peers = Peers(tls, rotator, service.host(manager.settings.system_namespace), client=manager.client)
    return SecureServing(tls.context, authorize, auth.check, peers, lambda: rotator.ca_bundle)


def authenticated_serving(manager: Manager, service: TlsService) -> tuple[ssl.SSLContext, Middleware]:
    """A context with a managed certificate, and a middleware that requires a token for each request.

    Returns at once; handshakes fail until the certificate is read from the API server. The process is ready without it.
    """
    tls = ServerTls()
    manager.add_runnable(_certificate_rotator(manager, service, tls, None).run)
    return tls.context, DelegatedAuth(manager.client).middleware


def webhook_serving(
    manager: Manager, service: TlsService, *addresses: str
) -> tuple[ssl.SSLContext, CertificateRotator, Peers]:
    """A context for the API server's requests, which bring no token, its certificate, and the settings for requests to other
    replicas, without a token. The process is not ready without the certificate."""
    tls = ServerTls()
    rotator = _certificate_rotator(manager, service, tls, None, *addresses)
    manager.add_runnable(rotator.run)
    manager.add_ready_check("serving certificate", lambda: tls.pair is not None)
    return tls.context, rotator, Peers(tls, rotator, service.host(manager.settings.system_namespace))


def _certificate_rotator(
    manager: Manager, service: TlsService, tls: ServerTls, cached_copy: Path | None, *addresses: str
) -> CertificateRotator:
    namespace, keys_namespace = manager.settings.system_namespace, manager.settings.keys_namespace
    location = CertificateLocation(
        service, namespace, keys_namespace, service.names(namespace, *addresses), cached_copy
    )
    return CertificateRotator(manager.client, location, tls, lambda: manager.is_leading)


def _check_flags(settings: Settings) -> None:
    """Raises OlmError: tokens are never sent over plain HTTP, and replicas authenticate by tokens."""
    flags = settings.extra
    if not flags.insecure_http:
        return
    if flags.authenticate_requests:
        text = (
            "--insecure-http and --authenticate-requests exclude each other: tokens must not be sent over plain HTTP. "
            "Remove one"
        )
        raise OlmError("InvalidConfiguration", text)
    if settings.leader_elect:
        text = (
            "--insecure-http is for a single replica: replication requires HTTPS. "
            "Remove it, or run one replica with --no-leader-elect"
        )
        raise OlmError("InvalidConfiguration", text)
