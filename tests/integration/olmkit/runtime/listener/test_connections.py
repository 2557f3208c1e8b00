"""The owner of a socket while its connection is established, and slots without TLS. Real sockets, real TLS."""

from __future__ import annotations

import asyncio
import socket
import ssl
from pathlib import Path

import pytest
from aiohttp import web

from olmkit.runtime.listener.connections import ConnectionLimits
from olmkit.runtime.listener.listener import Listener
from olmkit.runtime.listener.slots import Slot, SlotState
from tests.integration.tls import Contexts, contexts_in

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


async def test_without_tls_unfinished_requests_yield_to_a_complete_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """However young they are, and behind the same address: a probe is answered."""
    listener = Listener(web.Server(_hello), None, LIMITS)
    slots = record_slots(listener, monkeypatch)
    states: asyncio.Queue[SlotState] = asyncio.Queue()
    set_state = listener.slots.set_state

    def recorded(slot: Slot, state: SlotState) -> None:
        set_state(slot, state)
        states.put_nowait(state)

    monkeypatch.setattr(listener.slots, "set_state", recorded)
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
