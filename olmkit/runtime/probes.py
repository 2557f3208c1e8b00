"""The two small HTTP servers of each process: /healthz and /readyz, and /metrics. Plain HTTP, for the kubelet and a scraper.

Started by olmkit.runtime.manager. /healthz answers as long as the event loop runs; /readyz names each check and answers 500
while one fails; the lease has no say in either. Connections are bounded (LIMITS): a peer that holds many takes no descriptor
from the rest of the process, and the kubelet's probe is still answered.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from olmkit.runtime import metrics
from olmkit.runtime.listener.connections import (
    ConnectionLimits,
    Listener,
    connection_limit_middleware,
    connection_tracking_middleware,
)

DISABLED_ADDRESS = "0"
CONNECTION_LIMITS = ConnectionLimits(max_connections=16)
"""Of each of the two ports."""
ReadinessChecks = Callable[[], Mapping[str, bool]]

log = logging.getLogger(__name__)


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
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    assert runner.server is not None
    listener = Listener(runner.server, None, CONNECTION_LIMITS)
    try:
        host, port = await listener.start(address, name)
        log.info("listening", extra={"server": name, "address": f"{host}:{port}"})
        yield
    finally:
        await listener.stop()
        await runner.cleanup()
        listener.close()
