"""The settings of requests between replicas of a component: trusted certificates, expected host name, and token.

A request to another replica:

    address = f"{peers.scheme}://{leader}/replication/v1/records"
    session.get(address, **await peers.request_options())
"""

from __future__ import annotations

import ssl
from typing import Any

from cryptography.hazmat.primitives.serialization import Encoding

from olmkit.runtime.client import Client
from olmkit.tls.certificate_rotator import CertificateRotator
from olmkit.tls.client_tls import client_context
from olmkit.tls.key_pair import KeyPair
from olmkit.tls.server_tls import ServerTls


class Peers:
    """TLS and authentication between replicas, which connect by address, not by name.

    With a managed certificate, the peer's must be issued by its CA for the name of the Service. With a certificate directory,
    which is the same for all replicas, the peer must have that certificate, the current or the previous one. The token of
    `client` is sent, because replicas require one.
    """

    scheme = "https"

    def __init__(
        self,
        tls: ServerTls,
        rotator: CertificateRotator | None = None,
        host: str = "",
        client: Client | None = None,
    ) -> None:
        self._tls = tls
        self._rotator = rotator
        self._host = host
        self._client = client
        self._served: list[KeyPair] = []
        self._context_bundle = b""
        self._context: ssl.SSLContext | None = None

    async def request_options(self) -> dict[str, Any]:
        """Arguments for a request of an aiohttp session: ssl, server_hostname, headers."""
        options: dict[str, Any] = {"ssl": self._ssl_context(), "headers": {}}
        if self._rotator is not None:
            options["server_hostname"] = self._host
        if self._client is not None and (token := await self._client.bearer_token()):
            options["headers"] = {"Authorization": f"Bearer {token}"}
        return options

    def _ssl_context(self) -> ssl.SSLContext:
        """The same object until the trusted certificates change, so that connections are reused."""
        tls = self._tls
        if tls.pair is not None and tls.pair not in self._served:
            self._served = [*self._served, tls.pair][-2:]
        if self._rotator is not None:
            bundle = self._rotator.ca_bundle
        else:
            bundle = b"".join(pair.certificate.public_bytes(Encoding.PEM) for pair in self._served)
        if self._context is None or bundle != self._context_bundle:
            self._context = _context(bundle, is_pinned=self._rotator is None)
            self._context_bundle = bundle
        return self._context


def _context(bundle: bytes, *, is_pinned: bool) -> ssl.SSLContext:
    if not bundle:
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # trusts no certificate: there is none to compare with yet
    context = client_context(bundle.decode(), with_system=False)
    if is_pinned:
        context.check_hostname = False
        context.verify_flags |= ssl.VerifyFlags.VERIFY_X509_PARTIAL_CHAIN
    return context
