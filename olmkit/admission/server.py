"""The HTTPS server that answers the API server's AdmissionReviews, one path per webhook.

Started by olmkit.admission.setup on every replica: whoever leads, each one answers. Knows no kind; the validators decide what is
allowed. It asks for no client certificate, as the API server shows none by default: a validator must not tell more than every
pod of the cluster may know. Never writes.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Mapping

from aiohttp import web

from olmkit.admission.review import AdmissionRequest, BadReview, Denial, answer, parse_review
from olmkit.runtime.listener.application_server import ApplicationServer
from olmkit.runtime.listener.connections import (
    ConnectionLimits,
    connection_limit_middleware,
    connection_tracking_middleware,
)
from olmkit.runtime.listener.http_errors import HTTPError, json_errors_middleware

CONNECTION_LIMITS = ConnectionLimits(max_connections=64)
"""Limits of the port. An API server keeps a few connections."""
MAX_REVIEW_BYTES = 4 * 1024 * 1024
"""Bytes of a review: the object before and after a change, each of which etcd limits to 1.5 MiB."""
READ_SECONDS = 5.0
"""How long the body of a review may take: a client that sends none must not keep a connection."""
MAX_CONCURRENT_REVIEWS = 8
"""Reviews that are parsed and answered at once. A review may take many times its size in memory, and may come from anyone."""
SHUTDOWN_GRACE_SECONDS = 5.0
"""How long requests in progress may continue when the server ends."""

Validate = Callable[[AdmissionRequest], Awaitable[Denial | None]]
"""Allows the request (None), or says why it is denied. What it raises is answered with 500: the failurePolicy then decides."""


class AdmissionServer:
    """`webhooks`: path -> validator; `process` is whose log has more about an unexpected error."""

    def __init__(self, process: str, webhooks: Mapping[str, Validate]) -> None:
        application = web.Application(
            middlewares=[
                connection_tracking_middleware,
                json_errors_middleware(process, {}),
                connection_limit_middleware,
            ],
            client_max_size=MAX_REVIEW_BYTES,
        )
        limit = asyncio.Semaphore(MAX_CONCURRENT_REVIEWS)
        for path, validate in webhooks.items():
            application.router.add_post(path, _handler(validate, limit))
        self._application = application
        self._server: ApplicationServer | None = None

    async def start(self, address: str, ssl_context: ssl.SSLContext) -> int:
        """Listen on `host:port`; returns the port. Raises OlmError when it cannot listen."""
        self._server = ApplicationServer(
            "webhooks",
            self._application,
            CONNECTION_LIMITS,
            shutdown_grace_seconds=SHUTDOWN_GRACE_SECONDS,
            ssl_context=ssl_context,
        )
        return await self._server.start(address)

    async def close(self) -> None:
        """Accept no more requests, and wait up to SHUTDOWN_GRACE_SECONDS for those in progress."""
        if self._server is not None:
            await self._server.close()


def _handler(validate: Validate, limit: asyncio.Semaphore) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def review(request: web.Request) -> web.Response:
        body = await _read(request)
        async with limit:
            try:
                asked = parse_review(body)
            except BadReview as error:
                raise HTTPError(400, str(error)) from error
            result = answer(asked, await validate(asked))
        return web.Response(body=result, content_type="application/json")

    return review


async def _read(request: web.Request) -> bytes:
    try:
        async with asyncio.timeout(READ_SECONDS):
            return await request.read()
    except TimeoutError:
        raise HTTPError(408, f"the body did not come within {READ_SECONDS:g} s", {"Connection": "close"}) from None
