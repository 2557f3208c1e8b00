"""Issues and rotates a serving certificate and its CA: in a Secret that all replicas use, with the CA in a ConfigMap for clients.

The Secret is in the namespace of the suite's own keys, apart from the Secrets that Catalogs may name.

The first replica creates the Secret; the leader rotates the certificate and the CA, each step decided by
olmkit.tls.certificate_authority.rotate, and maintains the ConfigMap. Both are polled every ten seconds and not watched, because a
watch requires permission to list all Secrets of the namespace. While the API server is unavailable, the current certificate is
served; a copy in the cache directory is served after a restart. What is immutable and has to change is deleted and created again;
what is right is not written.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from olmkit.api.meta import Kind, Object
from olmkit.errors import ApiError, Conflict, Invalid, NotFound
from olmkit.runtime.client import Client
from olmkit.store.directories import write_atomically
from olmkit.tls.certificate_authority import CertificateSet, contains_ca, create, rotate
from olmkit.tls.key_pair import BadKeyPair, KeyPair, names_of
from olmkit.tls.server_tls import ServerTls
from olmkit.tls.service import CA_KEY, CONFIG_MAP, TlsService

SYNC_SECONDS = 10.0
RETRY_SECONDS = 5.0
"""The delay after a sync that failed, or that another replica has to complete."""
FIRST_SYNC_TIMEOUT_SECONDS = 10.0
"""The time that the start of the process waits for the API server."""

SECRET = Kind("", "v1", "Secret", "secrets", namespaced=True)

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class CertificateLocation:
    """The service of the certificate, and where it is stored: the Secret in `keys_namespace`, the ConfigMap with the CA in
    `namespace`. `names` are all host names and addresses that clients use; `copy` is the file in the cache directory."""

    service: TlsService
    namespace: str
    keys_namespace: str
    names: Sequence[str]
    copy: Path | None = None


class CertificateRotator:
    """Makes `tls` serve the certificate of the Secret. Only a replica for which `is_leading` is true changes the Secret."""

    def __init__(
        self,
        client: Client,
        location: CertificateLocation,
        tls: ServerTls,
        is_leading: Callable[[], bool],
        sync_seconds: float = SYNC_SECONDS,
    ) -> None:
        self._client = client
        self._location = location
        self._tls = tls
        self._is_leading = is_leading
        self._sync_seconds = sync_seconds
        self._last_error = ""
        self._publish_further: Callable[[bytes], Awaitable[None]] = _nothing_further
        self._is_published_further = True
        self.ca_bundle = b""
        """The PEM of the trusted CAs, as of the last sync."""

    def publish_to(self, publish: Callable[[bytes], Awaitable[None]]) -> None:
        """Await it with the CAs whenever the leader has published them, before it serves a certificate of one of them.

        It writes where clients read them that do not read the ConfigMap. While it raises ApiError no sync completes: the current
        certificate stays in use, and a new CA issues none.
        """
        self._publish_further = publish
        self._is_published_further = False

    async def load(self) -> None:
        """Serve the copy of the last run; without one, sync once, for 10 s at most."""
        if self._location.copy is not None:
            self._load_copy(self._location.copy)
        if self._tls.pair is not None:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(FIRST_SYNC_TIMEOUT_SECONDS):
                await self._try_sync()

    async def run(self) -> None:
        """Sync periodically until cancelled."""
        while True:
            sync_seconds = self._sync_seconds if await self._try_sync() else RETRY_SECONDS
            await asyncio.sleep(min(sync_seconds, self._sync_seconds))

    async def sync(self, now: datetime) -> bool:
        """Create, rotate, publish and serve the certificate as needed. False if another sync is needed. Raises ApiError."""
        self._tls.warn_of_expiry(now)
        published = await self._published()
        certificates, is_own = await self._read_or_create(now, published)
        if certificates is None:
            return False
        if (is_own or self._is_leading()) and published != certificates.ca_bundle():
            published = await self._publish(certificates)
        self.ca_bundle = certificates.ca_bundle()
        if is_own or self._is_leading():
            self._is_published_further = False
            await self._publish_further(self.ca_bundle)
            self._is_published_further = True
        is_known = contains_ca(published, certificates.ca)
        if self._tls.pair != certificates.leaf and (is_known or self._tls.pair is None):
            self._tls.use(certificates.leaf)
            if self._location.copy is not None:
                await asyncio.to_thread(_save, self._location.copy, certificates.leaf)
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
            log.info("serving certificate is synced again", extra={"secret": self._location.service.secret})
        self._last_error = ""
        return True

    def _log_error(self, error: str) -> None:
        """Log an error once, and again when it changes."""
        if error != self._last_error:
            fields = {
                "secret": self._location.service.secret,
                "namespace": self._location.keys_namespace,
                "error": error,
            }
            log.error("serving certificate cannot be synced, the current one stays in use", extra=fields)
        self._last_error = error

    async def _read_or_create(self, now: datetime, published: bytes) -> tuple[CertificateSet | None, bool]:
        """The content of the Secret, and whether this call wrote it; None if it is invalid and only the leader may replace it."""
        location = self._location
        try:
            secret = await self._client.get(SECRET, location.service.secret, location.keys_namespace)
        except NotFound:
            created = create(location.names, now, published)
            await self._client.create(SECRET, {**self._new_secret(), "data": _encoded(created)})
            log.info(
                "serving certificate made",
                extra={"secret": location.service.secret, "namespace": location.keys_namespace},
            )
            return created, True
        try:
            found = CertificateSet.read(_decoded(secret))
        except BadKeyPair as error:
            self._log_error(f"its content cannot be used: {error}")
            if not self._is_leading():
                return None, False
            created = create(location.names, now, published)
            await self._replace(secret, created)
            return created, True
        known = published if self._is_published_further else b""
        wanted = rotate(found, location.names, now, known) if self._is_leading() else found
        if wanted is not found:
            await self._replace(secret, wanted)
        return wanted, wanted is not found

    def _new_secret(self) -> Object:
        metadata = {
            "labels": dict(self._location.service.labels),
            **_name_metadata(self._location.service.secret, self._location.keys_namespace),
        }
        return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "kubernetes.io/tls"}

    async def _replace(self, secret: Object, certificates: CertificateSet) -> None:
        """Replace the Secret at the resourceVersion that was read. Raises Conflict."""
        data = _encoded(certificates)
        if secret.get("immutable"):
            await self._delete(SECRET, secret)
            await self._client.create(SECRET, {**self._new_secret(), "data": data})
        else:
            path = SECRET.path(self._location.keys_namespace, self._location.service.secret)
            await self._client.request("PUT", path, body={**secret, "data": data})
        log.info("serving certificate renewed", extra={"secret": self._location.service.secret})

    async def _published(self) -> bytes:
        location = self._location
        try:
            found = await self._client.get(CONFIG_MAP, location.service.config_map, location.namespace)
        except NotFound:
            return b""
        return str((found.get("data") or {}).get(CA_KEY, "")).encode()

    async def _publish(self, certificates: CertificateSet) -> bytes:
        location = self._location
        body = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "labels": dict(location.service.labels),
                **_name_metadata(location.service.config_map, location.namespace),
            },
            "data": {CA_KEY: certificates.ca_bundle().decode()},
        }
        try:
            await self._client.apply(CONFIG_MAP, body, location.service.manager)
        except Invalid:
            found = await self._client.get(CONFIG_MAP, location.service.config_map, location.namespace)
            if not found.get("immutable"):
                raise
            await self._delete(CONFIG_MAP, found)
            await self._client.apply(CONFIG_MAP, body, location.service.manager)
        return certificates.ca_bundle()

    async def _delete(self, kind: Kind, found: Object) -> None:
        """Delete an immutable object if it is still the one that was read. Raises Conflict."""
        metadata = found["metadata"]
        name, namespace = metadata["name"], metadata["namespace"]
        await self._client.delete(
            kind, name, namespace, uid=metadata["uid"], resource_version=metadata["resourceVersion"]
        )
        log.warning(
            "an immutable object is created again to change it", extra={"object": f"{kind.kind} {namespace}/{name}"}
        )

    def _load_copy(self, path: Path) -> None:
        """Serve the copy, unless its names differ or it has expired."""
        try:
            text = path.read_bytes()
            pair = KeyPair.read(text, text)
            if pair.is_valid(datetime.now(UTC)) and set(names_of(pair.certificate)) == set(self._location.names):
                self._tls.use(KeyPair(*_split_pem(text), pair.certificate))
        except FileNotFoundError:
            return
        except (OSError, BadKeyPair) as error:
            log.warning("the cached serving certificate is not used", extra={"error": str(error)})


async def _nothing_further(_: bytes) -> None:
    """The ConfigMap is all that clients read."""


def _name_metadata(name: str, namespace: str) -> Object:
    return {"name": name, "namespace": namespace}


def _encoded(certificates: CertificateSet) -> dict[str, str]:
    return {key: base64.b64encode(value).decode() for key, value in certificates.dump().items()}


def _decoded(secret: Object) -> dict[str, bytes]:
    try:
        return {key: base64.b64decode(value, validate=True) for key, value in (secret.get("data") or {}).items()}
    except (binascii.Error, ValueError) as error:
        raise BadKeyPair("its data is not base64") from error


def _split_pem(text: bytes) -> tuple[bytes, bytes]:
    """The certificates and the key of a file of _save()."""
    chain, mark, key = text.partition(b"-----BEGIN PRIVATE KEY-----")
    return chain, mark + key


def _save(path: Path, pair: KeyPair) -> None:
    """Write the copy, readable for this user only. Errors are logged."""
    try:
        write_atomically(path, pair.chain + pair.key)
    except OSError as error:
        log.warning("the serving certificate cannot be cached on disk", extra={"error": str(error)})
