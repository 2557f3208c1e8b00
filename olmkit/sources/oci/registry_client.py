"""One registry, by the OCI distribution protocol: manifests by tag or digest, digests of tags, blobs onto disk.

Used by image.py. Everything that has a digest is verified while it arrives. Who we are is authorization.py's. Raises Waiting, in
words for people.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import IO

from yarl import URL

from olmkit.api.names import is_digest
from olmkit.errors import Waiting
from olmkit.sources.errors import RETRY_DELAY, ImageNotFound, SourceReason, unavailable
from olmkit.sources.network import Endpoint
from olmkit.sources.oci.authorization import DENIED_STATUSES, Authorization
from olmkit.sources.oci.manifests import ACCEPT_HEADER, Descriptor
from olmkit.sources.oci.reference import Reference
from olmkit.sources.oci.registries_conf import Registries
from olmkit.sources.transport import HttpResponse, NoResponse, Transport

MAX_MANIFEST_BYTES = 4 * 1024**2


class RegistryClient:
    """One endpoint of one image. `reference` is what sentences name."""

    def __init__(self, transport: Transport, registries: Registries, endpoint: Endpoint, reference: Reference) -> None:
        self._transport = transport
        self._endpoint = endpoint
        self._reference = reference
        # As containers-registries.conf(5): insecure means TLS unverified, then no TLS.
        self._schemes = ["https", "http"] if endpoint.insecure else ["https"]
        self._authorization = Authorization(transport, registries, endpoint, str(reference))
        self.host = endpoint.host

    async def digest(self, tag: str) -> str:
        """The digest a tag has now: one HEAD, or the manifest itself where a registry does not say."""
        async with self._get(f"manifests/{tag}", {"Accept": ACCEPT_HEADER}, method="HEAD") as answer:
            stated = answer.header("Docker-Content-Digest")
            if answer.status == 200 and is_digest(stated):
                return stated
            if answer.status not in (200, 405):
                raise self._refused(answer, manifest=True)
        data, _ = await self.manifest(tag)
        return f"sha256:{hashlib.sha256(data).hexdigest()}"

    async def manifest(self, version: str) -> tuple[bytes, str]:
        """A manifest and its media type, by tag or digest; a digest is verified."""
        async with self._get(f"manifests/{version}", {"Accept": ACCEPT_HEADER}) as answer:
            if answer.status != 200:
                raise self._refused(answer, manifest=True)
            data = await answer.read(MAX_MANIFEST_BYTES)
            kind = answer.header("Content-Type").partition(";")[0].strip()
        if data is None:
            raise unavailable(f"registry {self.host} answers with a manifest of more than {MAX_MANIFEST_BYTES:,} bytes")
        if is_digest(version) and _digest_like(version, data) != version:
            raise self._differs(version)
        return data, kind

    async def blob(self, blob: Descriptor, into: IO[bytes], arrived: Callable[[int], None]) -> None:
        """Write a blob into an empty file, verified by size and digest; `arrived` hears how many bytes came so far."""
        checksum = hashlib.new(blob.digest.partition(":")[0])
        count = 0
        async with self._get(f"blobs/{blob.digest}", {}) as answer:
            if answer.status != 200:
                raise self._refused(answer, manifest=False)
            async for chunk in answer.chunks():
                count += len(chunk)
                if count > blob.size:
                    break
                checksum.update(chunk)
                into.write(chunk)
                arrived(count)
        if count != blob.size or f"{checksum.name}:{checksum.hexdigest()}" != blob.digest:
            raise self._differs(blob.digest)

    @asynccontextmanager
    async def _get(self, path: str, headers: dict[str, str], method: str = "GET") -> AsyncIterator[HttpResponse]:
        """Ask as who we are known; when the registry wants to know better, say it and ask once more."""
        url = await self._url(path)
        known = {**headers, **self._authorization.headers}
        async with self._transport.open(method, url, self._endpoint, known) as answer:
            if answer.status != HTTPStatus.UNAUTHORIZED or not await self._authorization.learn(url, answer):
                yield answer
                return
        known = {**headers, **self._authorization.headers}
        async with self._transport.open(method, url, self._endpoint, known) as answer:
            yield answer

    async def _url(self, path: str) -> URL:
        """With a scheme the registry speaks; found out once."""
        while len(self._schemes) > 1:
            ping = URL(f"{self._schemes[0]}://{self.host}/v2/")
            try:
                async with self._transport.open("GET", ping, self._endpoint, {}):
                    del self._schemes[1:]
            except NoResponse as error:
                if not error.spoke_otherwise:
                    raise
                del self._schemes[0]
        return URL(f"{self._schemes[0]}://{self.host}/v2/{self._endpoint.repository}/{path}", encoded=True)

    def _refused(self, answer: HttpResponse, *, manifest: bool) -> Waiting:
        if answer.status == HTTPStatus.NOT_FOUND and manifest:
            text = f'image "{self._reference}" not found: registry {self.host} has no such tag or repository (404)'
            return ImageNotFound(SourceReason.NOT_FOUND, text, RETRY_DELAY)
        if answer.status in DENIED_STATUSES:
            return self._authorization.refusal(answer)
        return answer.unexpected()

    def _differs(self, digest: str) -> Waiting:
        text = f'registry {self.host} sends other bytes for "{self._reference}" than {digest} stands for'
        return Waiting(SourceReason.CONTENT_CHANGED, text, RETRY_DELAY)


def _digest_like(digest: str, data: bytes) -> str:
    algorithm = digest.partition(":")[0]
    return f"{algorithm}:{hashlib.new(algorithm, data).hexdigest()}"
