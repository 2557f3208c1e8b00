"""The door for a component that serves: what its flags (olmkit.serving.flags) come to. Called by catalogd.wiring with two lines.

serving = await prepare(manager, CATALOGS, flags.external_address or "")
await server.start(address, ssl_context=serving.context, authorize=serving.authorize)
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass

from aiohttp.typedefs import Middleware

from olmkit.manager import Manager
from olmkit.serving.certificates import OwnCertificates, Place
from olmkit.serving.files import CertificateFolder
from olmkit.serving.names import Service
from olmkit.serving.peers import Peers
from olmkit.serving.tls import ServerTls
from olmkit.serving.tokens import TokenCheck


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
