"""The door for a component that serves: its flags, and what they come to. Called by catalogd.__main__ with two lines.

serving = await prepare(manager, CATALOGS, flags.external_address or "")
await server.start(address, ssl_context=serving.context, authorize=serving.authorize)
"""

from __future__ import annotations

import ssl
from argparse import ArgumentParser
from dataclasses import dataclass
from pathlib import Path

from aiohttp.typedefs import Middleware

from olmkit.manager import Manager
from olmkit.serving.certificates import OwnCertificates, Place
from olmkit.serving.files import CertificateFolder
from olmkit.serving.names import Service
from olmkit.serving.peers import Peers
from olmkit.serving.tls import ServerTls
from olmkit.serving.tokens import TokenCheck


def add_flags(parser: ArgumentParser) -> None:
    """How it is served, and to whom."""
    how = parser.add_mutually_exclusive_group()
    how.add_argument(
        "--tls-cert-dir",
        type=Path,
        help="folder with tls.crt and tls.key to serve with, followed when they change; a certificate of its own without it",
    )
    how.add_argument("--insecure-http", action="store_true", help="serve plain HTTP, which anybody between can read")
    parser.add_argument(
        "--authenticate-requests",
        action="store_true",
        help="serve only whom the API server lets get the path (a ClusterRole's nonResourceURLs), by Bearer token",
    )


@dataclass(frozen=True)
class Serving:
    """`context` is for the server's socket, None for plain HTTP; `authorize` is a middleware or None; `peers` is for asking
    another replica of this component."""

    context: ssl.SSLContext | None
    authorize: Middleware | None
    peers: Peers

    @property
    def scheme(self) -> str:
        """ "https" or "http"."""
        return "http" if self.context is None else "https"


async def prepare(manager: Manager, service: Service, *addresses: str) -> Serving:
    """As the flags say; `addresses` (host[:port]) are others that it is reached at. Raises OlmError when that cannot be.

    Returns within about ten seconds also when the API server is away: then nothing is served until it is back, unless a
    certificate was kept from before.
    """
    flags = manager.settings.extra
    check = TokenCheck(manager.client).middleware if flags.authenticate_requests else None
    client = manager.client if flags.authenticate_requests else None
    if flags.insecure_http:
        return Serving(None, check, Peers(client=client))
    tls = ServerTls()
    if flags.tls_cert_dir is not None:
        folder = CertificateFolder(flags.tls_cert_dir, tls)
        folder.load()
        manager.serve(folder.follow)
        return Serving(tls.context, check, Peers(tls, client=client))
    namespace = manager.settings.system_namespace
    copy = manager.settings.cache_dir / "serving" / "certificate.pem"
    place = Place(service, namespace, service.names(namespace, *addresses), copy)
    own = OwnCertificates(manager.client, place, tls, lambda: manager.is_leading)
    await own.load()
    manager.serve(own.follow)
    manager.add_ready_check("serving certificate", lambda: tls.pair is not None)
    return Serving(tls.context, check, Peers(tls, own, service.host(namespace), client=client))
