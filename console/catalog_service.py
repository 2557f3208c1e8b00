"""Reads of catalogd's Service, for a console in the same cluster: without the detour by the API server's proxy, which only
people with permissions for Services may use.

Follows no redirect. A token is sent only if catalogd asks for one, over HTTPS.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import aiohttp

from olmkit.api.meta import Object
from olmkit.errors import Forbidden, Unavailable
from olmkit.runtime.client import parse_object, read_body
from olmkit.tls.client_tls import ClientTls

TIMEOUT = aiohttp.ClientTimeout(total=30, sock_connect=3)
UNAUTHORIZED = 401
KNOWN_SECONDS = 60.0
"""The time after an answer for which catalogd is known to ask for a token, or not to."""


class CatalogService:
    """catalogd at a URL such as https://catalogd-catalogserver.olm-suite-system.svc. close() it."""

    def __init__(self, url: str, trust: ClientTls, clock: Callable[[], float] = time.monotonic) -> None:
        self._url = url.rstrip("/")
        self._trust = trust
        self._clock = clock
        self._session: aiohttp.ClientSession | None = None
        self._asked_for_token: bool | None = None
        self._asked_until = 0.0

    @property
    def asks_for_token(self) -> bool | None:
        """True if the last answer needed a token: catalogd then decides by it who may read what. None if there was no answer for
        a while, because it may have been started with other flags since."""
        return self._asked_for_token if self._clock() < self._asked_until else None

    async def get(self, target: str, token: str) -> Object:
        """The JSON object at a path, for the user of a token. Raises ApiError."""
        try:
            try:
                status, found = await self._get(target, {})
            except aiohttp.ClientSSLError:  # the CA may be another one, or published only now
                await self._trust.context(after_failure=True)
                status, found = await self._get(target, {})
            self._asked_for_token = status == UNAUTHORIZED
            self._keep_known()
            if status == UNAUTHORIZED and token and self._url.startswith("https:"):
                status, found = await self._get(target, {"Authorization": f"Bearer {token}"})
        except aiohttp.ClientSSLError as error:
            text = "the certificate of catalogd is not by a CA that the console trusts (--catalogs-ca-file)"
            raise Unavailable(0, "NotTrusted", text) from error
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            self._keep_known()  # it is away: what is kept stays open to those to whom it was
            raise Unavailable(0, "NoAnswer", f"no answer from catalogd ({type(error).__name__})") from error
        if status == UNAUTHORIZED:
            raise Forbidden(UNAUTHORIZED, "Unauthorized", "catalogd requires a token")
        return found

    def _keep_known(self) -> None:
        self._asked_until = self._clock() + KNOWN_SECONDS

    async def _get(self, target: str, headers: dict[str, str]) -> tuple[int, Object]:
        if self._session is None:
            self._session = aiohttp.ClientSession(timeout=TIMEOUT)
        request = self._session.get(
            self._url + target, headers=headers, ssl=await self._trust.context(), allow_redirects=False
        )
        async with request as response:
            if response.status == UNAUTHORIZED and not headers:
                return response.status, {}
            if 300 <= response.status < 400:
                raise Unavailable(
                    response.status, "Redirect", "catalogd leads to another address, which is not followed"
                )
            return response.status, parse_object(await read_body(response))

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()
