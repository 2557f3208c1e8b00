"""The TLS context of a server: one ssl.SSLContext for the life of the process, whose certificate can be replaced.

certificate_watcher.py or certificate_rotator.py set the certificate; `context` is for aiohttp's TCPSite. Open connections keep
the certificate of their handshake. Use it on the event loop's thread only.
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
"""The ciphers of TLS 1.2: forward secrecy and authenticated encryption only. TLS 1.3 has no others."""
EXPIRY_WARNING = timedelta(days=7)
"""A certificate that expires within this time is logged as a warning."""

EXPIRATION_GAUGE = Gauge(
    "olmkit_serving_certificate_expiration_timestamp_seconds",
    "When the served certificate expires, in seconds since 1970.",
)

log = logging.getLogger(__name__)


class ServerTls:
    """`context` fails every handshake until the first use()."""

    def __init__(self) -> None:
        self.pair: KeyPair | None = None
        self.context = server_context()
        # One context per certificate: loading another one into a context keeps the old certificate if its key has another type,
        # and is not atomic.
        self._current: ssl.SSLContext | None = None
        self.context.sni_callback = self._choose
        self._last_logged = ""

    def use(self, pair: KeyPair) -> None:
        """Serve this certificate to new connections. Raises BadKeyPair, and then nothing changes."""
        self._current = server_context_with(pair)
        self.pair = pair
        self._last_logged = ""
        EXPIRATION_GAUGE.set(pair.not_after.timestamp())
        log.info("serving certificate loaded", extra=pair.log_fields())
        self.warn_of_expiry(datetime.now(UTC))

    def warn_of_expiry(self, now: datetime) -> None:
        """Log once when the certificate has expired or will soon. Called periodically."""
        if self.pair is None:
            return
        problem = self.pair.validity_error(now)
        level = logging.ERROR if problem else logging.WARNING
        if not problem and self.pair.not_after - now < EXPIRY_WARNING:
            problem = "the certificate expires soon and has not been renewed"
        if problem and problem != self._last_logged:
            log.log(level, "serving certificate needs attention: %s", problem, extra=self.pair.log_fields())
        self._last_logged = problem

    def _choose(self, connection: ssl.SSLObject, name: str | None, context: ssl.SSLContext) -> int | None:
        """The SNI callback: OpenSSL calls it for each handshake, with or without a server name."""
        if self._current is None:
            return ssl.ALERT_DESCRIPTION_INTERNAL_ERROR
        connection.context = self._current
        return None


def server_context() -> ssl.SSLContext:
    """A server's context without a certificate: TLS 1.2 or later, CIPHERS, HTTP/1.1."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers(CIPHERS)
    context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_COMPRESSION
    context.set_alpn_protocols(["http/1.1"])
    return context


def server_context_with(pair: KeyPair) -> ssl.SSLContext:
    """A server's context with a certificate. Raises BadKeyPair when OpenSSL does not accept it.

    OpenSSL loads certificates from files only, so the key is written to a temporary file, encrypted with a random password.
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
        problem = getattr(error, "reason", None) or "it is not accepted"
        raise BadKeyPair(f"the certificate cannot be served: {str(problem).replace('_', ' ').lower()}") from error
    except OSError as error:
        problem = f"no temporary file can be written ({error.strerror})"
        raise BadKeyPair(f"the certificate cannot be served: {problem}") from error
    return context
