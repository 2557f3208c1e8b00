"""The TLS side of a server: one ssl.SSLContext for the life of the process, whose certificate is replaced while it serves.

Given certificates by olmkit.tls.certificate_watcher or .certificates; its `context` goes to the server (aiohttp's TCPSite).
Connections that are open keep what they were opened with. Use it on the event loop's thread only.
"""

from __future__ import annotations

import logging
import secrets
import ssl
import tempfile
from datetime import UTC, datetime, timedelta

from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, PrivateFormat
from prometheus_client import Gauge

from olmkit.tls.key_pair import BadKeyPair, KeyPair

CIPHERS = "ECDHE+AESGCM:ECDHE+CHACHA20"
"""For TLS 1.2: forward secrecy and authenticated encryption only. Those of TLS 1.3 are all good."""
EXPIRY_WARNING = timedelta(days=7)
"""A certificate that ends within this is warned of."""

EXPIRATION_GAUGE = Gauge(
    "olmkit_serving_certificate_expiration_timestamp_seconds",
    "When the certificate expires that is served, in seconds since 1970.",
)

log = logging.getLogger(__name__)


class ServerTls:
    """`context` fails every handshake until the first offer()."""

    def __init__(self) -> None:
        self.pair: KeyPair | None = None
        self.context = server_context()
        # A context of its own for each certificate: a context that is loaded again keeps its old one beside a new one of another
        # kind of key, and is neither old nor new while it is loaded.
        self._inner: ssl.SSLContext | None = None
        self.context.sni_callback = self._choose
        self._told = ""

    def use(self, pair: KeyPair) -> None:
        """Serve new connections with it from now on. Raises BadKeyPair, and then nothing has changed."""
        self._inner = server_context_with(pair)
        self.pair = pair
        self._told = ""
        EXPIRATION_GAUGE.set(pair.not_after.timestamp())
        log.info("serving certificate loaded", extra=pair.log_fields())
        self.warn_of_expiry(datetime.now(UTC))

    def warn_of_expiry(self, now: datetime) -> None:
        """Log once when what is served has expired or will soon; to be called now and then."""
        if self.pair is None:
            return
        said = self.pair.validity_error(now)
        level = logging.ERROR if said else logging.WARNING
        if not said and self.pair.not_after - now < EXPIRY_WARNING:
            said = "the certificate ends soon and has not been renewed"
        if said and said != self._told:
            log.log(level, "serving certificate needs a look: %s", said, extra=self.pair.log_fields())
        self._told = said

    def _choose(self, connection: ssl.SSLObject, name: str | None, context: ssl.SSLContext) -> int | None:
        """Called for each handshake, with or without a server name."""
        if self._inner is None:
            return ssl.ALERT_DESCRIPTION_INTERNAL_ERROR
        connection.context = self._inner
        return None


def server_context() -> ssl.SSLContext:
    """A server's context without a certificate: TLS 1.2 at least, good ciphers, HTTP/1.1."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers(CIPHERS)
    context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_COMPRESSION
    context.set_alpn_protocols(["http/1.1"])
    return context


def server_context_with(pair: KeyPair) -> ssl.SSLContext:
    """A server's context with that certificate. Raises BadKeyPair when OpenSSL will not have it, or cannot be given it.

    OpenSSL reads files only: what is written for it is encrypted under a password that nobody else ever has.
    """
    password = secrets.token_bytes(32).hex().encode()
    key = pair.private_key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(password))
    context = server_context()
    try:
        with tempfile.NamedTemporaryFile(prefix="certificate-") as file:
            file.write(pair.chain.rstrip() + b"\n" + key)
            file.flush()
            context.load_cert_chain(file.name, password=password)
    except (ssl.SSLError, ValueError) as error:
        said = getattr(error, "reason", None) or "it is not accepted"
        raise BadKeyPair(f"the certificate cannot be served: {str(said).replace('_', ' ').lower()}") from error
    except OSError as error:
        said = f"no temporary file can be written ({error.strerror})"
        raise BadKeyPair(f"the certificate cannot be served: {said}") from error
    return context
