"""The HTTPS server that answers the API server's AdmissionReviews, one path per webhook.

Runs on every replica: whoever leads, each one answers. Knows no kind; the validators decide what is
allowed. It asks for no client certificate, as the API server shows none by default: a validator must not tell more than every
pod of the cluster may know. Never writes.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Awaitable, Callable, Mapping

from aiohttp import web

from olmkit.admission.ca_bundle import WEBHOOK_CONFIGURATIONS, CaBundleWriter
from olmkit.admission.review import AdmissionRequest, BadReview, Denial, answer, parse_review
from olmkit.runtime.listener.application_server import ApplicationServer
from olmkit.runtime.listener.http_errors import HTTPError, body_too_long, json_errors_middleware
from olmkit.runtime.listener.listener import (
    ConnectionLimits,
    connection_limit_middleware,
    connection_tracking_middleware,
)
from olmkit.runtime.manager import Manager
from olmkit.runtime.probes import DISABLED_ADDRESS
from olmkit.tls.peers import Peers
from olmkit.tls.service import TlsService
from olmkit.tls.setup import webhook_serving

MAX_REVIEW_BYTES = 4 * 1024 * 1024
"""Bytes of a review: the object before and after a change, each of which etcd limits to 1.5 MiB."""
CONNECTION_LIMITS = ConnectionLimits(max_connections=64, max_body_bytes=MAX_REVIEW_BYTES)
"""Limits of the port. An API server keeps a few connections."""
LARGE_REVIEW_BYTES = 128 * 1024
"""A review that is longer, or does not say how long it is, is read only while it is one of MAX_CONCURRENT_REVIEWS."""
READ_SECONDS = 5.0
"""The time that the body of a review may take: a client that sends none must not keep a connection."""
MAX_CONCURRENT_REVIEWS = 8
"""Reviews that are parsed and answered at once, and large ones that are read at once. A review may take many times its size in
memory, and may come from anyone."""
SHUTDOWN_GRACE_SECONDS = 5.0
"""The time for which requests in progress may continue when the server ends."""

Validate = Callable[[AdmissionRequest], Awaitable[Denial | None]]
"""Allows the request (None), or says why it is denied. A BadReview is answered with 400. What else it raises
is answered with 500: the failurePolicy then decides."""


class AdmissionServer:
    """`webhooks`: path -> validator; `process` is whose log has more about an unexpected error; `mount` adds more routes, which
    check tokens themselves."""

    def __init__(
        self, process: str, webhooks: Mapping[str, Validate], mount: Callable[[web.Application], None] = lambda _: None
    ) -> None:
        application = web.Application(
            middlewares=[
                connection_tracking_middleware,
                json_errors_middleware(process, {}),
                connection_limit_middleware,
            ],
            client_max_size=CONNECTION_LIMITS.max_body_bytes,
        )
        reading, answering = (asyncio.Semaphore(MAX_CONCURRENT_REVIEWS) for _ in range(2))
        for path, validate in webhooks.items():
            application.router.add_post(path, _handler(validate, reading, answering))
        mount(application)
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


def _handler(
    validate: Validate, reading: asyncio.Semaphore, answering: asyncio.Semaphore
) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def review(request: web.Request) -> web.Response:
        is_large = request.content_length is None or request.content_length > LARGE_REVIEW_BYTES
        async with reading if is_large else contextlib.nullcontext():
            body = await _read(request)
            async with answering:
                result = await _answer(body, validate)
        return web.Response(body=result, content_type="application/json")

    return review


async def _answer(body: bytes, validate: Validate) -> bytes:
    try:
        asked = parse_review(body)
        return answer(asked, await validate(asked))
    except BadReview as error:
        raise HTTPError(400, str(error)) from error


async def _read(request: web.Request) -> bytes:
    try:
        async with asyncio.timeout(READ_SECONDS):
            return await request.read()
    except web.HTTPRequestEntityTooLarge:
        raise body_too_long(MAX_REVIEW_BYTES) from None
    except TimeoutError:
        raise HTTPError(408, f"the body did not come within {READ_SECONDS:g} s", {"Connection": "close"}) from None


async def serve_webhooks(
    manager: Manager,
    service: TlsService,
    configuration: str,
    webhooks: Mapping[str, Validate],
    mount: Callable[[web.Application, Peers], None] = lambda _, __: None,
) -> None:
    """Answer on every replica, before it is ready, unless webhooks are disabled. Raises OlmError.

    `configuration` is the name of the ValidatingWebhookConfiguration that names the paths of `webhooks`; `mount` adds more
    routes, which may send requests to other replicas.
    """
    address = manager.settings.webhook_bind_address
    if address == DISABLED_ADDRESS:
        return
    context, certificate, peers = webhook_serving(manager, service, address)
    informer = manager.informer(WEBHOOK_CONFIGURATIONS, field_selector=f"metadata.name={configuration}")
    writer = CaBundleWriter(manager.client, informer, configuration, service.manager, lambda: certificate.ca_bundle)
    certificate.publish_to(writer.write)
    manager.add_runnable(writer.run, every_replica=False)
    server = AdmissionServer(manager.name, webhooks, lambda application: mount(application, peers))
    manager.on_close(server.close)
    await server.start(address, context)
