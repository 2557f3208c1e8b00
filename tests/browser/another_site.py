"""A server of somebody else, for Chromium that finds it under a name of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

from aiohttp import web

EVIL: Final = "evil.example"


@dataclass
class Site:
    """The server of somebody else. `paths` are those of its requests."""

    port: int = 0
    paths: list[str] = field(default_factory=list)


@asynccontextmanager
async def another_site() -> AsyncIterator[Site]:
    """A site that answers each request with an empty page."""
    found = Site()

    async def answer(request: web.Request) -> web.Response:
        found.paths.append(request.path_qs)
        return web.Response(text="<!doctype html><title>Elsewhere</title><body>", content_type="text/html")

    application = web.Application()
    application.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(application)
    await runner.setup()
    listening = web.TCPSite(runner, "127.0.0.1", 0)
    await listening.start()
    assert listening._server is not None
    found.port = listening._server.sockets[0].getsockname()[1]  # type: ignore[attr-defined]
    yield found
    await runner.cleanup()
