"""HTTP for sources: GET and HEAD with redirects followed by hand, so that every hop is judged like the first.

Used by registry.py. At most 5 hops, http and https only, never from https down to http, no header of authorization across hosts,
addresses by SourceAddresses at connect time. Driver errors end here: what is raised is Waiting with a sentence about the host.
"""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from types import TracebackType
from typing import Self

import aiohttp
from yarl import URL

from olmkit.errors import Waiting
from olmkit.sources.addresses import AddressGuard, AddressRefused
from olmkit.sources.errors import SOON, Reason, unavailable
from olmkit.sources.registries import Endpoint, Patience, Registries

HOPS = 5
REDIRECTS = frozenset({301, 302, 303, 307, 308})
CHUNK = 256 * 1024
REFUSED_AGAIN = timedelta(minutes=5)


class NoAnswer(Waiting):
    """Nothing that could be read came back; `spoke_otherwise` when it may be a server of another scheme."""

    spoke_otherwise = False


@dataclass(frozen=True)
class Answer:
    """A status line, headers and a body that is read by chunks; `who` names the host in sentences."""

    response: aiohttp.ClientResponse
    who: str
    patience: Patience

    @property
    def status(self) -> int:
        """The HTTP status, never one of a redirect."""
        return self.response.status

    def header(self, name: str) -> str:
        """ "" when it is missing."""
        return self.response.headers.get(name, "")

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body as it arrives. Raises Waiting when it stops, breaks off or trickles."""
        window, arrived = time.monotonic(), 0
        try:
            async for chunk in self.response.content.iter_chunked(CHUNK):
                arrived += len(chunk)
                now = time.monotonic()
                if now - window > self.patience.slow_after:
                    if arrived < self.patience.slow_bytes:
                        raise unavailable(f"{self.who} sends too slowly ({self.patience.rate})")
                    window, arrived = now, 0
                yield chunk
        except (aiohttp.ClientError, TimeoutError, ConnectionError) as error:
            raise _no_answer(error, self.who, self.patience) from error

    async def read(self, limit: int) -> bytes | None:
        """The whole body, None when it is larger than `limit` bytes."""
        data = bytearray()
        async for chunk in self.chunks():
            data += chunk
            if len(data) > limit:
                return None
        return bytes(data)


class Transport:
    """Connections of one pull. An async context manager; requests are made one at a time."""

    def __init__(self, registries: Registries) -> None:
        self._registries = registries
        self._patience = registries.patience
        self._guard = AddressGuard(registries.addresses)
        self._sessions: dict[tuple[bool, bool], aiohttp.ClientSession] = {}
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    @asynccontextmanager
    async def open(
        self, method: str, url: URL, endpoint: Endpoint, headers: Mapping[str, str]
    ) -> AsyncIterator[Answer]:
        """The answer after redirects, whatever its status. Raises Waiting."""
        at = url
        async with AsyncExitStack() as hop:
            for _ in range(HOPS + 1):
                kept = headers if at.origin() == url.origin() else _without_authorization(headers)
                response = await hop.enter_async_context(self._request(method, at, endpoint, kept))
                if response.status not in REDIRECTS:
                    yield Answer(response, _who(at, endpoint), self._patience)
                    return
                at = _target(response, at, endpoint)
                await hop.aclose()
        raise unavailable(f"registry {endpoint.host} redirects more than {HOPS} times")

    @asynccontextmanager
    async def _request(
        self, method: str, url: URL, endpoint: Endpoint, headers: Mapping[str, str]
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        session = self._session(url, endpoint)
        self._guard.refused.clear()
        try:
            response = await session.request(method, url, headers=headers, allow_redirects=False)
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            who = _who(url, endpoint)
            if self._guard.refused:
                what = min(self._guard.refused)
                text = f"{who} has {what}: such addresses are refused unless --allow-source-cidr names them"
                raise AddressRefused(Reason.ADDRESS_REFUSED, text, REFUSED_AGAIN) from error
            raise _no_answer(error, who, self._patience) from error
        async with response:
            yield response

    def _session(self, url: URL, endpoint: Endpoint) -> aiohttp.ClientSession:
        """Sessions differ in whether addresses are judged and certificates verified."""
        own = authority(url) == endpoint.host
        configured = (own and endpoint.configured) or self._registries.is_configured(authority(url))
        key = (configured, own and endpoint.insecure)
        if key not in self._sessions:
            # connect covers lookup, TCP and TLS; sock_read each wait for bytes.
            timeout = aiohttp.ClientTimeout(total=None, connect=self._patience.connect, sock_read=self._patience.read)
            guard = None if configured else self._guard
            session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(ssl=not key[1], socket_factory=guard),
                timeout=timeout,
                headers={"User-Agent": "olm-suite", "Accept-Encoding": "identity"},
                auto_decompress=False,
                cookie_jar=aiohttp.DummyCookieJar(),
            )
            self._stack.push_async_callback(session.close)
            self._sessions[key] = session
        return self._sessions[key]


def authority(url: URL) -> str:
    """Host, with the port when it was given."""
    host = url.host_subcomponent or ""
    return f"{host}:{url.explicit_port}" if url.explicit_port is not None else host


def _target(response: aiohttp.ClientResponse, at: URL, endpoint: Endpoint) -> URL:
    location = response.headers.get("Location", "")
    try:
        target = at.join(URL(location)).with_user(None).with_fragment(None)
    except ValueError:
        target = URL()
    if not location or target.scheme not in ("http", "https") or not target.host:
        raise unavailable(f"registry {endpoint.host} redirects to what is no http or https address")
    if at.scheme == "https" and target.scheme == "http" and not endpoint.insecure:
        raise unavailable(
            f"registry {endpoint.host} redirects from https to http, to {authority(target)}, which is refused"
        )
    return target


def _without_authorization(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name.lower() != "authorization"}


def _who(url: URL, endpoint: Endpoint) -> str:
    host = authority(url)
    return f"registry {host}" if host == endpoint.host else f"{host}, where registry {endpoint.host} sends us,"


def _no_answer(error: Exception, who: str, patience: Patience) -> NoAnswer:
    said = NoAnswer(Reason.UNAVAILABLE, f"{who} {_words(error, patience)}", SOON)
    said.spoke_otherwise = isinstance(error, aiohttp.ClientSSLError | aiohttp.ClientConnectorError) and not isinstance(
        error, aiohttp.ClientConnectorDNSError
    )
    return said


def _words(error: Exception, patience: Patience) -> str:
    match error:
        case aiohttp.ClientConnectorDNSError():
            return "cannot be looked up: no such host"
        case aiohttp.ClientConnectorCertificateError():
            why = getattr(error.certificate_error, "verify_message", "") or "it does not verify"
            return f"shows a certificate that is not trusted: {why}"
        case aiohttp.ClientSSLError():
            return "does not speak TLS (a registry without TLS must be insecure in registries.conf)"
        case aiohttp.ConnectionTimeoutError():
            return f"does not answer: no connection within {patience.connect:g} s"
        case TimeoutError():
            return f"does not answer: nothing within {patience.read:g} s"
        case aiohttp.ClientConnectorError():
            return f"does not answer: {_strerror(error.os_error)}"
        case aiohttp.ClientResponseError():
            return "answers with what is no HTTP"
        case _:
            return "broke off in the middle of an answer"


def _strerror(error: OSError) -> str:
    # By number: asyncio's own text names the address and the port it tried.
    return os.strerror(error.errno).lower() if error.errno else "no connection"
