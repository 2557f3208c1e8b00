"""A peer that holds as many connections to catalogd as it can, and reopens those that it loses. Run by test_server_starvation.

`python -m tests.integration.catalogd.http.greedy_clients silent|idle|slow PORT` prints `began` when it has lost its first
connection.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import sys
from collections.abc import Awaitable, Callable

CONNECTION_COUNT = 50
"""Three times the connection slots of the server."""
RECEIVE_BUFFER_BYTES = 4096
CONTEXT = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
CONTEXT.check_hostname, CONTEXT.verify_mode = False, ssl.CERT_NONE


async def silent(port: int) -> None:
    """Send nothing."""
    loop = asyncio.get_running_loop()
    with await _connect(port) as client:
        await loop.sock_recv(client, 1)


async def idle(port: int) -> None:
    """Send one request and keep the connection."""
    reader, writer = await _request(port, "/catalogs/c/api/v1/metas?name=p.v1")
    await reader.read()
    writer.close()


async def slow(port: int) -> None:
    """Request a large response and read little of it."""
    reader, writer = await _request(port, "/catalogs/fresh/all.json")
    while await reader.read(512):  # noqa: ASYNC110 not an event: it is slow
        await asyncio.sleep(1)
    writer.close()


async def _request(port: int, path: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection(
        sock=await _connect(port), ssl=CONTEXT, server_hostname="localhost", limit=RECEIVE_BUFFER_BYTES
    )
    writer.write(f"GET {path} HTTP/1.1\r\nHost: c\r\n\r\n".encode())
    return reader, writer


async def _connect(port: int) -> socket.socket:
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER_BYTES)
    client.setblocking(False)
    await asyncio.get_running_loop().sock_connect(client, ("127.0.0.1", port))
    return client


async def main(greed: Callable[[int], Awaitable[None]], port: int) -> None:
    """Never returns."""
    attempts = 0

    async def again_and_again() -> None:
        nonlocal attempts
        while True:
            attempts += 1
            if attempts == CONNECTION_COUNT + 1:
                print("began", flush=True)
            with contextlib.suppress(OSError):
                await greed(port)

    await asyncio.gather(*(again_and_again() for _ in range(CONNECTION_COUNT)))


if __name__ == "__main__":
    asyncio.run(main({"silent": silent, "idle": idle, "slow": slow}[sys.argv[1]], int(sys.argv[2])))
