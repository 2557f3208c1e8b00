"""The questions a replica asks the leader: what is served, what a content holds, and the bytes of its files.

Used by catalogd.replication.follower; answered by catalogd.replication.server. Believes nothing: answers are limited in
size, and what a file holds is compared with its manifest by the store when it is published. Raises Trouble only.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Protocol
from urllib.parse import quote

import aiohttp
from yarl import URL

from catalogd.replication.server import CONTENT_PATH, RECORDS_PATH
from catalogd.storage.state_file import ServingState, parse
from olmkit.store.checksums import Checksums

CONNECT_TIMEOUT_SECONDS = 5.0
IDLE_TIMEOUT_SECONDS = 20.0
"""Without a byte for this long an answer is given up."""
RECORDS_TIMEOUT_SECONDS = 5.0
"""For the records: meanwhile nothing else is noticed."""
MAX_METADATA_BYTES = 64 * 1024 * 1024
"""Bytes that records and manifests may have."""
CHUNK_BYTES = 1024 * 1024

STATUS_HINTS = {
    401: ": it wants the token of a ServiceAccount; give this replica a kubeconfig with one, or run it in a pod",
    403: ": bind the ClusterRole olm-suite-catalogd to the account of this replica",
}
"""What follows the code, where a person can do something about it."""
TIMEOUT = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT_SECONDS, sock_read=IDLE_TIMEOUT_SECONDS)


class ReplicationError(Exception):
    """The leader could not be asked, or its answer cannot be used; a sentence."""


class Interrupted(ReplicationError):
    """The answer ended early, or was none or a refusal, as from a leader that is about to start: the rest may be had later."""


class PeerRequestOptions(Protocol):
    """How replicas are asked; olmkit.tls.peers gives it."""

    @property
    def scheme(self) -> str:
        """ "https" or "http"."""

    async def request_options(self) -> dict[str, Any]:
        """Arguments for a request: ssl, server_hostname, headers."""


class LeaderClient:
    """Asks whatever address it is given, over one session."""

    def __init__(self, session: aiohttp.ClientSession, peers: PeerRequestOptions) -> None:
        self._session = session
        self._peers = peers
        self._known: tuple[str, str, ServingState] | None = None
        """The address whose records were read last, their ETag, and they themselves."""

    async def records(self, address: str) -> ServingState:
        """What is served there now; not sent again while it is what the same address answered last."""
        known = self._known if self._known and self._known[0] == address and self._known[1] else None
        asked = {"If-None-Match": known[1]} if known else {}
        try:
            async with asyncio.timeout(RECORDS_TIMEOUT_SECONDS), self._get(address, RECORDS_PATH, asked) as answer:
                if known and answer.status == 304:
                    return known[2]
                note = parse(await _small(answer))
                self._known = (address, answer.headers.get("ETag", ""), note)
                return note
        except TimeoutError:
            raise Interrupted("the leader cannot be asked: no answer in time") from None

    def forget(self) -> None:
        """Keep no records: they are asked for whole the next time."""
        self._known = None

    async def manifest(self, address: str, digest: str) -> Checksums:
        """What a content holds."""
        async with self._get(address, f"{CONTENT_PATH}/{digest}") as answer:
            try:
                return Checksums.parse(await _small(answer), digest)
            except ValueError as error:
                raise ReplicationError(f"the leader's answer cannot be used: {error}") from None

    async def read(self, address: str, digest: str, file: str, start: int, size: int) -> AsyncGenerator[bytes, None]:
        """The bytes of a file of `size` bytes from `start` on, in pieces of about 1 MiB; before Interrupted those that came."""
        headers = {"Range": f"bytes={start}-"} if start else {}
        async with self._get(address, f"{CONTENT_PATH}/{digest}/{quote(file)}", headers) as answer:
            if answer.status != (206 if start else 200):
                raise ReplicationError(f"the leader answered {answer.status} for a part of a file")
            left = size - start
            async for piece in _pieces(answer):
                left -= len(piece)
                if left < 0:
                    raise ReplicationError("the leader sent more than the file has")
                yield piece
            if left:
                raise Interrupted(f"the leader's answer ended {left} bytes early")

    @asynccontextmanager
    async def _get(
        self, address: str, path: str, headers: dict[str, str] | None = None
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        options = await self._peers.request_options()
        asked = {"Accept-Encoding": "identity", **options.pop("headers", {}), **(headers or {})}
        url = URL(f"{self._peers.scheme}://{address}{path}", encoded=True)
        try:
            async with self._session.get(
                url, headers=asked, allow_redirects=False, timeout=TIMEOUT, **options
            ) as answer:
                if answer.status not in (200, 206, 304):
                    raise Interrupted(f"the leader answered {answer.status}{STATUS_HINTS.get(answer.status, '')}")
                yield answer
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            raise Interrupted(f"the leader cannot be asked: {_words(error)}") from error


async def _small(answer: aiohttp.ClientResponse) -> bytes:
    data = bytearray()
    async for piece in answer.content.iter_any():
        data += piece
        if len(data) > MAX_METADATA_BYTES:
            raise ReplicationError("the leader's answer is too large")
    return bytes(data)


async def _pieces(answer: aiohttp.ClientResponse) -> AsyncGenerator[bytes, None]:
    """What comes, gathered until it is worth a thread that writes it; also what came before the answer broke."""
    data = bytearray()
    try:
        async for piece in answer.content.iter_any():
            data += piece
            if len(data) >= CHUNK_BYTES:
                yield bytes(data)
                data.clear()
    except (aiohttp.ClientError, TimeoutError, OSError):
        if data:
            yield bytes(data)
        raise
    if data:
        yield bytes(data)


def _words(error: Exception) -> str:
    """Not the address: the sentence is logged when it changes."""
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return "its certificate is not trusted"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__
