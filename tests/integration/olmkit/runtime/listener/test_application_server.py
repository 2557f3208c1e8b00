"""The start and the end of an application on a port."""

from __future__ import annotations

import asyncio
import gzip
import logging

import aiohttp
import pytest
from aiohttp import web

from olmkit.errors import OlmError
from olmkit.runtime.listener.application_server import ApplicationServer
from olmkit.runtime.listener.listener import ConnectionLimits

LIMITS = ConnectionLimits(max_connections=4)
LOCALHOST = "127.0.0.1:0"


class Application:
    """Answers /slow when `finish` is set. Sets `entered` when that is requested, and `closing` when the port is closed."""

    def __init__(self) -> None:
        self.entered, self.finish, self.closing = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self.counts: list[int] = []

    def server(self, shutdown_grace_seconds: float = 60.0) -> ApplicationServer:
        application = web.Application()
        application.router.add_get("/slow", self._slow)
        application.on_shutdown.append(self._shut_down)
        return ApplicationServer(
            "tests",
            application,
            LIMITS,
            shutdown_grace_seconds=shutdown_grace_seconds,
            on_connection_count=self.counts.append,
        )

    async def _shut_down(self, _: web.Application) -> None:
        self.closing.set()

    async def _slow(self, _: web.Request) -> web.Response:
        self.entered.set()
        await self.finish.wait()
        return web.Response(text="done")


async def get(port: int) -> str:
    async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{port}/slow") as answer:
        return await answer.text()


async def test_a_request_in_progress_ends_after_the_port_is_closed(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    application = Application()
    server = application.server()
    port = await server.start(LOCALHOST)
    assert [(each.message, getattr(each, "address", "")) for each in caplog.records if each.message == "listening"] == [
        ("listening", f"127.0.0.1:{port}")
    ]
    request = asyncio.create_task(get(port))
    await application.entered.wait()
    assert application.counts[-1] == 1
    closing = asyncio.create_task(server.close())
    await application.closing.wait()
    with pytest.raises(aiohttp.ClientConnectorError):
        await get(port)
    assert not request.done()
    application.finish.set()
    assert await request == "done"
    await closing
    assert application.counts[-1] == 0


async def test_a_request_that_does_not_end_is_aborted() -> None:
    application = Application()
    server = application.server(shutdown_grace_seconds=0.01)
    request = asyncio.create_task(get(await server.start(LOCALHOST)))
    await application.entered.wait()
    await server.close()
    with pytest.raises(aiohttp.ClientError):
        await request


async def test_a_compressed_body_is_not_decompressed() -> None:
    """Its limit is that of the bytes that were sent: no small request costs what a large one does."""

    async def length(request: web.Request) -> web.Response:
        return web.Response(text=str(len(await request.read())))

    application, body = web.Application(), gzip.compress(b"x" * 1_000_000)
    application.router.add_post("/length", length)
    limits = ConnectionLimits(max_connections=4, max_body_bytes=len(body))
    server = ApplicationServer("tests", application, limits, shutdown_grace_seconds=1.0)
    port = await server.start(LOCALHOST)
    headers = {"Content-Encoding": "gzip"}
    async with aiohttp.ClientSession() as session:
        request = session.post(f"http://127.0.0.1:{port}/length", data=body, headers=headers)
        async with request as answer:
            assert await answer.text() == str(len(body))
    await server.close()


async def test_an_address_in_use_is_an_error_and_the_server_can_be_closed() -> None:
    first, second = Application().server(), Application().server()
    port = await first.start(LOCALHOST)
    try:
        with pytest.raises(OlmError, match=f"cannot listen on 127.0.0.1:{port} for tests"):
            await second.start(f"127.0.0.1:{port}")
    finally:
        await second.close()
        await first.close()


async def test_a_server_that_was_not_started_can_be_closed() -> None:
    await Application().server().close()
