"""Bodies in TLS records of each size, the owner of a socket while its connection is established, and slots without TLS.

Real sockets, real TLS.
"""

from __future__ import annotations

import asyncio
import gc
import hashlib
import socket
import ssl
import warnings
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
from aiohttp import web

from olmkit.runtime.listener.listener import ConnectionLimits, Listener, connection_of
from olmkit.runtime.listener.slots import Slot, SlotState
from olmkit.runtime.listener.sockets import SendProgress
from tests.integration.tls import Contexts, contexts_in

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter, int]
"""With the number of bytes that are to be read."""
LIMITS = ConnectionLimits(max_connections=4, handshake_timeout=600.0, header_timeout=600.0, write_stall_timeout=600.0)


@pytest.fixture
def contexts(tmp_path: Path) -> Contexts:
    """Of the server, and of a client that trusts it."""
    return contexts_in(tmp_path)


class Handshake:
    """A client's handshake over a socket of its own, one flight at a time."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self.socket = socket.socket()
        self.socket.setblocking(False)
        self._received, self._sent = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._received, self._sent, server_hostname="localhost")

    async def begin(self, port: int) -> None:
        """Connect, send the first flight and wait for the server's."""
        loop = asyncio.get_running_loop()
        await loop.sock_connect(self.socket, ("127.0.0.1", port))
        with pytest.raises(ssl.SSLWantReadError):
            self._tls.do_handshake()
        await loop.sock_sendall(self.socket, self._sent.read())
        while True:
            self._received.write(await loop.sock_recv(self.socket, 65536))
            try:
                return self._tls.do_handshake()
            except ssl.SSLWantReadError:
                continue

    def end(self) -> None:
        """Send the last flight: the server has it at its next turn of the event loop."""
        self.socket.send(self._sent.read())

    def send(self, data: bytes) -> None:
        """Send data after the handshake."""
        self._tls.write(data)
        self.socket.send(self._sent.read())

    async def send_records(self, data: bytes, size: int) -> None:
        """Send data in records of so many bytes each."""
        for at in range(0, len(data), size):
            self._tls.write(data[at : at + size])
            if self._sent.pending > 64 * 1024:
                await asyncio.get_running_loop().sock_sendall(self.socket, self._sent.read())
        await asyncio.get_running_loop().sock_sendall(self.socket, self._sent.read())

    async def receive(self, until: bytes) -> bytes:
        """What the server sends, up to and including these bytes, or to the end of the connection."""
        found = b""
        while until not in found:
            try:
                piece = self._tls.read()
            except ssl.SSLWantReadError:
                received = await asyncio.get_running_loop().sock_recv(self.socket, 65536)
                if not received:
                    break
                self._received.write(received)
                continue
            if not piece:
                break
            found += piece
        return found


async def _hello(_: web.BaseRequest) -> web.Response:
    return web.Response(text="hello")


def record_slots(listener: Listener, monkeypatch: pytest.MonkeyPatch) -> list[Slot]:
    """Record every slot that is acquired."""
    slots: list[Slot] = []
    acquire = listener.slots.acquire

    def recorded(address: str, now: float) -> Slot | None:
        slot = acquire(address, now)
        assert slot is not None
        slots.append(slot)
        return slot

    monkeypatch.setattr(listener.slots, "acquire", recorded)
    return slots


def record_states(listener: Listener, monkeypatch: pytest.MonkeyPatch) -> asyncio.Queue[SlotState]:
    """Record every state that a slot gets."""
    states: asyncio.Queue[SlotState] = asyncio.Queue()
    set_state = listener.slots.set_state

    def recorded(slot: Slot, state: SlotState) -> None:
        set_state(slot, state)
        states.put_nowait(state)

    monkeypatch.setattr(listener.slots, "set_state", recorded)
    return states


async def test_an_eviction_during_the_handshake_does_not_disturb_the_next_socket_of_that_number(
    contexts: Contexts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The number of a socket that is closed is given to the next one, which the first one's transport must not disturb."""
    listener = Listener(web.Server(_hello), contexts[0], LIMITS)
    slots = record_slots(listener, monkeypatch)
    _, port = await listener.start("127.0.0.1:0", "tests")
    first = Handshake(contexts[1])
    try:
        await first.begin(port)
        first.end()
        asyncio.get_running_loop().call_soon(slots[0].evict)  # before the server reads the last flight, in one turn
        async with asyncio.timeout(20):
            for _ in range(5):
                reader, writer = await asyncio.open_connection(
                    "127.0.0.1", port, ssl=contexts[1], server_hostname="localhost"
                )
                writer.write(b"GET / HTTP/1.1\r\nHost: c\r\nConnection: close\r\n\r\n")
                assert (await reader.read()).endswith(b"hello")
                writer.close()
    finally:
        first.socket.close()
        await listener.stop()
        listener.close()


async def _hash_body(request: web.BaseRequest) -> web.Response:
    digest = hashlib.sha256(await request.content.read()).hexdigest()
    connection = connection_of(request)
    assert connection is not None
    connection.request_finished()
    return web.Response(text=digest)


TOO_LARGE_HEADER = b"POST / HTTP/1.1\r\nHost: c\r\n" + b"".join(b"X-%d: %s\r\n" % (at, b"a" * 8000) for at in range(9))


@asynccontextmanager
async def connected(contexts: Contexts) -> AsyncIterator[Handshake]:
    """A client whose handshake with a server that answers with the hash of the body has ended."""
    listener = Listener(web.Server(_hash_body), contexts[0], LIMITS)
    _, port = await listener.start("127.0.0.1:0", "tests")
    client = Handshake(contexts[1])
    try:
        async with asyncio.timeout(120):
            await client.begin(port)
            client.end()
            yield client
    finally:
        client.socket.close()
        await listener.stop()
        listener.close()


@pytest.mark.parametrize(
    ("record", "size"),
    [
        pytest.param(1, 100_000, id="of one byte"),
        pytest.param(7, 300_000, id="of a few bytes"),
        pytest.param(1000, 3 * 1024 * 1024, id="of a kilobyte, one of which has the end of the header"),
        pytest.param(16 * 1024, 3 * 1024 * 1024, id="of the greatest size, one of which has the end of the header"),
    ],
)
@pytest.mark.parametrize("is_chunked", [pytest.param(False, id="with a length"), pytest.param(True, id="in chunks")])
async def test_a_body_arrives_whole_in_tls_records(
    contexts: Contexts, record: int, size: int, is_chunked: bool
) -> None:
    """Bytes of a body are none of a header, whose limit holds before, between and after bodies."""
    body = (bytes(range(33, 127)) * (size // 94 + 1))[:size]
    length = b"Transfer-Encoding: chunked" if is_chunked else b"Content-Length: %d" % size
    content = b"%x\r\n%s\r\n0\r\n\r\n" % (size, body) if is_chunked else body
    request = b"POST / HTTP/1.1\r\nHost: c\r\n%s\r\n\r\n%s" % (length, content)
    expected = hashlib.sha256(body).hexdigest().encode()
    async with connected(contexts) as client:
        for _ in range(2):
            await client.send_records(request, record)
            assert expected in await client.receive(expected)
        await client.send_records(TOO_LARGE_HEADER, max(record, 1000))
        assert b" 431 " in await client.receive(b"too large")


async def test_a_header_that_is_too_large_is_answered_while_the_last_response_is_not_acknowledged(
    contexts: Contexts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client has read the response before its kernel acknowledges it to the kernel of the server."""
    monkeypatch.setattr(SendProgress, "is_waiting", lambda self: True)
    expected = hashlib.sha256(b"a").hexdigest().encode()
    async with connected(contexts) as client:
        await client.send_records(b"POST / HTTP/1.1\r\nHost: c\r\nContent-Length: 1\r\n\r\na", 1000)
        assert expected in await client.receive(expected)
        await client.send_records(TOO_LARGE_HEADER, 1000)
        assert b" 431 " in await client.receive(b"too large")


class LargeResponse:
    """Answers each request with the body. `is_written` is set when a client has read so much that the rest is buffered."""

    BODY = b"x" * (2 * 1024 * 1024)

    def __init__(self) -> None:
        self.is_written = asyncio.Event()

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": str(len(self.BODY))})
        await response.prepare(request)
        await response.write(self.BODY)
        await response.write_eof()
        connection = connection_of(request)
        assert connection is not None
        connection.request_finished()
        self.is_written.set()
        return response

    async def request(self, port: int, context: ssl.SSLContext, version: str) -> Streams:
        """Request it, and read until the server has written all of it."""
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.setblocking(False)
        await asyncio.get_running_loop().sock_connect(client, ("127.0.0.1", port))
        reader, writer = await asyncio.open_connection(
            sock=client, ssl=context, server_hostname="localhost", limit=4096
        )
        writer.write(f"GET / HTTP/{version}\r\nHost: c\r\n\r\n".encode())
        await reader.readuntil(b"\r\n\r\n")
        count = 0
        while not self.is_written.is_set():
            count += len(await reader.read(4096))
        return reader, writer, len(self.BODY) - count


async def test_a_response_is_sent_to_its_end_however_slowly_its_last_part_is_read(contexts: Contexts) -> None:
    """The connection closes after it, which does not end what the transport still has to send."""
    large = LargeResponse()
    listener = Listener(web.Server(large.handle), contexts[0], LIMITS)
    _, port = await listener.start("127.0.0.1:0", "tests")
    try:
        reader, writer, rest = await large.request(port, contexts[1], "1.0")
        await asyncio.sleep(3 * LIMITS.shutdown_timeout)
        assert len(await reader.read()) == rest
        writer.close()
    finally:
        await listener.stop()
        listener.close()


async def test_a_connection_is_idle_when_its_response_is_sent_and_not_only_written(
    contexts: Contexts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An idle one is closed for another client."""
    large = LargeResponse()
    listener = Listener(web.Server(large.handle), contexts[0], LIMITS)
    slots = record_slots(listener, monkeypatch)
    states = record_states(listener, monkeypatch)
    _, port = await listener.start("127.0.0.1:0", "tests")
    try:
        async with asyncio.timeout(60):
            reader, writer, rest = await large.request(port, contexts[1], "1.1")
            assert slots[0].state in (SlotState.RESPONDING, SlotState.RESPONDING_SLOWLY)
            await reader.readexactly(rest)
            while await states.get() is not SlotState.IDLE:
                pass
            writer.close()
    finally:
        await listener.stop()
        listener.close()


async def test_a_client_that_does_not_end_tls_loses_its_connection(contexts: Contexts) -> None:
    """It has received everything, and answers nothing to the end of the connection."""
    counts: asyncio.Queue[int] = asyncio.Queue()
    listener = Listener(web.Server(_hello), contexts[0], LIMITS, counts.put_nowait)
    _, port = await listener.start("127.0.0.1:0", "tests")
    client = Handshake(contexts[1])
    try:
        async with asyncio.timeout(60):
            await client.begin(port)
            client.end()
            client.send(b"GET / HTTP/1.0\r\nHost: c\r\n\r\n")
            while await counts.get():
                pass
    finally:
        client.socket.close()
        await listener.stop()
        listener.close()


async def test_without_tls_unfinished_requests_yield_to_a_complete_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """However young they are, and behind the same address: a probe is answered."""
    listener = Listener(web.Server(_hello), None, LIMITS)
    slots = record_slots(listener, monkeypatch)
    states = record_states(listener, monkeypatch)
    _, port = await listener.start("127.0.0.1:0", "tests")
    crowd = []
    try:
        async with asyncio.timeout(20):
            for _ in range(LIMITS.max_connections):
                crowd.append((await asyncio.open_connection("127.0.0.1", port))[1])
                crowd[-1].write(b"GET / HTTP/1.1\r\nHost: c")
                assert await states.get() is SlotState.RECEIVING
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET / HTTP/1.1\r\nHost: c\r\nConnection: close\r\n\r\n")
            assert (await reader.read()).endswith(b"hello")
            assert not slots[-1].is_overflow
            writer.close()
    finally:
        for each in crowd:
            each.close()
        await listener.stop()
        listener.close()


@pytest.mark.parametrize("turns", range(5))
async def test_a_client_that_connects_when_the_listener_stops_loses_its_connection_at_once(turns: int) -> None:
    server = web.Server(_hello)
    listener = Listener(server, None, LIMITS)
    _, port = await listener.start("127.0.0.1:0", "test")
    await asyncio.sleep(0)  # it waits for clients
    with warnings.catch_warnings(record=True) as found, socket.create_connection(("127.0.0.1", port)) as client:
        client.settimeout(20)
        for _ in range(turns):
            await asyncio.sleep(0)
        await listener.stop()
        listener.close()
        await server.shutdown()
        gc.collect()
        with suppress(ConnectionResetError):
            assert await asyncio.get_running_loop().run_in_executor(None, client.recv, 1) == b""
    assert [str(each.message) for each in found] == []
