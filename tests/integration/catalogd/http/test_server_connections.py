"""Clients that are slow, silent, greedy or broken are answered or disconnected, and the others are served. Real sockets."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import tracemalloc
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.typedefs import Handler
from prometheus_client import REGISTRY

from catalogd.storage.catalog_store import CatalogStore
from olmkit.runtime.listener.listener import MAX_LINE_BYTES, ConnectionLimits, connection_of
from tests.integration.catalogd.catalog_server import DIGEST, WHOLE, Site, put, serving
from tests.integration.tls import Contexts, contexts_in

BIG = "sha256:" + "b" * 64
"""Of content that is larger than all buffers between two processes."""
SIZE = 48 * 1024 * 1024
LAST = 8 * 1024 * 1024
"""Of that, still more than the buffers to a reader of little."""
LIMITS = ConnectionLimits(
    max_connections=4,
    handshake_timeout=1.0,
    header_timeout=1.0,
    max_header_bytes=64 * 1024,
    idle_timeout=60.0,
    write_stall_timeout=2.0,
)
PATIENT = replace(LIMITS, write_stall_timeout=600.0)
"""Clients that read nothing keep their connections."""
GET = b"GET /catalogs/c/api/v1/metas?package=p HTTP/1.1\r\nHost: c\r\n"
PART = b"".join(WHOLE.splitlines(keepends=True)[:3])


@pytest.fixture
async def catalog_store(tmp_path: Path) -> CatalogStore:
    """`c` is small, `fresh` large."""
    catalog_store = CatalogStore(tmp_path)
    await put(catalog_store, "c", DIGEST)
    await put(
        catalog_store, "fresh", BIG, [{"schema": "big", "name": str(at), "text": "x" * (SIZE // 8)} for at in range(8)]
    )
    return catalog_store


@pytest.fixture
async def site(catalog_store: CatalogStore) -> AsyncIterator[Site]:
    """With limits so low that they are met."""
    async with serving(catalog_store, limits=LIMITS) as site:
        yield site


async def head_of(reader: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    """Status and headers of the next answer."""
    first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().strip().split("\r\n")
    return int(first.split(" ")[1]), {key.lower(): value for key, _, value in (line.partition(": ") for line in lines)}


async def answer_of(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """Status and body of the next answer."""
    status, headers = await head_of(reader)
    return status, await reader.readexactly(int(headers["content-length"]))


async def is_closed(reader: asyncio.StreamReader, within: float = 20) -> bool:
    """Whether the server closes the connection by then without sending more."""
    async with asyncio.timeout(within):
        try:
            return await reader.read(1) == b""
        except ConnectionError:
            return True


def reader_of_little(site: Site) -> socket.socket:
    """A client of the large catalog with a small window, which has asked and reads nothing yet."""
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 * 1024)
    client.connect(("127.0.0.1", site.port))
    client.sendall(b"GET /catalogs/fresh/all.json HTTP/1.1\r\nHost: c\r\n\r\n")
    client.setblocking(False)
    return client


async def test_an_unfinished_header_is_answered_408(site: Site) -> None:
    reader, writer = await site.speak(GET + b"X-Slow: ")
    status, body = await answer_of(reader)
    assert (status, json.loads(body)) == (408, {"error": "the request was not received in time"})
    assert await is_closed(reader)
    writer.close()


async def test_a_header_that_trickles_is_answered_408(site: Site) -> None:
    """A byte now and then buys no time."""
    reader, writer = await site.speak(GET)

    async def trickle() -> None:
        while not writer.is_closing():
            writer.write(b"X-Drip: 1\r\n")
            await asyncio.sleep(0.1)

    dripping = asyncio.create_task(trickle())
    async with asyncio.timeout(20):
        assert (await head_of(reader))[0] == 408
    writer.close()
    await dripping


async def test_a_silent_client_is_disconnected(site: Site) -> None:
    reader, writer = await site.speak()
    assert await is_closed(reader)
    writer.close()


async def test_a_second_header_has_a_timeout_of_its_own(site: Site) -> None:
    reader, writer = await site.speak(GET + b"\r\n")
    assert await answer_of(reader) == (200, PART)
    writer.write(GET + b"X-Slow: ")
    assert (await answer_of(reader))[0] == 408
    writer.close()


async def test_a_client_that_stops_reading_is_disconnected_and_others_are_served(site: Site) -> None:
    stalled = [reader_of_little(site) for _ in range(3)]
    try:
        assert (await site.ask("/catalogs/c/all.json"))[1] == WHOLE
        async with asyncio.timeout(30):
            while REGISTRY.get_sample_value("catalogd_http_connections") != 1:  # noqa: ASYNC110 the client of `ask`
                await asyncio.sleep(0.05)
        assert (await site.ask("/catalogs/c/all.json"))[1] == WHOLE
        for client in stalled:
            got = await _all_of(client)
            assert got < SIZE
    finally:
        for client in stalled:
            client.close()


async def _all_of(client: socket.socket) -> int:
    """How many bytes come until the connection is closed or reset."""
    loop, count = asyncio.get_running_loop(), 0
    try:
        while data := await loop.sock_recv(client, 1 << 20):
            count += len(data)
    except ConnectionError:
        pass
    return count


async def test_a_client_that_reads_slowly_is_served_to_the_end(site: Site) -> None:
    """It takes longer than the timeout of silent clients."""
    client = reader_of_little(site)
    loop = asyncio.get_running_loop()
    count, until = 0, loop.time() + 3 * LIMITS.write_stall_timeout
    while loop.time() < until:
        count += len(await loop.sock_recv(client, 64 * 1024))
        await asyncio.sleep(0.05)
    while count < SIZE:
        data = await loop.sock_recv(client, 1 << 20)
        assert data
        count += len(data)
    client.close()


@pytest.mark.parametrize(
    ("sent", "status", "error"),
    [
        pytest.param(
            b"GET /" + b"a" * MAX_LINE_BYTES + b" HTTP/1.1\r\nHost: c\r\n\r\n",
            431,
            "the request line or a header is longer than 8190 bytes",
            id="a long request line",
        ),
        pytest.param(
            GET + b"X: " + b"a" * (MAX_LINE_BYTES + 1) + b"\r\n\r\n",
            431,
            "the request line or a header is longer than 8190 bytes",
            id="a long header",
        ),
        pytest.param(
            GET + b"".join(b"X-%d: %s\r\n" % (at, b"a" * 8000) for at in range(9)),
            431,
            "the headers of the request are too large",
            id="many large headers",
        ),
        pytest.param(
            b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", 400, "the request is not valid HTTP", id="TLS to plain HTTP"
        ),
        pytest.param(b"HELLO\r\n\r\n", 400, "the request is not valid HTTP", id="another protocol"),
        pytest.param(
            b"GET /catalogs/c\x00/all.json HTTP/1.1\r\nHost: c\r\n\r\n",
            400,
            "the request is not valid HTTP",
            id="a bare NUL",
        ),
        pytest.param(GET + b"Content-Length: 5\r\n\r\nhello", 413, "the request must not have a body", id="a body"),
        pytest.param(
            GET + b"Content-Length: 5\r\nExpect: 100-continue\r\n\r\n",
            413,
            "the request must not have a body",
            id="a body announced",
        ),
        pytest.param(
            GET + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
            413,
            "the request must not have a body",
            id="a body in chunks",
        ),
        pytest.param(
            GET + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            400,
            "the request is not valid HTTP",
            id="two lengths",
        ),
    ],
)
async def test_an_invalid_request_is_answered_and_the_connection_closed(
    site: Site, sent: bytes, status: int, error: str, caplog: pytest.LogCaptureFixture
) -> None:
    reader, writer = await site.speak(sent)
    got, body = await answer_of(reader)
    assert (got, json.loads(body)) == (status, {"error": error})
    assert await is_closed(reader)
    writer.close()
    assert caplog.records == []


async def test_many_small_headers_are_refused(site: Site) -> None:
    reader, writer = await site.speak(GET + b"".join(b"X-%d: 1\r\n" % at for at in range(1000)) + b"\r\n")
    assert (await answer_of(reader))[0] in (400, 431)
    assert await is_closed(reader)
    writer.close()


async def test_pipelined_requests_are_answered_in_order(site: Site) -> None:
    paths = [b"package=p", b"name=nobody", b"package=p", b"schema=my.own"]
    lines = [b"GET /catalogs/c/api/v1/metas?%s HTTP/1.1\r\nHost: c\r\n\r\n" % path for path in paths]
    reader, writer = await site.speak(b"".join(lines))
    assert [await answer_of(reader) for _ in lines] == [
        (200, PART),
        (200, b""),
        (200, PART),
        (200, WHOLE.splitlines(keepends=True)[-1]),
    ]
    writer.close()


async def test_a_half_closed_connection_gets_its_responses(site: Site) -> None:
    reader, writer = await site.speak(GET + b"\r\nGET /catalogs/c/all.json HTTP/1.1\r\nHost: c\r\n\r\n")
    writer.write_eof()
    assert await answer_of(reader) == (200, PART)
    assert await answer_of(reader) == (200, WHOLE)
    assert await is_closed(reader)
    writer.close()


async def test_a_half_closed_connection_gets_its_error(site: Site) -> None:
    reader, writer = await site.speak(b"GET /nothing HTTP/1.1\r\nHost: c\r\n\r\n")
    writer.write_eof()
    assert (await answer_of(reader))[0] == 404
    assert await is_closed(reader)
    writer.close()


async def test_a_client_over_the_limit_is_answered_503_with_retry_after(catalog_store: CatalogStore) -> None:
    async with serving(catalog_store, limits=PATIENT) as site:
        busy = [reader_of_little(site) for _ in range(LIMITS.max_connections)]
        await until_busy(len(busy))
        reader, writer = await site.speak(GET + b"\r\n")
        status, headers = await head_of(reader)
        assert (status, headers["retry-after"], headers["connection"]) == (503, "2", "close")
        assert json.loads(await reader.readexactly(int(headers["content-length"]))) == {"error": "too many connections"}
        assert await is_closed(reader)
        writer.close()
        for client in busy:
            client.close()


async def until_busy(count: int) -> None:
    """Wait until so many clients are answered. Not only connected: a connection without a request yields to the next one."""
    async with asyncio.timeout(30):
        while REGISTRY.get_sample_value("catalogd_http_requests_in_flight") != count:  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def test_an_authorized_client_over_the_limit_is_answered_and_disconnected(catalog_store: CatalogStore) -> None:
    @web.middleware
    async def authorize(request: web.Request, handler: Handler) -> web.StreamResponse:
        connection = connection_of(request)
        if connection is not None and "Authorization" in request.headers:
            connection.mark_authorized()
        return await handler(request)

    async with serving(catalog_store, limits=PATIENT, authorize=authorize) as site:
        busy = [reader_of_little(site) for _ in range(LIMITS.max_connections)]
        await until_busy(len(busy))
        for sent, expected in ((b"", 503), (b"Authorization: Bearer t\r\n", 200)):
            reader, writer = await site.speak(GET + sent + b"\r\n")
            assert (await answer_of(reader))[0] == expected
            assert await is_closed(reader)
            writer.close()
        for client in busy:
            client.close()


async def test_an_idle_connection_yields_to_a_new_one(site: Site) -> None:
    idle = [await site.speak(GET + b"\r\n") for _ in range(LIMITS.max_connections)]
    for reader, _ in idle:
        assert await answer_of(reader) == (200, PART)
    reader, writer = await site.speak(GET + b"\r\n")
    assert await answer_of(reader) == (200, PART)
    assert await is_closed(idle[0][0])
    idle[1][1].write(GET + b"\r\n")
    assert await answer_of(idle[1][0]) == (200, PART)
    for each in (writer, *(writer for _, writer in idle)):
        each.close()


async def test_a_flood_of_clients_takes_no_more_descriptors_than_there_are_slots(catalog_store: CatalogStore) -> None:
    patient = ConnectionLimits(max_connections=4, header_timeout=600.0)
    async with serving(catalog_store, limits=patient) as site:
        clients = []
        for _ in range(patient.max_connections + 2 * patient.overflow_slots + 20):
            client = socket.socket()
            client.setblocking(False)
            await asyncio.get_running_loop().sock_connect(client, ("127.0.0.1", site.port))
            clients.append(client)
        try:
            async with asyncio.timeout(20):
                for client in clients[: -patient.max_connections]:
                    assert await _all_of(client) == 0
            assert REGISTRY.get_sample_value("catalogd_http_connections") == patient.max_connections
        finally:
            for client in clients:
                client.close()


async def test_a_download_may_complete_while_the_server_ends(catalog_store: CatalogStore) -> None:
    async with serving(catalog_store, limits=LIMITS) as site:
        idle, idle_writer = await site.speak(GET + b"\r\n")
        await answer_of(idle)
        reader, writer = await asyncio.open_connection(sock=reader_of_little(site))
        _, headers = await head_of(reader)
        size = int(headers["content-length"])
        assert size > SIZE
        # What is left then has 3 seconds, and is more than all buffers hold.
        await reader.readexactly(size - LAST)
        closing = asyncio.create_task(site.server.close())
        assert await is_closed(idle)
        assert len(await reader.readexactly(LAST)) == LAST
        await closing
        with pytest.raises(OSError, match=r".*"):
            await site.speak()
        writer.close()
        idle_writer.close()


# --- TLS


@pytest.fixture
def contexts(tmp_path: Path) -> Contexts:
    """Of the server, and of a client that trusts it."""
    return contexts_in(tmp_path)


async def test_over_tls_the_same_is_served(catalog_store: CatalogStore, contexts: Contexts) -> None:
    async with serving(catalog_store, tls=contexts[0], limits=LIMITS) as site:
        for path, size in (("c/all.json", len(WHOLE)), ("fresh/all.json", None)):
            url = f"https://localhost:{site.port}/catalogs/{path}"
            async with site.session.get(url, ssl=contexts[1]) as answer:
                assert answer.status == 200
                assert len(await answer.read()) == (size or answer.content_length)


async def test_a_client_without_a_handshake_is_disconnected(
    catalog_store: CatalogStore, contexts: Contexts, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving(catalog_store, tls=contexts[0], limits=LIMITS) as site:
        silent, silent_writer = await site.speak()
        wrong, wrong_writer = await site.speak(GET + b"\r\n")
        assert await is_closed(wrong)
        async with site.session.get(f"https://localhost:{site.port}/catalogs/c/all.json", ssl=contexts[1]) as answer:
            assert answer.status == 200
        assert await is_closed(silent)
        silent_writer.close()
        wrong_writer.close()
    assert [record.getMessage() for record in caplog.records if record.levelname != "INFO"] == []


async def test_unfinished_handshakes_take_little_memory(catalog_store: CatalogStore, contexts: Contexts) -> None:
    many = 400
    loop = asyncio.get_running_loop()
    async with serving(catalog_store, tls=contexts[0], limits=ConnectionLimits(handshake_timeout=600.0)) as site:
        url = f"https://localhost:{site.port}/catalogs/c/all.json"
        with traced() as allocated, contextlib.ExitStack() as clients:
            for _ in range(many):
                client = clients.enter_context(socket.socket())
                client.setblocking(False)
                await loop.sock_connect(client, ("127.0.0.1", site.port))
                await loop.sock_sendall(client, b"\x16\x03\x01\x02\x00\x01")
            async with site.session.get(url, ssl=contexts[1]) as answer:  # accepted after all of them
                assert answer.status == 200
            assert allocated() < many * 80 * 1024


@contextlib.contextmanager
def traced() -> Iterator[Callable[[], int]]:
    """Bytes that Python has allocated since; what the process holds in all moves with the tests that ran before."""
    tracemalloc.start()
    try:
        yield lambda: tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


async def test_over_tls_a_client_that_stops_reading_is_disconnected(
    catalog_store: CatalogStore, contexts: Contexts
) -> None:
    async with serving(catalog_store, tls=contexts[0], limits=LIMITS) as site:
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", site.port, ssl=contexts[1], server_hostname="localhost", limit=1024
        )
        writer.write(b"GET /catalogs/fresh/all.json HTTP/1.1\r\nHost: c\r\n\r\n")
        assert (await head_of(reader))[0] == 200
        assert REGISTRY.get_sample_value("catalogd_http_connections") == 1
        async with asyncio.timeout(30):
            while REGISTRY.get_sample_value("catalogd_http_connections") != 0:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        writer.transport.abort()
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await reader.readexactly(SIZE)
