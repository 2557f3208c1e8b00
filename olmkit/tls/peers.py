"""How one replica asks another over HTTP: the scheme, whom to trust, which name to expect, which token to send.

Made by olmkit.tls.setup; used by whoever copies from the leader:

    address = f"{peers.scheme}://{leader}/replication/v1/records"
    session.get(address, **await peers.request_options())
"""

from __future__ import annotations

import ssl
from typing import Any

from cryptography.hazmat.primitives.serialization import Encoding

from olmkit.runtime.client import Client
from olmkit.tls.client_tls import client_context
from olmkit.tls.key_pair import KeyPair
from olmkit.tls.managed_certificate import ManagedCertificate
from olmkit.tls.server_tls import ServerTls


class Peers:
    """Replicas are asked by address, so a certificate's names say little. With a CA of our own it must be that CA's, for the
    Service's name; with a folder, which all replicas have the same, it must be the very certificate, this or the last one.

    With `client` its token is sent: replicas give one another nothing without.
    """

    scheme = "https"

    def __init__(
        self,
        tls: ServerTls,
        own: ManagedCertificate | None = None,
        host: str = "",
        client: Client | None = None,
    ) -> None:
        self._tls = tls
        self._own = own
        self._host = host
        self._client = client
        self._served: list[KeyPair] = []
        self._made_for = b""
        self._context: ssl.SSLContext | None = None

    async def request_options(self) -> dict[str, Any]:
        """Arguments for a request of an aiohttp session: ssl, server_hostname, headers."""
        options: dict[str, Any] = {"ssl": self._trusted(), "headers": {}}
        if self._own is not None:
            options["server_hostname"] = self._host
        if self._client is not None and (token := await self._client.bearer_token()):
            options["headers"] = {"Authorization": f"Bearer {token}"}
        return options

    def _trusted(self) -> ssl.SSLContext:
        """The same object until other certificates are to be trusted, so that connections are used again."""
        tls = self._tls
        if tls.pair is not None and tls.pair not in self._served:
            self._served = [*self._served, tls.pair][-2:]
        if self._own is not None:
            bundle = self._own.ca_bundle
        else:
            bundle = b"".join(pair.certificate.public_bytes(Encoding.PEM) for pair in self._served)
        if self._context is None or bundle != self._made_for:
            self._context = _context(bundle, is_pinned=self._own is None)
            self._made_for = bundle
        return self._context


def _context(bundle: bytes, *, is_pinned: bool) -> ssl.SSLContext:
    if not bundle:
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # trusts nobody: there is nothing yet to tell replicas by
    context = client_context(bundle.decode(), with_system=False)
    if is_pinned:
        context.check_hostname = False
        context.verify_flags |= ssl.VerifyFlags.VERIFY_X509_PARTIAL_CHAIN
    return context
