"""Bodies of uploads on the port of the webhooks: slow, endless and empty ones, and those that wait to be asked for."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field

import pytest
from aiohttp import web

from olmkit.runtime.listener.application_server import ApplicationServer
from olmkit.runtime.listener.http_errors import BODY_LIMITS, json_errors_middleware
from olmkit.runtime.listener.listener import ConnectionLimits, connection_tracking_middleware
from rukpak.bundle.uploads import receive as receiving
from rukpak.bundle.uploads.receive import Received, expect_nothing_yet, receive
from tests.images import digest_of

LIMIT = 1024 * 1024
Exchange = Callable[..., Awaitable[bytes]]


@dataclass
class Receiver:
    """A server that receives bodies of at most LIMIT bytes, on a port that accepts 4 bytes elsewhere."""

    port: int = 0
    received: list[Received] = field(default_factory=list)
    may_send: asyncio.Event = field(default_factory=asyncio.Event)

    async def put(self, request: web.Request) -> web.Response:
        await self.may_send.wait()
        with tempfile.TemporaryFile() as file:
            found = await receive(request, file, LIMIT)
            file.seek(0)
            assert digest_of(file.read()) == found.digest
            self.received.append(found)
        return web.Response(status=201)

    async def exchange(self, *headers: str, body: bytes = b"") -> bytes:
        """The answer to a request with this part of a body."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        head = "\r\n".join(("PUT /a HTTP/1.1", "Host: a", "Connection: close", *headers, "", ""))
        try:
            writer.write(head.encode() + body)
            async with asyncio.timeout(20):
                return await reader.readuntil(b"\r\n\r\n")
        finally:
            writer.transport.abort()


@pytest.fixture
async def receiver(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Receiver]:
    monkeypatch.setattr(receiving, "RECEIVE_GRACE_SECONDS", 0.5)
    made = Receiver()
    made.may_send.set()
    application = web.Application(middlewares=[connection_tracking_middleware, json_errors_middleware("a", {})])
    application.router.add_put("/a", made.put, expect_handler=expect_nothing_yet)
    application[BODY_LIMITS] = {"/a": LIMIT}
    server = ApplicationServer("a", application, ConnectionLimits(max_body_bytes=4), shutdown_grace_seconds=1.0)
    made.port = await server.start("127.0.0.1:0")
    yield made
    await server.close()


async def test_a_body(receiver: Receiver) -> None:
    data = b"x" * LIMIT
    assert (await receiver.exchange(f"Content-Length: {LIMIT}", body=data)).startswith(b"HTTP/1.1 201")
    chunked = b"10000\r\n" + data[:65536] + b"\r\n0\r\n\r\n"
    assert (await receiver.exchange("Transfer-Encoding: chunked", body=chunked)).startswith(b"HTTP/1.1 201")
    assert receiver.received == [Received(digest_of(data), LIMIT), Received(digest_of(data[:65536]), 65536)]


@pytest.mark.parametrize(
    ("headers", "body", "status"),
    [
        pytest.param([f"Content-Length: {LIMIT + 1}"], b"", 413, id="that is too long, as it says"),
        pytest.param(
            ["Transfer-Encoding: chunked"], b"ffff\r\n" + b"x" * 0xFFFF + b"\r\n", 408, id="whose rest does not come"
        ),
        pytest.param(["Content-Length: 1000"], b"", 408, id="that does not come"),
        pytest.param(["Content-Length: 0"], b"", 400, id="that is empty"),
        pytest.param([], b"", 400, id="that is missing"),
        pytest.param(
            ["Transfer-Encoding: chunked"], (b"ffff\r\n" + b"x" * 0xFFFF + b"\r\n") * 20, 413, id="that never ends"
        ),
    ],
)
async def test_a_body_that_is_refused(receiver: Receiver, headers: list[str], body: bytes, status: int) -> None:
    answer = await receiver.exchange(*headers, body=body)
    assert answer.startswith(f"HTTP/1.1 {status} ".encode()), answer
    assert receiver.received == []


async def test_a_client_that_asks_is_answered_when_its_body_is_wanted(receiver: Receiver) -> None:
    """Before, the request itself may be refused: the body is not sent then."""
    receiver.may_send.clear()
    asked = asyncio.create_task(receiver.exchange("Content-Length: 3", "Expect: 100-continue"))
    done, _ = await asyncio.wait({asked}, timeout=0.2)
    assert not done
    receiver.may_send.set()
    assert (await asked).startswith(b"HTTP/1.1 100 Continue\r\n\r\n")
