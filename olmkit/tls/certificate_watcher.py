"""Watches a serving certificate in a directory: tls.crt and tls.key of a mounted Secret, such as one of cert-manager.

The content is compared every few seconds, because the files of a Secret are replaced through a symbolic link and their timestamps
are not reliable.
"""

from __future__ import annotations

import asyncio
import logging
from datetime import UTC, datetime
from pathlib import Path

from olmkit.errors import OlmError
from olmkit.tls.key_pair import BadKeyPair, KeyPair
from olmkit.tls.server_tls import ServerTls

POLL_SECONDS = 3.0
CERTIFICATE, KEY = "tls.crt", "tls.key"

log = logging.getLogger(__name__)


class CertificateWatcher:
    """Makes `tls` serve the certificate of the directory. An invalid one is logged once, and the current one stays in use."""

    def __init__(self, directory: Path, tls: ServerTls, poll_seconds: float = POLL_SECONDS) -> None:
        self._directory = directory
        self._tls = tls
        self._poll_seconds = poll_seconds
        self._served: tuple[bytes, bytes] | None = None
        self._rejected: tuple[bytes, bytes] | str | None = None
        """The files that the last sync could not use, or the error of reading them."""
        self._last_logged: tuple[bytes, bytes] | str | None = None

    def load(self) -> None:
        """Read the certificate for the first time. Raises OlmError when it cannot be used."""
        try:
            found = self._read()
            self._tls.use(KeyPair.read(*found))
        except (OSError, BadKeyPair) as error:
            problem = error.strerror if isinstance(error, OSError) else str(error)
            raise OlmError(
                "BadCertificate",
                f"no certificate to serve with: {self._directory} must hold {CERTIFICATE} and {KEY}, PEM: {problem}",
            ) from error
        self._served = found

    async def run(self) -> None:
        """Sync periodically until cancelled."""
        while True:
            await asyncio.sleep(self._poll_seconds)
            self.sync(datetime.now(UTC))

    def sync(self, now: datetime) -> None:
        """Serve the certificate if it has changed and can be used. Reads two small files."""
        self._tls.warn_of_expiry(now)
        try:
            found = self._read()
        except OSError as error:
            self._reject(f"{self._directory} cannot be read: {error.strerror}", str(error.strerror))
            return
        if found == self._served:
            self._rejected = self._last_logged = None
            return
        try:
            self._load(found, now)
        except BadKeyPair as error:
            self._reject(found, str(error))

    def _load(self, found: tuple[bytes, bytes], now: datetime) -> None:
        """Raises BadKeyPair when it cannot be used, or when it is not valid now and the current one is."""
        pair = KeyPair.read(*found)
        if error := pair.validity_error(now):
            served = self._tls.pair
            if served is not None and served.is_valid(now):
                raise BadKeyPair(error)
        self._tls.use(pair)
        self._served, self._rejected, self._last_logged = found, None, None

    def _reject(self, found: tuple[bytes, bytes] | str, problem: str) -> None:
        """Log an error that two consecutive syncs find: between writes of the two files it is expected."""
        if found == self._rejected and found != self._last_logged:
            facts = {"directory": str(self._directory), "error": problem}
            log.error("new serving certificate cannot be used, the current one stays in use", extra=facts)
            self._last_logged = found
        self._rejected = found

    def _read(self) -> tuple[bytes, bytes]:
        """Both files, from the same version of the Secret: its symbolic link is resolved once. Raises OSError."""
        certificate = (self._directory / CERTIFICATE).resolve()
        key = certificate.with_name(KEY)
        return certificate.read_bytes(), (key if key.exists() else self._directory / KEY).read_bytes()
