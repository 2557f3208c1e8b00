"""The HTTP client of replication: requests the leader's records, the checksums of a content, and the bytes of its files.

Trusts nothing: responses are limited in size, and the store compares files with their checksums before they are published. Raises
ReplicationError only.
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
"""The longest time without a byte of a response."""
RECORDS_TIMEOUT_SECONDS = 5.0
"""The timeout of a request for the records: the follower does nothing else in the meantime."""
MAX_METADATA_BYTES = 64 * 1024 * 1024
"""The largest response that is not a file."""
CHUNK_BYTES = 1024 * 1024

STATUS_CODE_HINTS = {
    401: ": it wants the token of a ServiceAccount; give this replica a kubeconfig with one, or run it in a pod",
    403: ": bind the ClusterRole olm-suite-catalogd to the account of this replica",
}
"""Advice for people, by status code."""
REQUEST_TIMEOUT = aiohttp.ClientTimeout(
    total=None, sock_connect=CONNECT_TIMEOUT_SECONDS, sock_read=IDLE_TIMEOUT_SECONDS
)


class ReplicationError(Exception):
    """The leader cannot be reached, or its response cannot be used."""


class Interrupted(ReplicationError):
    """The response is missing, incomplete or an error, as from a leader that is starting: the request may succeed later."""


class PeerRequestOptions(Protocol):
    """The options of requests to replicas: implemented by olmkit.tls.peers."""

    @property
    def scheme(self) -> str:
        """ "https" or "http"."""

    async def request_options(self) -> dict[str, Any]:
        """Keyword arguments of a request: ssl, server_hostname, headers."""


class LeaderClient:
    """Requests of one session; the address is given with each."""

    def __init__(self, session: aiohttp.ClientSession, peers: PeerRequestOptions) -> None:
        self._session = session
        self._peers = peers
        self._known: tuple[str, str, ServingState] | None = None
        """The address of the last records, their ETag, and the records."""

    async def records(self, address: str) -> ServingState:
        """The records that this address serves. Sends the ETag of its last response, so that unchanged records are not sent
        again."""
        known = self._known if self._known and self._known[0] == address and self._known[1] else None
        headers = {"If-None-Match": known[1]} if known else {}
        try:
            async with asyncio.timeout(RECORDS_TIMEOUT_SECONDS), self._get(address, RECORDS_PATH, headers) as response:
                if known and response.status == 304:
                    return known[2]
                state = parse(await _read_all(response))
                self._known = (address, response.headers.get("ETag", ""), state)
                return state
        except TimeoutError:
            raise Interrupted("the leader cannot be reached: no response in time") from None

    def forget(self) -> None:
        """Forget the last records, so that they are requested in full."""
        self._known = None

    async def checksums(self, address: str, digest: str) -> Checksums:
        """The checksums of a content."""
        async with self._get(address, f"{CONTENT_PATH}/{digest}") as response:
            try:
                return Checksums.parse(await _read_all(response), digest)
            except ValueError as error:
                raise ReplicationError(f"the leader's response cannot be used: {error}") from None

    async def read(self, address: str, digest: str, file: str, start: int, size: int) -> AsyncGenerator[bytes, None]:
        """Read a file of `size` bytes from `start`, in chunks of about 1 MiB. Yields what was received before it raises
        Interrupted."""
        headers = {"Range": f"bytes={start}-"} if start else {}
        async with self._get(address, f"{CONTENT_PATH}/{digest}/{quote(file)}", headers) as response:
            if response.status != (206 if start else 200):
                raise ReplicationError(f"the leader answered {response.status} for a range of a file")
            left = size - start
            async for chunk in _chunks(response):
                left -= len(chunk)
                if left < 0:
                    raise ReplicationError("the leader sent more bytes than the file has")
                yield chunk
            if left:
                raise Interrupted(f"the leader's response ended {left} bytes early")

    @asynccontextmanager
    async def _get(
        self, address: str, path: str, headers: dict[str, str] | None = None
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        options = await self._peers.request_options()
        sent = {"Accept-Encoding": "identity", **options.pop("headers", {}), **(headers or {})}
        url = URL(f"{self._peers.scheme}://{address}{path}", encoded=True)
        try:
            async with self._session.get(
                url, headers=sent, allow_redirects=False, timeout=REQUEST_TIMEOUT, **options
            ) as response:
                if response.status not in (200, 206, 304):
                    raise Interrupted(
                        f"the leader answered {response.status}{STATUS_CODE_HINTS.get(response.status, '')}"
                    )
                yield response
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            raise Interrupted(f"the leader cannot be reached: {_message(error)}") from error


async def _read_all(response: aiohttp.ClientResponse) -> bytes:
    data = bytearray()
    async for chunk in response.content.iter_any():
        data += chunk
        if len(data) > MAX_METADATA_BYTES:
            raise ReplicationError("the leader's response is too large")
    return bytes(data)


async def _chunks(response: aiohttp.ClientResponse) -> AsyncGenerator[bytes, None]:
    """The body in chunks large enough to be written in a thread, including what was received before an error."""
    data = bytearray()
    try:
        async for chunk in response.content.iter_any():
            data += chunk
            if len(data) >= CHUNK_BYTES:
                yield bytes(data)
                data.clear()
    except (aiohttp.ClientError, TimeoutError, OSError):
        if data:
            yield bytes(data)
        raise
    if data:
        yield bytes(data)


def _message(error: Exception) -> str:
    """The message of an error, without the address: a message is logged only when it changes."""
    if isinstance(error, TimeoutError):
        return "no response in time"
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return "its certificate is not trusted"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if isinstance(error, aiohttp.ClientConnectorError):
        return "no connection"
    return str(error) or type(error).__name__
