"""The client of a command: repeats a request that the API server has refused for a moment, where a repetition does no harm.

Controllers do not use it: their queues and informers repeat. It never repeats what may have had an effect that a second request
would add to, nor what a Service or pod answers through the API server's proxy: its caller knows what that means.
"""

from __future__ import annotations

import asyncio
import itertools
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import aiohttp

from olmkit.api.meta import Object
from olmkit.errors import ApiError, Unavailable
from olmkit.runtime.backoff import Backoff, retry_delay
from olmkit.runtime.client import HANDSHAKE_FAILED, Client, Query

MAX_WAIT_SECONDS = 60.0
"""The time that one request waits for in all. One that should be repeated only after a longer time fails at once."""
BACKOFF = Backoff(first=0.1, cap=1.0)
"""The delay before a request is repeated, if Retry-After is shorter."""
MAX_HANDSHAKES = 5
"""The number of times that a websocket is asked for while the API server does not reach the kubelet."""
JSON_PATCH = "application/json-patch+json"
_TOO_MANY_REQUESTS = 429
"""Sent before the request is carried out, also for a kind of which the CRD has just been created."""
_SERVER_ERROR = 500
_NOT_IDEMPOTENT = frozenset({("POST", None), ("PATCH", JSON_PATCH)})
_PROXIED = re.compile(r"/(?:services|pods)/[^/]+/proxy(?:/|$)")


class RetryingClient(Client):
    """A Client that repeats requests which the API server refuses with Retry-After: all that it has not carried out (429), and
    idempotent ones also after a 5xx. A websocket is asked for again after a 5xx: nothing has been sent over it."""

    unanswered = 0
    """The number of requests that have no answer, also after they were cancelled."""

    async def request(self, method: str, path: str, **options: Any) -> Object:
        """As Client.request. Raises Unavailable when a repetition would come after MAX_WAIT_SECONDS."""
        waited = 0.0
        for failures in itertools.count(1):
            try:
                return await self._request_once(method, path, options)
            except Unavailable as error:
                delay = retry_delay(error, BACKOFF.delay(failures))
                waited += delay
                if waited > MAX_WAIT_SECONDS or not _may_repeat(error, method, path, options.get("content_type")):
                    raise
            await asyncio.sleep(delay)
        raise AssertionError("a request is repeated without end")

    @asynccontextmanager
    async def websocket(self, path: str, protocol: str, query: Query) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
        """As Client.websocket. Raises ApiError when MAX_HANDSHAKES of them have failed."""
        async with AsyncExitStack() as stack:
            yield await self._opened(stack, path, protocol, query)

    async def _opened(
        self, stack: AsyncExitStack, path: str, protocol: str, query: Query
    ) -> aiohttp.ClientWebSocketResponse:
        for failures in itertools.count(1):
            try:
                return await stack.enter_async_context(super().websocket(path, protocol, query))
            except ApiError as error:
                is_final = error.reason != HANDSHAKE_FAILED or error.status < _SERVER_ERROR
                if is_final or failures == MAX_HANDSHAKES:
                    raise
            await asyncio.sleep(BACKOFF.delay(failures))
        raise AssertionError("a handshake is repeated without end")

    async def _request_once(self, method: str, path: str, options: dict[str, Any]) -> Object:
        self.unanswered += 1
        try:
            answer = await super().request(method, path, **options)
        except Exception:
            self.unanswered -= 1
            raise
        self.unanswered -= 1
        return answer


def _may_repeat(error: Unavailable, method: str, path: str, content_type: str | None) -> bool:
    if error.retry_after is None or error.retry_after > MAX_WAIT_SECONDS or _PROXIED.search(path):
        return False
    return error.status == _TOO_MANY_REQUESTS or (method, content_type) not in _NOT_IDEMPOTENT
