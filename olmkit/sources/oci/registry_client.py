"""A client of one registry, by the OCI distribution API: digests of tags, manifests by tag or digest, blobs onto disk.

Content with a digest is verified as it arrives. authorization.py authenticates. Raises Waiting.
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
    """One endpoint of one image. `reference` is what messages name."""

    def __init__(self, transport: Transport, registries: Registries, endpoint: Endpoint, reference: Reference) -> None:
        self._transport = transport
        self._endpoint = endpoint
        self._reference = reference
        # As containers-registries.conf(5): insecure means TLS unverified, then no TLS.
        self._schemes = ["https", "http"] if endpoint.insecure else ["https"]
        self._authorization = Authorization(transport, registries, endpoint, str(reference))
        self.host = endpoint.host

    async def digest(self, tag: str) -> str:
        """The current digest of a tag: one HEAD request, or the hash of the manifest when the response has no digest."""
        async with self._get(f"manifests/{tag}", {"Accept": ACCEPT_HEADER}, method="HEAD") as response:
            header_digest = response.header("Docker-Content-Digest")
            if response.status == 200 and is_digest(header_digest):
                return header_digest
            if response.status not in (200, 405):
                raise self._status_error(response, manifest=True)
        data, _ = await self.manifest(tag)
        return f"sha256:{hashlib.sha256(data).hexdigest()}"

    async def manifest(self, version: str) -> tuple[bytes, str]:
        """The bytes and media type of a manifest, by tag or digest; a digest is verified."""
        async with self._get(f"manifests/{version}", {"Accept": ACCEPT_HEADER}) as response:
            if response.status != 200:
                raise self._status_error(response, manifest=True)
            data = await response.read(MAX_MANIFEST_BYTES)
            kind = response.header("Content-Type").partition(";")[0].strip()
        if data is None:
            raise unavailable(f"registry {self.host} answers with a manifest of more than {MAX_MANIFEST_BYTES:,} bytes")
        if is_digest(version) and _digest_of(version, data) != version:
            raise self._digest_mismatch(version)
        return data, kind

    async def blob(self, blob: Descriptor, into: IO[bytes], arrived: Callable[[int], None]) -> None:
        """Write a blob into the file and verify its size and digest; `arrived` is called with the number of bytes so far."""
        checksum = hashlib.new(blob.digest.partition(":")[0])
        count = 0
        async with self._get(f"blobs/{blob.digest}", {}) as response:
            if response.status != 200:
                raise self._status_error(response, manifest=False)
            async for chunk in response.chunks():
                count += len(chunk)
                if count > blob.size:
                    break
                checksum.update(chunk)
                into.write(chunk)
                arrived(count)
        if count != blob.size or f"{checksum.name}:{checksum.hexdigest()}" != blob.digest:
            raise self._digest_mismatch(blob.digest)

    @asynccontextmanager
    async def _get(self, path: str, headers: dict[str, str], method: str = "GET") -> AsyncIterator[HttpResponse]:
        """Send a request with the known authorization. After a 401 with a challenge, authenticate and send it once more."""
        url = await self._url(path)
        sent = {**headers, **self._authorization.headers}
        async with self._transport.open(method, url, self._endpoint, sent) as response:
            if response.status != HTTPStatus.UNAUTHORIZED or not await self._authorization.answer_challenge(
                url, response
            ):
                yield response
                return
        sent = {**headers, **self._authorization.headers}
        async with self._transport.open(method, url, self._endpoint, sent) as response:
            yield response

    async def _url(self, path: str) -> URL:
        """The URL, with a scheme that the registry speaks. The scheme is detected once."""
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

    def _status_error(self, response: HttpResponse, *, manifest: bool) -> Waiting:
        if response.status == HTTPStatus.NOT_FOUND and manifest:
            text = f'image "{self._reference}" not found: registry {self.host} has no such tag or repository (404)'
            return ImageNotFound(SourceReason.NOT_FOUND, text, RETRY_DELAY)
        if response.status in DENIED_STATUSES:
            return self._authorization.refusal(response)
        return response.unexpected()

    def _digest_mismatch(self, digest: str) -> Waiting:
        text = f'registry {self.host} sent bytes for "{self._reference}" that do not match {digest}'
        return Waiting(SourceReason.CONTENT_CHANGED, text, RETRY_DELAY)


def _digest_of(digest: str, data: bytes) -> str:
    algorithm = digest.partition(":")[0]
    return f"{algorithm}:{hashlib.new(algorithm, data).hexdigest()}"
