"""One question to catalogd over HTTP or HTTPS: whom to trust, which token to send, and which replica to ask next.

Used by catalog_client.py. Follows no redirect. Raises Unreadable with a sentence for people that holds no address, for addresses
change.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from olmkit.runtime.client import Client
from olmkit.tls.client_tls import ClientTls

REQUEST_TIMEOUT = aiohttp.ClientTimeout(total=10, sock_connect=3)
MAX_RESPONSE_BYTES = 32 * 1024 * 1024
"""Bytes of one document; the largest real one has 300,000."""
SERVER_BACKOFF_SECONDS = 10.0
"""How long a server that was silent is not asked again: hundreds of Operators would each wait for their time limit."""
MAX_REPLICA_ATTEMPTS = 6
"""How often a server that refuses is asked, each time over a new connection, which the Service may lead elsewhere."""
REPLICA_RETRY_DELAY_SECONDS = 0.05
MAX_RETRY_AFTER_SECONDS = 60
"""Seconds: what a Retry-After beyond it counts as."""
UNTRUSTED_CERTIFICATE = (
    "catalogd's certificate is not trusted: name its CA with --catalogs-ca-file, "
    "or see that the ConfigMap catalogd-ca holds it"
)


class CatalogRequestError(Exception):
    """Why there is no answer, for people."""


class ResponseTooLarge(CatalogRequestError):
    """The answer has more than SIZE_LIMIT bytes. `digest` is that of the content it is from, "" when none was named."""

    def __init__(self, digest: str) -> None:
        super().__init__(f"catalogd's answer is larger than {MAX_RESPONSE_BYTES} bytes")
        self.digest = digest


@dataclass(frozen=True)
class CatalogResponse:
    """What came back."""

    status: int
    digest: str
    body: bytearray


@dataclass(frozen=True)
class RetryableResponse:
    """One replica cannot answer now, and another one may: 503, it has no content of the catalog; 429, it has too much to do."""

    status: int
    retry_after: int
    """In seconds; 0: it did not say."""


@dataclass
class CatalogServers:
    """Asks over `session`; close() it. `trust` None: the system's CAs; `client`: its token is sent to HTTPS servers."""

    session: aiohttp.ClientSession
    trust: ClientTls | None = None
    client: Client | None = None
    clock: Callable[[], float] = time.monotonic
    _fresh: aiohttp.ClientSession | None = None
    _down: dict[str, tuple[float, str]] = field(default_factory=dict)
    """Until when a server, or a catalog of one, is not asked again, and why."""

    async def close(self) -> None:
        """Close all connections."""
        await self.session.close()
        if self._fresh is not None:
            await self._fresh.close()

    async def get(self, server: str, url: str, content: str = "") -> CatalogResponse:
        """The answer for `url`, which is on `server`; `content` is the digest of what is expected there. Raises Unreadable."""
        catalog = f"{url.partition('?')[0]} {content}"  # new content is asked for at once
        for down in (self._down.get(server), self._down.get(catalog)):
            if down is not None and down[0] > self.clock():
                raise CatalogRequestError(down[1])
        try:
            async with asyncio.timeout(self.session.timeout.total):
                answered = await self._get(url)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            message = f"catalogd does not answer ({_error_summary(error)})"
            if isinstance(error, TimeoutError):
                self._leave_alone(server, SERVER_BACKOFF_SECONDS, message)
            raise CatalogRequestError(message) from error
        if isinstance(answered, CatalogResponse):
            return answered
        message = f"catalogd answered {answered.status}"
        # 503 is about one catalog: the others are served.
        self._leave_alone(catalog if answered.status == 503 else server, answered.retry_after, message)
        raise CatalogRequestError(message)

    async def _get(self, url: str) -> CatalogResponse | RetryableResponse:
        """Ask until a replica has it, REPLICAS_ASKED times at most; what it is when all refuse does not depend on their order."""
        refusals: list[RetryableResponse] = []
        session = self.session
        while len(refusals) < MAX_REPLICA_ATTEMPTS:
            if refusals:
                await asyncio.sleep(REPLICA_RETRY_DELAY_SECONDS)
                session = self._new_connections()
            answered = await self._trusted_get(session, url)
            if isinstance(answered, CatalogResponse):
                return answered
            refusals.append(answered)
        return RetryableResponse(max(one.status for one in refusals), min(one.retry_after for one in refusals))

    def _leave_alone(self, what: str, seconds: float, why: str) -> None:
        now = self.clock()
        self._down = {key: entry for key, entry in self._down.items() if entry[0] > now}
        self._down[what] = (now + seconds, why)

    async def _trusted_get(self, session: aiohttp.ClientSession, url: str) -> CatalogResponse | RetryableResponse:
        """Ask once, and once more if CAs have changed since they were looked at."""
        context = await self._context()
        try:
            return await self._get_once(session, url, context)
        except aiohttp.ClientConnectorCertificateError as error:
            again = await self._context(after_failure=True)
            if again is context:
                raise CatalogRequestError(UNTRUSTED_CERTIFICATE) from error
        try:
            return await self._get_once(session, url, again)
        except aiohttp.ClientConnectorCertificateError as error:
            raise CatalogRequestError(UNTRUSTED_CERTIFICATE) from error

    async def _get_once(
        self, session: aiohttp.ClientSession, url: str, context: ssl.SSLContext | None
    ) -> CatalogResponse | RetryableResponse:
        options: dict[str, Any] = {} if context is None else {"ssl": context}
        async with session.get(url, allow_redirects=False, headers=await self._headers(url), **options) as response:
            if response.status in (429, 503):
                return RetryableResponse(response.status, _parse_retry_after(response.headers.get("Retry-After", "")))
            digest = response.headers.get("Olm-Catalog-Digest", "")
            return CatalogResponse(response.status, digest, await _read_body(response, digest))

    async def _context(self, *, after_failure: bool = False) -> ssl.SSLContext | None:
        return await self.trust.context(after_failure=after_failure) if self.trust is not None else None

    async def _headers(self, url: str) -> dict[str, str]:
        if self.client is None or not url.startswith("https://"):
            return {}
        token = await self.client.bearer_token()
        return {"Authorization": f"Bearer {token}"} if token else {}

    def _new_connections(self) -> aiohttp.ClientSession:
        """A session that opens a connection for each request."""
        if self._fresh is None:
            connector = aiohttp.TCPConnector(force_close=True)
            self._fresh = aiohttp.ClientSession(connector=connector, timeout=self.session.timeout)
        return self._fresh


def _parse_retry_after(retry_after: str) -> int:
    """Of a Retry-After; a date, which catalogd never sends, counts as none."""
    is_number = retry_after.isascii() and retry_after.isdigit() and len(retry_after) < 10
    return min(int(retry_after), MAX_RETRY_AFTER_SECONDS) if is_number else 0


def _error_summary(error: Exception) -> str:
    """What went wrong without addresses, which change."""
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, aiohttp.ClientSSLError):
        return "no TLS connection"
    if isinstance(error, aiohttp.ClientConnectorError):
        return "no connection"
    return type(error).__name__


async def _read_body(response: aiohttp.ClientResponse, digest: str) -> bytearray:
    body = bytearray()
    async for chunk in response.content.iter_chunked(65536):
        body += chunk
        if len(body) > MAX_RESPONSE_BYTES:
            raise ResponseTooLarge(digest)
    return body
