"""HTTP requests over persistent connections, as fast as the server responds.

Reads responses by their Content-Length and discards the bodies, so that the client uses little CPU compared with the server.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from dataclasses import dataclass
from urllib.parse import urlsplit

_CHUNK_BYTES = 1 << 18


@dataclass(frozen=True)
class Rate:
    """Responses and bytes per second."""

    requests: float
    bytes: float


async def measure(
    url: str, tls: ssl.SSLContext | None = None, encoding: str = "", connections: int = 8, seconds: float = 5.0
) -> Rate:
    """GET `url` repeatedly on each of `connections` for `seconds`.

    `tls` is for a URL of https; `encoding` is the Accept-Encoding, which the response must have. Raises AssertionError for any
    other response.
    """
    end = time.perf_counter() + seconds
    started = time.perf_counter()
    counts = await asyncio.gather(*(_client(url, tls, encoding, end) for _ in range(connections)))
    elapsed = time.perf_counter() - started
    return Rate(sum(count for count, _ in counts) / elapsed, sum(size for _, size in counts) / elapsed)


async def _client(url: str, tls: ssl.SSLContext | None, encoding: str, end: float) -> tuple[int, int]:
    parts = urlsplit(url)
    target = parts.path + (f"?{parts.query}" if parts.query else "")
    secure = tls if parts.scheme == "https" else None
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port, limit=_CHUNK_BYTES, ssl=secure)
    accepts = f"Accept-Encoding: {encoding}\r\n" if encoding else ""
    request = f"GET {target} HTTP/1.1\r\nHost: {parts.netloc}\r\n{accepts}\r\n".encode()
    count = size = 0
    try:
        while time.perf_counter() < end:
            writer.write(request)
            size += await _read_response(reader, encoding)
            count += 1
    finally:
        writer.close()
        await writer.wait_closed()
    return count, size


async def _read_response(reader: asyncio.StreamReader, encoding: str) -> int:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
    assert head.split(" ", 2)[1] == "200", head
    assert not encoding or f"content-encoding: {encoding}" in head, head
    length = next(int(line.split(":")[1]) for line in head.splitlines() if line.startswith("content-length:"))
    left = length
    while left:
        left -= len(await reader.read(min(left, _CHUNK_BYTES)))
    return length
