"""A serving certificate that the suite issues itself, in a Secret that all replicas use, with its CA in a ConfigMap for clients.

The Secret is in the namespace of the suite's own keys, apart from the Secrets that Catalogs may name.

The first replica creates the Secret; the leader rotates it and maintains the ConfigMap. Both are polled every minute and not
watched, because a watch requires permission to list all Secrets of the namespace. While the API server is unavailable, the
current certificate is served; a copy in the cache folder is served after a restart. Constructed by setup.py.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from olmkit.api.meta import Kind, Object
from olmkit.errors import ApiError, Conflict, NotFound
from olmkit.runtime.client import Client
from olmkit.store.folders import write_atomically
from olmkit.tls.certificate_authority import CertificateSet, contains_ca, create, rotate
from olmkit.tls.key_pair import BadKeyPair, KeyPair, names_of
from olmkit.tls.server_tls import ServerTls
from olmkit.tls.service import CA_KEY, CONFIG_MAP, TlsService

SYNC_SECONDS = 60.0
RETRY_SECONDS = 5.0
"""The delay after a sync that failed, or that another replica has to complete."""
FIRST_SYNC_TIMEOUT_SECONDS = 10.0
"""The time that the start of the process waits for the API server."""

SECRET = Kind("", "v1", "Secret", "secrets", namespaced=True)

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class CertificateLocation:
    """The service of the certificate, and where it is stored: the Secret in `keys_namespace`, the ConfigMap with the CA in
    `namespace`. `names` are all host names and addresses that clients use; `copy` is the file in the cache folder."""

    service: TlsService
    namespace: str
    keys_namespace: str
    names: Sequence[str]
    copy: Path | None = None


class ManagedCertificate:
    """Makes `tls` serve the certificate of the Secret. Only a replica for which `is_leading` is true changes the Secret."""

    def __init__(
        self,
        client: Client,
        place: CertificateLocation,
        tls: ServerTls,
        is_leading: Callable[[], bool],
        seconds: float = SYNC_SECONDS,
    ) -> None:
        self._client = client
        self._place = place
        self._tls = tls
        self._is_leading = is_leading
        self._seconds = seconds
        self._last_error = ""
        self.ca_bundle = b""
        """PEM of the trusted CAs, as of the last sync."""

    async def load(self) -> None:
        """Serve the copy of the last run; without one, sync once, for 10 s at most."""
        if self._place.copy is not None:
            self._load_copy(self._place.copy)
        if self._tls.pair is not None:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(FIRST_SYNC_TIMEOUT_SECONDS):
                await self._try_sync()

    async def run(self) -> None:
        """Sync periodically until cancelled."""
        while True:
            seconds = self._seconds if await self._try_sync() else RETRY_SECONDS
            await asyncio.sleep(min(seconds, self._seconds))

    async def sync(self, now: datetime) -> bool:
        """Create, rotate, publish and serve the certificate as needed. False if another sync is needed. Raises ApiError."""
        self._tls.warn_of_expiry(now)
        published = await self._published()
        material, is_mine = await self._certificates(now, published)
        if material is None:
            return False
        if (is_mine or self._is_leading()) and published != material.ca_bundle():
            published = await self._publish(material)
        self.ca_bundle = material.ca_bundle()
        is_known = contains_ca(published, material.ca)
        if self._tls.pair != material.leaf and (is_known or self._tls.pair is None):
            self._tls.use(material.leaf)
            if self._place.copy is not None:
                await asyncio.to_thread(_save, self._place.copy, material.leaf)
        return is_known

    async def _try_sync(self) -> bool:
        try:
            is_done = await self.sync(datetime.now(UTC))
        except Conflict:
            return False  # another replica wrote first
        except (ApiError, BadKeyPair) as error:
            self._log_error(str(error))
            return False
        if not is_done:
            return False  # an error has been logged; it is cleared by a sync that completes
        if self._last_error:
            log.info("serving certificate is synced again", extra={"secret": self._place.service.secret})
        self._last_error = ""
        return True

    def _log_error(self, error: str) -> None:
        """Log an error once, and again when it changes."""
        if error != self._last_error:
            facts = {"secret": self._place.service.secret, "namespace": self._place.keys_namespace, "error": error}
            log.error("serving certificate cannot be synced, the current one stays in use", extra=facts)
        self._last_error = error

    async def _certificates(self, now: datetime, published: bytes) -> tuple[CertificateSet | None, bool]:
        """The content of the Secret, and whether this call wrote it; None if it is invalid and only the leader may replace it."""
        place = self._place
        try:
            secret = await self._client.get(SECRET, place.service.secret, place.keys_namespace)
        except NotFound:
            made = create(place.names, now, published)
            await self._client.create(SECRET, {**self._new_secret(), "data": _encoded(made)})
            log.info(
                "serving certificate made", extra={"secret": place.service.secret, "namespace": place.keys_namespace}
            )
            return made, True
        try:
            found = CertificateSet.read(_decoded(secret))
        except BadKeyPair as error:
            self._log_error(f"its content cannot be used: {error}")
            if not self._is_leading():
                return None, False
            made = create(place.names, now, published)
            await self._replace(secret, made)
            return made, True
        wanted = rotate(found, place.names, now, published) if self._is_leading() else found
        if wanted is not found:
            await self._replace(secret, wanted)
        return wanted, wanted is not found

    def _new_secret(self) -> Object:
        metadata = {
            "labels": dict(self._place.service.labels),
            **_identity(self._place.service.secret, self._place.keys_namespace),
        }
        return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "kubernetes.io/tls"}

    async def _replace(self, secret: Object, material: CertificateSet) -> None:
        """Replace the Secret at the resourceVersion that was read. Raises Conflict."""
        path = SECRET.path(self._place.keys_namespace, self._place.service.secret)
        await self._client.request("PUT", path, body={**secret, "data": _encoded(material)})
        log.info("serving certificate renewed", extra={"secret": self._place.service.secret})

    async def _published(self) -> bytes:
        place = self._place
        try:
            found = await self._client.get(CONFIG_MAP, place.service.config_map, place.namespace)
        except NotFound:
            return b""
        return str((found.get("data") or {}).get(CA_KEY, "")).encode()

    async def _publish(self, material: CertificateSet) -> bytes:
        place = self._place
        body = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"labels": dict(place.service.labels), **_identity(place.service.config_map, place.namespace)},
            "data": {CA_KEY: material.ca_bundle().decode()},
        }
        await self._client.apply(CONFIG_MAP, body, place.service.manager)
        return material.ca_bundle()

    def _load_copy(self, path: Path) -> None:
        """Serve the copy, unless its names differ or it has expired."""
        try:
            text = path.read_bytes()
            pair = KeyPair.read(text, text)
            if pair.is_valid(datetime.now(UTC)) and set(names_of(pair.certificate)) == set(self._place.names):
                self._tls.use(KeyPair(*_parted(text), pair.certificate))
        except FileNotFoundError:
            return
        except (OSError, BadKeyPair) as error:
            log.warning("the cached serving certificate is not used", extra={"error": str(error)})


def _identity(name: str, namespace: str) -> Object:
    return {"name": name, "namespace": namespace}


def _encoded(material: CertificateSet) -> dict[str, str]:
    return {key: base64.b64encode(value).decode() for key, value in material.dump().items()}


def _decoded(secret: Object) -> dict[str, bytes]:
    try:
        return {key: base64.b64decode(value, validate=True) for key, value in (secret.get("data") or {}).items()}
    except (binascii.Error, ValueError) as error:
        raise BadKeyPair("its data is not base64") from error


def _parted(text: bytes) -> tuple[bytes, bytes]:
    """The certificates and the key of a file of _save()."""
    chain, mark, key = text.partition(b"-----BEGIN PRIVATE KEY-----")
    return chain, mark + key


def _save(path: Path, pair: KeyPair) -> None:
    """Write the copy, readable for this user only. Errors are logged."""
    try:
        write_atomically(path, pair.chain + pair.key)
    except OSError as error:
        log.warning("the serving certificate cannot be cached on disk", extra={"error": str(error)})
