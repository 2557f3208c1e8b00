"""A serving certificate in a folder that somebody else renews: tls.crt and tls.key of a mounted Secret, cert-manager's for one.

Looked at by content, every few seconds: a Secret's files are replaced through a symbolic link, and their time stamps say little.
Made by olmkit.tls.setup.
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
    """Keeps `tls` on what the folder holds. What cannot be used is logged, once per content, and what was served stays."""

    def __init__(self, folder: Path, tls: ServerTls, look_seconds: float = POLL_SECONDS) -> None:
        self._folder = folder
        self._tls = tls
        self._look_seconds = look_seconds
        self._used: tuple[bytes, bytes] | None = None
        self._doubted: tuple[bytes, bytes] | str | None = None
        """What could not be used at the last look: files, or why they cannot be read."""
        self._told: tuple[bytes, bytes] | str | None = None

    def load(self) -> None:
        """The first look. Raises OlmError when there is nothing to serve with."""
        try:
            found = self._read()
            self._tls.use(KeyPair.read(*found))
        except (OSError, BadKeyPair) as error:
            said = error.strerror if isinstance(error, OSError) else str(error)
            raise OlmError(
                "BadCertificate",
                f"no certificate to serve with: {self._folder} must hold {CERTIFICATE} and {KEY}, PEM: {said}",
            ) from error
        self._used = found

    async def run(self) -> None:
        """Look again and again until cancelled."""
        while True:
            await asyncio.sleep(self._look_seconds)
            self.sync(datetime.now(UTC))

    def sync(self, now: datetime) -> None:
        """Take what has changed, if it can be used. Two small reads."""
        self._tls.warn_of_expiry(now)
        try:
            found = self._read()
        except OSError as error:
            self._doubt(f"{self._folder} cannot be read: {error.strerror}", str(error.strerror))
            return
        if found == self._used:
            self._doubted = self._told = None
            return
        try:
            self._take(found, now)
        except BadKeyPair as error:
            self._doubt(found, str(error))

    def _take(self, found: tuple[bytes, bytes], now: datetime) -> None:
        """Raises BadKeyPair when they cannot be used, or what is served is better."""
        pair = KeyPair.read(*found)
        if complaint := pair.validity_error(now):
            served = self._tls.pair
            if served is not None and served.is_valid(now):
                raise BadKeyPair(complaint)
        self._tls.use(pair)
        self._used, self._doubted, self._told = found, None, None

    def _doubt(self, found: tuple[bytes, bytes] | str, said: str) -> None:
        """Log at the second look that finds it so: between two files that are written one after the other all is well."""
        if found == self._doubted and found != self._told:
            facts = {"folder": str(self._folder), "error": said}
            log.error("new serving certificate cannot be used, the old one stays", extra=facts)
            self._told = found
        self._doubted = found

    def _read(self) -> tuple[bytes, bytes]:
        """Both files, of one version where a link makes them one: it is followed once. Raises OSError."""
        certificate = (self._folder / CERTIFICATE).resolve()
        beside = certificate.with_name(KEY)
        return certificate.read_bytes(), (beside if beside.exists() else self._folder / KEY).read_bytes()
