"""HTTP(S) requests to catalogd: which CAs are trusted, which token is sent, and retries over its replicas.

Follows no redirect. Raises CatalogRequestError, whose message is for users and contains no address, because addresses change.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import aiohttp

from olmkit.runtime.client import Client
from olmkit.tls.client_tls import ClientTls

REQUEST_TIMEOUT = aiohttp.ClientTimeout(total=10, sock_connect=3)
BODY_TIMEOUT_SECONDS = 60.0
"""The time that the body of a response may take, from its header on."""
READ_BYTES = 256 * 1024
"""The most bytes of a body that are read at once."""
TIMEOUT_BACKOFF_SECONDS = 10.0
"""The time for which no request is sent to a server after a timeout. Otherwise hundreds of Operators would each wait for one."""
MAX_REPLICA_ATTEMPTS = 6
"""Requests per call while replicas answer 503 or 429, each over a new connection, which the Service may route to another one."""
REPLICA_RETRY_DELAY_SECONDS = 0.05
MAX_RETRY_AFTER_SECONDS = 60
"""A longer Retry-After is shortened to this."""
ACCEPTED_ENCODING = "gzip"
"""Unlike zstd, its form contains a checksum and ends visibly."""
UNTRUSTED_CERTIFICATE = (
    "catalogd's certificate is not trusted: set --catalogs-ca-file to its CA, "
    "or check that the ConfigMap catalogd-ca contains it"
)


class CatalogRequestError(Exception):
    """A request failed; the message is for users."""


@dataclass(frozen=True)
class CatalogResponse:
    """The header of a response of any status but 429 and 503.

    `digest` is that of the catalog's content, "" if the response has none. `encoding` is its Content-Encoding, "identity" by
    default. Only of a delimited body it is noticed when its end is missing. `is_limited`: it has only the packages that
    spec.packages of the Catalog names.
    """

    status: int
    digest: str
    encoding: str
    is_delimited: bool
    is_limited: bool = False


class BodyReceiver(Protocol):
    """Receives the body of one response."""

    def accepts(self, response: CatalogResponse) -> bool:
        """Report whether the body is to be read."""
        ...

    async def write(self, chunk: bytes) -> None:
        """The next bytes, as encoded. An exception ends the request."""
        ...


@dataclass(frozen=True)
class RetryableResponse:
    """One replica cannot answer now, and another one may: 503, it does not have the catalog's content; 429, it is overloaded."""

    status: int
    retry_after: int
    """Seconds; 0 if the response does not name a time."""


@dataclass
class CatalogSession:
    """Sends requests over `session`; close() it. Without `trust` the system's CAs count; `client` has the token for HTTPS."""

    session: aiohttp.ClientSession
    trust: ClientTls | None = None
    client: Client | None = None
    clock: Callable[[], float] = time.monotonic
    _unpooled_session: aiohttp.ClientSession | None = None
    _backoffs: dict[str, tuple[float, str]] = field(default_factory=dict)
    """The end of each backoff, by server or by catalog and content, and the error that is raised until then."""

    async def close(self) -> None:
        """Close all connections."""
        await self.session.close()
        if self._unpooled_session is not None:
            await self._unpooled_session.close()

    async def get(self, server: str, url: str, receiver: BodyReceiver, content: str = "") -> CatalogResponse:
        """Request `url`, which is on `server`; returns when `receiver` has the whole body. Raises CatalogRequestError.

        `content` is the digest of the expected content: a backoff of the catalog does not delay a request for new content.
        """
        catalog = f"{url.partition('?')[0]} {content}"
        for backoff in (self._backoffs.get(server), self._backoffs.get(catalog)):
            if backoff is not None and backoff[0] > self.clock():
                raise CatalogRequestError(backoff[1])
        try:
            async with asyncio.timeout(self.session.timeout.total) as deadline:
                response = await self._get(_Request(url, receiver, deadline))
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            message = f"catalogd does not answer ({_error_summary(error)})"
            if isinstance(error, TimeoutError):
                self._back_off(server, TIMEOUT_BACKOFF_SECONDS, message)
            raise CatalogRequestError(message) from error
        if isinstance(response, CatalogResponse):
            return response
        message = f"catalogd answered {response.status}"
        # 503 concerns one catalog: the others are served.
        self._back_off(catalog if response.status == 503 else server, response.retry_after, message)
        raise CatalogRequestError(message)

    async def _get(self, request: _Request) -> CatalogResponse | RetryableResponse:
        """The first final response of at most MAX_REPLICA_ATTEMPTS; else a summary that does not depend on their order."""
        retryable: list[RetryableResponse] = []
        session = self.session
        while len(retryable) < MAX_REPLICA_ATTEMPTS:
            if retryable:
                await asyncio.sleep(REPLICA_RETRY_DELAY_SECONDS)
                session = self._unpooled()
            response = await self._trusted_get(session, request)
            if isinstance(response, CatalogResponse):
                return response
            retryable.append(response)
        return RetryableResponse(max(one.status for one in retryable), min(one.retry_after for one in retryable))

    def _back_off(self, what: str, seconds: float, message: str) -> None:
        now = self.clock()
        self._backoffs = {key: entry for key, entry in self._backoffs.items() if entry[0] > now}
        self._backoffs[what] = (now + seconds, message)

    async def _trusted_get(
        self, session: aiohttp.ClientSession, request: _Request
    ) -> CatalogResponse | RetryableResponse:
        """One request, and a second one if the certificate is not trusted and the CAs have changed since they were read."""
        context = await self._context()
        try:
            return await self._get_once(session, request, context)
        except aiohttp.ClientConnectorCertificateError as error:
            reloaded = await self._context(after_failure=True)
            if reloaded is context:
                raise CatalogRequestError(UNTRUSTED_CERTIFICATE) from error
        try:
            return await self._get_once(session, request, reloaded)
        except aiohttp.ClientConnectorCertificateError as error:
            raise CatalogRequestError(UNTRUSTED_CERTIFICATE) from error

    async def _get_once(
        self, session: aiohttp.ClientSession, request: _Request, context: ssl.SSLContext | None
    ) -> CatalogResponse | RetryableResponse:
        options: dict[str, Any] = {} if context is None else {"ssl": context}
        # The time of the whole request is limited by the deadline, which the body may extend.
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=session.timeout.sock_connect)
        async with session.get(
            request.url,
            allow_redirects=False,
            auto_decompress=False,
            headers=await self._headers(request.url),
            timeout=timeout,
            **options,
        ) as answer:
            if answer.status in (429, 503):
                return RetryableResponse(answer.status, _parse_retry_after(answer.headers.get("Retry-After", "")))
            response = _read_header(answer)
            if request.receiver.accepts(response):
                request.deadline.reschedule(asyncio.get_running_loop().time() + BODY_TIMEOUT_SECONDS)
                async for chunk in answer.content.iter_chunked(READ_BYTES):
                    await request.receiver.write(chunk)
            return response

    async def _context(self, *, after_failure: bool = False) -> ssl.SSLContext | None:
        return await self.trust.context(after_failure=after_failure) if self.trust is not None else None

    async def _headers(self, url: str) -> dict[str, str]:
        headers = {"Accept-Encoding": ACCEPTED_ENCODING}
        if self.client is not None and url.startswith("https://") and (token := await self.client.bearer_token()):
            headers["Authorization"] = f"Bearer {token}"
        return headers

    def _unpooled(self) -> aiohttp.ClientSession:
        """A session that opens a connection for each request."""
        if self._unpooled_session is None:
            connector = aiohttp.TCPConnector(force_close=True)
            self._unpooled_session = aiohttp.ClientSession(connector=connector, timeout=self.session.timeout)
        return self._unpooled_session


@dataclass(frozen=True)
class _Request:
    """One call of CatalogSession.get()."""

    url: str
    receiver: BodyReceiver
    deadline: asyncio.Timeout


def _read_header(answer: aiohttp.ClientResponse) -> CatalogResponse:
    headers = answer.headers
    is_chunked = headers.get("Transfer-Encoding", "").lower() == "chunked"
    return CatalogResponse(
        answer.status,
        headers.get("Olm-Catalog-Digest", ""),
        headers.get("Content-Encoding", "identity").lower(),
        is_chunked or answer.content_length is not None,
        "Olm-Catalog-Packages" in headers,
    )


def _parse_retry_after(retry_after: str) -> int:
    """Seconds of a Retry-After header. A date, which catalogd never sends, counts as 0."""
    is_number = retry_after.isascii() and retry_after.isdigit() and len(retry_after) < 10
    return min(int(retry_after), MAX_RETRY_AFTER_SECONDS) if is_number else 0


def _error_summary(error: Exception) -> str:
    """The kind of error, without addresses."""
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, aiohttp.ClientSSLError):
        return "no TLS connection"
    if isinstance(error, aiohttp.ClientConnectorError):
        return "no connection"
    return type(error).__name__
