"""The health and metrics servers of each process: /healthz and /readyz, and /metrics, over plain HTTP.

Started by olmkit.runtime.manager. /healthz succeeds as long as the event loop runs; /readyz lists each check and returns 500
while one fails. Neither depends on leader election. Connections are limited (CONNECTION_LIMITS): a client that opens many cannot
exhaust the file descriptors of the process, and the probes of the kubelet are still answered.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from olmkit.runtime import metrics
from olmkit.runtime.listener.application_server import ApplicationServer
from olmkit.runtime.listener.listener import (
    ConnectionLimits,
    connection_limit_middleware,
    connection_tracking_middleware,
)

DISABLED_ADDRESS = "0"
CONNECTION_LIMITS = ConnectionLimits(max_connections=16)
"""Limits of each of the two ports."""
SHUTDOWN_GRACE_SECONDS = 1.0
"""The time for which requests in progress may continue when a server ends."""
ReadinessChecks = Callable[[], Mapping[str, bool]]


@asynccontextmanager
async def serve_health(address: str, checks: ReadinessChecks) -> AsyncIterator[None]:
    """Serve /healthz and /readyz (and /readyz/NAME) while the context lasts."""

    async def healthz(_: web.Request) -> web.Response:
        return web.Response(text="ok")

    async def readyz(_: web.Request) -> web.Response:
        found = checks()
        passed = all(found.values())
        lines = [f"[{'+' if found[name] else '-'}]{name} {'ok' if found[name] else 'failed'}" for name in sorted(found)]
        lines.append(f"readyz check {'passed' if passed else 'failed'}")
        return web.Response(text="\n".join(lines) + "\n", status=200 if passed else 500)

    async with _server("probes", address, {"/healthz": healthz, "/readyz": readyz}):
        yield


@asynccontextmanager
async def serve_metrics(address: str) -> AsyncIterator[None]:
    """Serve /metrics while the context lasts."""

    async def scrape(_: web.Request) -> web.Response:
        return web.Response(body=metrics.exposition(), headers={"Content-Type": metrics.CONTENT_TYPE})

    async with _server("metrics", address, {"/metrics": scrape}):
        yield


@asynccontextmanager
async def _server(name: str, address: str, routes: Mapping[str, Any]) -> AsyncIterator[None]:
    if address == DISABLED_ADDRESS:
        yield
        return
    application = web.Application(middlewares=[connection_tracking_middleware, connection_limit_middleware])
    for path, handler in routes.items():
        application.router.add_get(path, handler)
    server = ApplicationServer(name, application, CONNECTION_LIMITS, shutdown_grace_seconds=SHUTDOWN_GRACE_SECONDS)
    try:
        await server.start(address)
        yield
    finally:
        await server.close()
