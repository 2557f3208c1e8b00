"""The two small HTTP servers of each process: /healthz and /readyz, and /metrics. Plain HTTP, for the kubelet and a scraper.

Started by olmkit.manager. /healthz answers as long as the event loop runs; /readyz names each check and answers 500 while one
fails; the lease has no say in either.
"""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from olmkit import metrics
from olmkit.errors import OlmError

OFF = "0"
Checks = Callable[[], Mapping[str, bool]]

log = logging.getLogger(__name__)


def parse_address(address: str) -> tuple[str | None, int]:
    """`host:port`, `[v6]:port` or `:port` as (host, port), host None for all addresses. Raises OlmError."""
    host, separator, port = address.rpartition(":")
    if not separator or not port.isdecimal() or int(port) > 65535:
        raise OlmError("BadAddress", f"{address!r} is no address to listen on: write host:port, :port, or 0 for none")
    return host.strip("[]") or None, int(port)


@asynccontextmanager
async def serve_health(address: str, checks: Checks) -> AsyncIterator[None]:
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
    if address == OFF:
        yield
        return
    application = web.Application()
    for path, handler in routes.items():
        application.router.add_get(path, handler)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    try:
        host, port = parse_address(address)
        try:
            await web.TCPSite(runner, host, port).start()
        except OSError as error:
            raise OlmError(
                "AddressInUse", f"cannot listen on {address} for {name}: {os.strerror(error.errno or 0)}"
            ) from error
        bound = runner.addresses[0]
        log.info("listening", extra={"server": name, "address": f"{bound[0]}:{bound[1]}"})
        yield
    finally:
        await runner.cleanup()
