"""A serving certificate of our own, kept in a Secret that all replicas follow, and its CA in a ConfigMap for their clients.

The Secret is in the namespace of the suite's own keys, apart from those that Catalogs may name as logins and that are listed.

Whichever replica comes first makes the Secret; the leader brings it a step on when one is due and keeps the ConfigMap. Both are
read every minute rather than watched: a watch would need the right to see every Secret of the namespace. The API server being
away changes nothing for what is served; a copy in the cache folder lets a restart serve meanwhile. Made by olmkit.tls.setup.
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
"""After a look that failed, or that found something still to be done by another replica."""
FIRST_SYNC_TIMEOUT_SECONDS = 10.0
"""How long the process waits at its start for the API server before it goes on without."""

SECRET = Kind("", "v1", "Secret", "secrets", namespaced=True)

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class CertificateLocation:
    """Whose certificate it is and where it is kept: the Secret in `keys_namespace`, the ConfigMap with its CA in `namespace`.
    `names` are all host names and addresses that clients use."""

    service: TlsService
    namespace: str
    keys_namespace: str
    names: Sequence[str]
    copy: Path | None = None


class ManagedCertificate:
    """Keeps `tls` on what the Secret holds. `is_leading` says whether this replica may change it."""

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
        self._trouble = ""
        self.ca_bundle = b""
        """PEM of the CAs that are trusted now, as last seen."""

    async def load(self) -> None:
        """The copy of the last time will do; else a first look, of 10 s at most: then there is nothing to serve with yet."""
        if self._place.copy is not None:
            self._load_copy(self._place.copy)
        if self._tls.pair is not None:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(FIRST_SYNC_TIMEOUT_SECONDS):
                await self._try_to_look()

    async def run(self) -> None:
        """Look again and again until cancelled."""
        while True:
            seconds = self._seconds if await self._try_to_look() else RETRY_SECONDS
            await asyncio.sleep(min(seconds, self._seconds))

    async def sync(self, now: datetime) -> bool:
        """Make, advance, publish and serve what is due. False when something is left for the next look. Raises ApiError."""
        self._tls.warn_of_expiry(now)
        published = await self._published()
        material, is_mine = await self._material(now, published)
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

    async def _try_to_look(self) -> bool:
        try:
            is_done = await self.sync(datetime.now(UTC))
        except Conflict:
            return False  # another replica was faster
        except (ApiError, BadKeyPair) as error:
            self._fail(str(error))
            return False
        if not is_done:
            return False  # what is wrong, if anything, was said, and is so until a look leaves nothing undone
        if self._trouble:
            log.info("serving certificate is kept up to date again", extra={"secret": self._place.service.secret})
        self._trouble = ""
        return True

    def _fail(self, said: str) -> None:
        """Say once what is wrong, and again when it becomes something else."""
        if said != self._trouble:
            facts = {"secret": self._place.service.secret, "namespace": self._place.keys_namespace, "error": said}
            log.error("serving certificate cannot be kept up to date, what is served stays", extra=facts)
        self._trouble = said

    async def _material(self, now: datetime, published: bytes) -> tuple[CertificateSet | None, bool]:
        """What the Secret holds in the end, and whether it was made or changed here; None when only the leader may mend it."""
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
            self._fail(f"it holds nothing that can be served with: {error}")
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
        """If it is still the one that was read. Raises Conflict."""
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
        """Serve as before the restart, unless the names are others or the time is over."""
        try:
            text = path.read_bytes()
            pair = KeyPair.read(text, text)
            if pair.is_valid(datetime.now(UTC)) and set(names_of(pair.certificate)) == set(self._place.names):
                self._tls.use(KeyPair(*_parted(text), pair.certificate))
        except FileNotFoundError:
            return
        except (OSError, BadKeyPair) as error:
            log.warning("the copy of the serving certificate is not used", extra={"error": str(error)})


def _identity(name: str, namespace: str) -> Object:
    return {"name": name, "namespace": namespace}


def _encoded(material: CertificateSet) -> dict[str, str]:
    return {key: base64.b64encode(value).decode() for key, value in material.dump().items()}


def _decoded(secret: Object) -> dict[str, bytes]:
    try:
        return {key: base64.b64decode(value, validate=True) for key, value in (secret.get("data") or {}).items()}
    except (binascii.Error, ValueError) as error:
        raise BadKeyPair("its data is no base64") from error


def _parted(text: bytes) -> tuple[bytes, bytes]:
    """The certificates and the key of a file that holds both, as _save writes it."""
    chain, mark, key = text.partition(b"-----BEGIN PRIVATE KEY-----")
    return chain, mark + key


def _save(path: Path, pair: KeyPair) -> None:
    """For nobody else's eyes; a folder that cannot be written costs the copy only."""
    try:
        write_atomically(path, pair.chain + pair.key)
    except OSError as error:
        log.warning("the serving certificate is not kept on disk", extra={"error": str(error)})
