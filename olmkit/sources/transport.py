"""HTTP for sources. Redirects are followed here and not by aiohttp, so that each hop is checked like the first request.

At most 5 redirects, to http and https only, never from https to http. Headers with credentials are sent to the origin (scheme,
host and port) of the first request only, and requests with a body are not redirected. Addresses are checked when a connection is
made; through a proxy, the host of the URL is checked. Errors of aiohttp become Waiting with a message about the server
(transport_errors.py).
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from http import HTTPStatus
from types import TracebackType
from typing import IO, Self

import aiohttp
from yarl import URL

from olmkit.errors import Waiting
from olmkit.sources.addresses import REFUSED_ADDRESS_HINT, AddressGuard, AddressRefused, literal_address
from olmkit.sources.errors import RETRY_DELAY, SourceReason, unavailable
from olmkit.sources.network import Endpoint, Network, Timeouts
from olmkit.sources.proxies import Proxy
from olmkit.sources.transport_errors import describe_error, proxy_authentication_hint

MAX_REDIRECTS = 5
REDIRECT_STATUSES = frozenset({301, 302, 303, 307, 308})
CREDENTIAL_HEADERS = frozenset({"authorization", "cookie", "proxy-authorization"})
CHUNK_BYTES = 1024 * 1024
MAX_RETRY_AFTER = timedelta(minutes=5)
ADDRESS_RETRY_DELAY = timedelta(minutes=5)

Body = Mapping[str, str] | bytes | Callable[[], IO[bytes]] | None
"""The body of a request: a form, bytes, or a function that opens a stream of them, which is closed when it is sent."""


class NoResponse(Waiting):
    """There was no valid response. `spoke_otherwise`: the server may speak another scheme, such as http instead of https.
    `has_answered`: it has sent something that is no valid response."""

    spoke_otherwise = False
    has_answered = False


@dataclass(frozen=True)
class HttpResponse:
    """A status, headers and a body that is read in chunks. `url` is the final one, after redirects; messages name `server`."""

    response: aiohttp.ClientResponse
    url: URL
    server: str
    timeouts: Timeouts

    @property
    def status(self) -> int:
        """The HTTP status; never that of a redirect."""
        return self.response.status

    def header(self, name: str) -> str:
        """ "" when it is missing."""
        return self.response.headers.get(name, "")

    def headers(self, name: str) -> list[str]:
        """All values of a header that may come several times."""
        return list(self.response.headers.getall(name, []))

    def unexpected(self) -> Waiting:
        """The error for an unexpected status; for 429 with the delay of Retry-After."""
        if self.status == HTTPStatus.TOO_MANY_REQUESTS:
            after = _retry_after(self.header("Retry-After"))
            return unavailable(f"{self.server} asks to slow down (429 Too Many Requests)", after)
        return unavailable(f"{self.server} answered {status_phrase(self.status)}")

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body in chunks of up to 1 MiB. Raises Waiting when it stalls, ends early or is too slow."""
        window, arrived = time.monotonic(), 0
        try:
            async for chunk in self.response.content.iter_chunked(CHUNK_BYTES):
                arrived += len(chunk)
                now = time.monotonic()
                if now - window > self.timeouts.min_rate_window:
                    if arrived < self.timeouts.min_rate_bytes:
                        raise unavailable(f"{self.server} sends too slowly ({self.timeouts.min_rate})")
                    window, arrived = now, 0
                yield chunk
        except (aiohttp.ClientError, TimeoutError, ConnectionError) as error:
            raise _no_response(error, self.server, self.timeouts) from error

    async def read(self, limit: int) -> bytes | None:
        """The whole body, None when it is larger than `limit` bytes.

        Raises Waiting, also for a compressed body: it was not requested, and could decompress to more than the limit.
        """
        coding = self.header("Content-Encoding").strip().lower()
        if coding not in ("", "identity"):
            raise unavailable(f"{self.server} sent a compressed response that was not requested")
        data = bytearray()
        async for chunk in self.chunks():
            data += chunk
            if len(data) > limit:
                return None
        return bytes(data)


@dataclass(frozen=True)
class _Route:
    """The route to an origin. Origins with equal routes share a session."""

    checked: bool
    """True if the address is checked before connecting."""
    verified: bool
    """True if its certificate is verified."""
    proxy: Proxy | None


class Transport:
    """The connections of one fetch. An async context manager; it makes one request at a time."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._timeouts = network.timeouts
        self._guard = AddressGuard(network.addresses)
        self._sessions: dict[_Route, aiohttp.ClientSession] = {}
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    @asynccontextmanager
    async def open(
        self,
        method: str,
        url: URL,
        endpoint: Endpoint,
        headers: Mapping[str, str],
        form: Body = None,
    ) -> AsyncIterator[HttpResponse]:
        """The response after redirects, whatever its status. `form` is a body; a request with one is not redirected.

        Raises Waiting.
        """
        current = url
        async with AsyncExitStack() as hop:
            for _ in range(MAX_REDIRECTS + 1):
                response = await hop.enter_async_context(self._request(method, current, endpoint, headers, form))
                if response.status not in REDIRECT_STATUSES:
                    yield HttpResponse(response, current, _server_name(current, endpoint), self._timeouts)
                    return
                if form is not None:
                    raise unavailable(
                        f"{_server_name(current, endpoint)} redirects a request with a body, which is refused"
                    )
                target = _redirect_target(response, current, endpoint)
                if target.origin() != current.origin():
                    headers = _without_credentials(headers)
                current = target
                await hop.aclose()
        raise unavailable(f"{endpoint.display_name} redirects more than {MAX_REDIRECTS} times")

    @asynccontextmanager
    async def _request(
        self,
        method: str,
        url: URL,
        endpoint: Endpoint,
        headers: Mapping[str, str],
        form: Body,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        route, server = self._route(url, endpoint), _server_name(url, endpoint)
        self._guard.refused.clear()
        self._check_host(route, url, server)
        try:
            # Limits the time for the headers too.
            async with asyncio.timeout(self._timeouts.connect + self._timeouts.read):
                response = await self._send(route, method, url, headers, form)
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            if self._guard.refused:
                raise _address_refused(server, min(self._guard.refused)) from error
            raise _no_response(error, server, self._timeouts, route.proxy, is_tls=url.scheme == "https") from error
        async with response:
            if route.proxy is not None and response.status == 407:
                raise unavailable(f"{server} cannot be reached: {proxy_authentication_hint(route.proxy)}")
            yield response

    async def _send(
        self, route: _Route, method: str, url: URL, headers: Mapping[str, str], form: Body
    ) -> aiohttp.ClientResponse:
        session = self._session(route)
        data = form() if callable(form) else form
        if route.proxy is None:
            return await session.request(method, url, headers=headers, data=data, allow_redirects=False)
        login = {"Proxy-Authorization": route.proxy.authorization} if route.proxy.authorization else {}
        # For http the proxy reads the request itself, for https only CONNECT.
        headers = headers if url.scheme == "https" else {**headers, **login}
        return await session.request(
            method, url, headers=headers, data=data, allow_redirects=False, proxy=route.proxy.url, proxy_headers=login
        )

    def _check_host(self, route: _Route, url: URL, server: str) -> None:
        """Check the host of the URL when it is an address or when a proxy resolves it. The guard checks the other addresses."""
        if route.checked and (route.proxy is not None or literal_address(url.host or "") is not None):
            what = self._network.addresses.refusal_of_host(url.host or "", url.port or 0)
            if what is not None:
                raise _address_refused(server, what)

    def _route(self, url: URL, endpoint: Endpoint) -> _Route:
        own = authority(url) == endpoint.host
        configured = (own and endpoint.configured) or self._network.is_configured(authority(url))
        proxy = self._network.proxies.choose(url.scheme, url.host or "", url.port or 0)
        return _Route(checked=not configured, verified=not (own and endpoint.insecure), proxy=proxy)

    def _context(self, route: _Route) -> ssl.SSLContext | bool:
        """The ssl argument of aiohttp: True is the context that aiohttp made at import, which saves each job 30 ms."""
        if route.verified and not self._network.ca_bundle.authorities:
            return True
        return self._network.ca_bundle.context(verified=route.verified)

    def _session(self, route: _Route) -> aiohttp.ClientSession:
        if route not in self._sessions:
            # connect covers DNS, TCP and TLS; sock_read covers each wait for bytes.
            timeout = aiohttp.ClientTimeout(total=None, connect=self._timeouts.connect, sock_read=self._timeouts.read)
            # The address of the proxy is configuration and is not checked.
            guard = self._guard if route.checked and route.proxy is None else None
            session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(ssl=self._context(route), socket_factory=guard),
                timeout=timeout,
                headers={"User-Agent": "olm-suite", "Accept-Encoding": "identity"},
                auto_decompress=False,
                cookie_jar=aiohttp.DummyCookieJar(),
                read_bufsize=CHUNK_BYTES,
            )
            self._stack.push_async_callback(session.close)
            self._sessions[route] = session
        return self._sessions[route]


def authority(url: URL) -> str:
    """The host, with the port when the URL has one."""
    host = url.host_subcomponent or ""
    return f"{host}:{url.explicit_port}" if url.explicit_port is not None else host


def _redirect_target(response: aiohttp.ClientResponse, current: URL, endpoint: Endpoint) -> URL:
    location = response.headers.get("Location", "")
    try:
        target = current.join(URL(location)).with_user(None).with_fragment(None)
    except ValueError:
        target = URL()
    if not location or target.scheme not in ("http", "https") or not target.host:
        raise unavailable(f"{endpoint.display_name} redirects to an address that is not http or https")
    if current.scheme == "https" and target.scheme == "http" and not endpoint.insecure:
        raise unavailable(
            f"{endpoint.display_name} redirects from https to http, to {authority(target)}, which is refused"
        )
    return target


def status_phrase(status: int) -> str:
    """Code and phrase, such as 503 Service Unavailable."""
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def _retry_after(text: str) -> timedelta:
    """Retry-After, limited to between RETRY_DELAY and MAX_RETRY_AFTER."""
    seconds = int(text) if text.isascii() and text.isdigit() and len(text) < 6 else 60
    return max(RETRY_DELAY, min(timedelta(seconds=seconds), MAX_RETRY_AFTER))


def _without_credentials(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name.lower() not in CREDENTIAL_HEADERS}


def _server_name(url: URL, endpoint: Endpoint) -> str:
    host = authority(url)
    return endpoint.display_name if host == endpoint.host else f"{host}, to which {endpoint.display_name} redirects,"


def _address_refused(server: str, what: str) -> AddressRefused:
    return AddressRefused(
        SourceReason.ADDRESS_REFUSED, f"{server} has {what}: {REFUSED_ADDRESS_HINT}", ADDRESS_RETRY_DELAY
    )


def _no_response(
    error: Exception, server: str, timeouts: Timeouts, proxy: Proxy | None = None, *, is_tls: bool = False
) -> NoResponse:
    text = f"{server} {describe_error(error, timeouts, proxy, is_tls=is_tls)}"
    no_response = NoResponse(SourceReason.UNAVAILABLE, text, RETRY_DELAY)
    no_response.spoke_otherwise = isinstance(
        error, aiohttp.ClientSSLError | aiohttp.ClientConnectorError
    ) and not isinstance(error, aiohttp.ClientConnectorDNSError | aiohttp.ClientProxyConnectionError)
    no_response.has_answered = isinstance(error, aiohttp.ClientResponseError) and not isinstance(
        error, aiohttp.ClientHttpProxyError
    )
    return no_response
