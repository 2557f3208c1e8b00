"""A proxy in front of the real API server that carries out some requests late: when the process that sent them is long gone.

It reads the line and the length of each request: a client of ours sends its next request on a connection only after the answer to
the one before.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import ssl

from tests.cluster.proxy import CHUNK, Proxy

_HEAD_END = b"\r\n\r\n"
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)\r\n", re.IGNORECASE)


class LateProxy(Proxy):
    """Forwards every request until hold()."""

    def __init__(self, upstream: tuple[str, int], tls: ssl.SSLContext | None) -> None:
        super().__init__(upstream, tls)
        self._pattern: re.Pattern[bytes] | None = None
        self._held_requests: list[bytes] = []
        self._was_held = asyncio.Event()

    def hold(self, pattern: bytes) -> None:
        """Keep requests whose `METHOD PATH?QUERY` the pattern matches, and answer none of them."""
        self._pattern = re.compile(pattern)

    async def until_held(self, count: int) -> None:
        """Wait until that many requests are held."""
        while len(self._held_requests) < count:
            self._was_held.clear()
            await self._was_held.wait()

    async def carry_out(self) -> list[int]:
        """Send what is held to the API server; returns the HTTP codes of its answers."""
        codes = []
        for request in self._held_requests:
            reader, writer = await self._connect()
            writer.write(request)
            await writer.drain()
            codes.append(int((await reader.readuntil(b"\r\n")).split()[1]))
            writer.transport.abort()
        return codes

    async def _move(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, is_answer: bool) -> None:
        if is_answer or self._pattern is None:
            await super()._move(reader, writer, is_answer=is_answer)
            return
        with contextlib.suppress(OSError):
            while chunk := await reader.read(CHUNK):
                if self._pattern.match(chunk):
                    self._held_requests.append(await _whole(reader, chunk))
                    self._was_held.set()
                    continue
                writer.write(chunk)
                await writer.drain()


async def _whole(reader: asyncio.StreamReader, start: bytes) -> bytes:
    """The request that begins so, with its body."""
    while _HEAD_END not in start:
        start += await reader.read(CHUNK)
    length = _LENGTH.search(start)
    missing = start.index(_HEAD_END) + len(_HEAD_END) + (int(length[1]) if length else 0) - len(start)
    return start + (await reader.readexactly(missing) if missing > 0 else b"")
