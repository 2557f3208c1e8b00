"""One question to catalogd over HTTP or HTTPS: whom to trust, which token to send, and which replica to ask next.

Used by catalog_client.py. Follows no redirect. Raises Unreadable with a sentence for people that holds no address, for addresses
change.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from olmkit.client import Client
from olmkit.serving.trust import Trust

TIMEOUT = aiohttp.ClientTimeout(total=10, sock_connect=3)
SIZE_LIMIT = 32 * 1024 * 1024
"""Bytes of one document; the largest real one has 300,000."""
DOWN_SECONDS = 10.0
"""How long a server that was silent is not asked again: hundreds of Operators would each wait for their time limit."""
REPLICAS_ASKED = 6
"""How often a server that says "not here yet" is asked, each time over a new connection, which the Service may lead elsewhere."""
PAUSE_SECONDS = 0.05
UNTRUSTED = (
    "catalogd's certificate is not trusted: name its CA with --catalogs-ca-file, "
    "or see that the ConfigMap catalogd-ca holds it"
)


class Unreadable(Exception):
    """Why there is no answer, for people."""


@dataclass(frozen=True)
class Answered:
    """What came back."""

    status: int
    digest: str
    body: bytearray


@dataclass
class CatalogServers:
    """Asks over `session`; close() it. `trust` None: the system's CAs; `client`: its token is sent to HTTPS servers."""

    session: aiohttp.ClientSession
    trust: Trust | None = None
    client: Client | None = None
    _fresh: aiohttp.ClientSession | None = None
    _down: dict[str, tuple[float, str]] = field(default_factory=dict)

    async def close(self) -> None:
        """Close all connections."""
        await self.session.close()
        if self._fresh is not None:
            await self._fresh.close()

    async def get(self, server: str, url: str) -> Answered:
        """The answer for `url`, which is on `server`. Raises Unreadable."""
        down = self._down.get(server)
        if down is not None and down[0] > time.monotonic():
            raise Unreadable(down[1])
        try:
            async with asyncio.timeout(self.session.timeout.total):
                return await self._get(url)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            message = f"catalogd does not answer ({_kind_of(error)})"
            if isinstance(error, TimeoutError):
                self._down[server] = (time.monotonic() + DOWN_SECONDS, message)
            raise Unreadable(message) from error

    async def _get(self, url: str) -> Answered:
        """Ask until a replica has it, REPLICAS_ASKED times at most."""
        answered = await self._trusted_get(self.session, url)
        for _ in range(REPLICAS_ASKED - 1):
            if answered is not None:
                return answered
            await asyncio.sleep(PAUSE_SECONDS)
            answered = await self._trusted_get(self._new_connections(), url)
        if answered is None:
            raise Unreadable("catalogd answered 503")
        return answered

    async def _trusted_get(self, session: aiohttp.ClientSession, url: str) -> Answered | None:
        """Ask once, and once more if CAs have changed since they were looked at."""
        context = await self._context()
        try:
            return await self._get_once(session, url, context)
        except aiohttp.ClientConnectorCertificateError as error:
            again = await self._context(after_failure=True)
            if again is context:
                raise Unreadable(UNTRUSTED) from error
        try:
            return await self._get_once(session, url, again)
        except aiohttp.ClientConnectorCertificateError as error:
            raise Unreadable(UNTRUSTED) from error

    async def _get_once(
        self, session: aiohttp.ClientSession, url: str, context: ssl.SSLContext | None
    ) -> Answered | None:
        """None when this replica has nothing yet and another one may."""
        options: dict[str, Any] = {} if context is None else {"ssl": context}
        async with session.get(url, allow_redirects=False, headers=await self._headers(url), **options) as response:
            if response.status == 503 and "Retry-After" in response.headers:
                return None
            return Answered(response.status, response.headers.get("Olm-Catalog-Digest", ""), await _body(response))

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


def _kind_of(error: Exception) -> str:
    """What went wrong without addresses, which change."""
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, aiohttp.ClientSSLError):
        return "no TLS connection"
    if isinstance(error, aiohttp.ClientConnectorError):
        return "no connection"
    return type(error).__name__


async def _body(response: aiohttp.ClientResponse) -> bytearray:
    body = bytearray()
    async for chunk in response.content.iter_chunked(65536):
        body += chunk
        if len(body) > SIZE_LIMIT:
            raise Unreadable(f"catalogd's answer is larger than {SIZE_LIMIT} bytes")
    return body
