"""One registry, by the OCI distribution protocol: manifests by tag or digest, digests of tags, blobs onto disk.

Used by image.py. Everything that has a digest is verified while it arrives. Anonymous: a registry that asks for a token is asked
for one of its own, a registry that wants credentials gets a sentence. Raises Waiting, in words for people.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from http import HTTPStatus
from typing import IO

import orjson
from yarl import URL

from olmkit.errors import Waiting
from olmkit.sources.errors import SOON, ImageNotFound, Reason, unavailable
from olmkit.sources.manifests import ACCEPT, Descriptor
from olmkit.sources.reference import Reference, is_digest
from olmkit.sources.registries import Endpoint
from olmkit.sources.transport import Answer, NoAnswer, Transport

MANIFEST_LIMIT = 4 * 1024**2
TOKEN_LIMIT = 1024**2
LONGEST_WAIT = timedelta(minutes=5)
_CHALLENGE = re.compile(r'([a-zA-Z_]+)="((?:[^"\\]|\\.)*)"')


class Registry:
    """One endpoint of one image. `reference` is what sentences name."""

    def __init__(self, transport: Transport, endpoint: Endpoint, reference: Reference) -> None:
        self._transport = transport
        self._endpoint = endpoint
        self._reference = reference
        # As containers-registries.conf(5): insecure means TLS unverified, then no TLS.
        self._schemes = ["https", "http"] if endpoint.insecure else ["https"]
        self._token: str | None = None
        self.host = endpoint.host
        self.is_mirror = endpoint.mirror

    async def digest(self, tag: str) -> str:
        """The digest a tag has now: one HEAD, or the manifest itself where a registry does not say."""
        async with self._get(f"manifests/{tag}", {"Accept": ACCEPT}, method="HEAD") as answer:
            stated = answer.header("Docker-Content-Digest")
            if answer.status == 200 and is_digest(stated):
                return stated
            if answer.status not in (200, 405):
                raise self._refused(answer, manifest=True)
        data, _ = await self.manifest(tag)
        return f"sha256:{hashlib.sha256(data).hexdigest()}"

    async def manifest(self, version: str) -> tuple[bytes, str]:
        """A manifest and its media type, by tag or digest; a digest is verified."""
        async with self._get(f"manifests/{version}", {"Accept": ACCEPT}) as answer:
            if answer.status != 200:
                raise self._refused(answer, manifest=True)
            data = await answer.read(MANIFEST_LIMIT)
            kind = answer.header("Content-Type").partition(";")[0].strip()
        if data is None:
            raise unavailable(f"registry {self.host} answers with a manifest of more than {MANIFEST_LIMIT:,} bytes")
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
    async def _get(self, path: str, headers: dict[str, str], method: str = "GET") -> AsyncIterator[Answer]:
        """Ask with the token there is; get one and ask again when the registry says so."""
        url = await self._url(path)
        if self._token is not None:
            headers = {**headers, "Authorization": f"Bearer {self._token}"}
        async with self._transport.open(method, url, self._endpoint, headers) as answer:
            challenge = answer.header("WWW-Authenticate") if answer.status == HTTPStatus.UNAUTHORIZED else ""
            if self._token is not None or not challenge.lower().startswith("bearer "):
                yield answer
                return
        self._token = await self._fetch_token(challenge)
        headers = {**headers, "Authorization": f"Bearer {self._token}"}
        async with self._transport.open(method, url, self._endpoint, headers) as answer:
            yield answer

    async def _url(self, path: str) -> URL:
        """With a scheme the registry speaks; found out once."""
        while len(self._schemes) > 1:
            ping = URL(f"{self._schemes[0]}://{self.host}/v2/")
            try:
                async with self._transport.open("GET", ping, self._endpoint, {}):
                    del self._schemes[1:]
            except NoAnswer as error:
                if not error.spoke_otherwise:
                    raise
                del self._schemes[0]
        return URL(f"{self._schemes[0]}://{self.host}/v2/{self._endpoint.repository}/{path}", encoded=True)

    async def _fetch_token(self, challenge: str) -> str:
        """An anonymous token, as the challenge says where and for what."""
        parameters = dict(_CHALLENGE.findall(challenge))
        realm = URL(parameters.get("realm", ""))
        if realm.scheme not in ("http", "https") or not realm.host:
            raise unavailable(f"registry {self.host} wants a token, but does not say where to get one")
        scope = parameters.get("scope") or f"repository:{self._endpoint.repository}:pull"
        query = {"scope": scope} | ({"service": parameters["service"]} if "service" in parameters else {})
        async with self._transport.open("GET", realm.update_query(query), self._endpoint, {}) as answer:
            if answer.status != 200:
                raise self._refused(answer, manifest=False)
            data = await answer.read(TOKEN_LIMIT)
        try:
            document = orjson.loads(data or b"")
            token = document.get("token") or document.get("access_token")
        except (orjson.JSONDecodeError, AttributeError):
            token = None
        if not isinstance(token, str) or not token.isascii() or not token.isprintable():
            raise unavailable(f"registry {self.host} wants a token, and what it answers when asked for one holds none")
        return token

    def _refused(self, answer: Answer, *, manifest: bool) -> Waiting:
        status = answer.status
        if status == HTTPStatus.NOT_FOUND and manifest:
            text = f'image "{self._reference}" not found: registry {self.host} has no such tag or repository (404)'
            return ImageNotFound(Reason.NOT_FOUND, text, SOON)
        if status == HTTPStatus.UNAUTHORIZED:
            return Waiting(Reason.UNAUTHORIZED, f'{answer.who} wants credentials for "{self._reference}" (401)', SOON)
        if status == HTTPStatus.FORBIDDEN:
            return Waiting(Reason.UNAUTHORIZED, f'{answer.who} denies access to "{self._reference}" (403)', SOON)
        if status == HTTPStatus.TOO_MANY_REQUESTS:
            return unavailable(f"{answer.who} asks to slow down (429 Too Many Requests)", _after(answer))
        return unavailable(f"{answer.who} answered {_phrase(status)}")

    def _differs(self, digest: str) -> Waiting:
        text = f'registry {self.host} sends other bytes for "{self._reference}" than {digest} stands for'
        return Waiting(Reason.CONTENT_CHANGED, text, SOON)


def _digest_like(digest: str, data: bytes) -> str:
    algorithm = digest.partition(":")[0]
    return f"{algorithm}:{hashlib.new(algorithm, data).hexdigest()}"


def _phrase(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def _after(answer: Answer) -> timedelta:
    """Retry-After in seconds, between the usual first delay and the longest."""
    text = answer.header("Retry-After")
    seconds = int(text) if text.isascii() and text.isdigit() and len(text) < 6 else 60
    return max(SOON, min(timedelta(seconds=seconds), LONGEST_WAIT))
