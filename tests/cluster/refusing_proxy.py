"""A proxy in front of the real API server that answers some requests itself, as an overloaded or broken API server would.

It reads the request line of each request and nothing else: a client of ours sends its next request on a connection only after the
answer to the one before.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import ssl
from dataclasses import dataclass

from tests.cluster.proxy import CHUNK, Proxy

_REQUEST_LINE = re.compile(rb"([A-Z]+) (/\S*) HTTP/1\.1\r\n")


@dataclass(frozen=True)
class Refusal:
    """The answer to requests that match a pattern of `METHOD PATH?QUERY`."""

    pattern: re.Pattern[str]
    status: int
    headers: str

    def answer(self) -> bytes:
        """The whole response, after which the connection ends."""
        body = b"the proxy of the test refuses this"
        head = (
            f"HTTP/1.1 {self.status} Refused\r\nContent-Length: {len(body)}\r\n{self.headers}Connection: close\r\n\r\n"
        )
        return head.encode() + body


class RefusingProxy(Proxy):
    """Forwards every request until refuse(); `refused` counts the requests that it has answered itself."""

    refusal: Refusal | None = None
    refused = 0
    remaining: int | None = None
    """The number of requests that are still refused; None: all."""

    def __init__(self, upstream: tuple[str, int], tls: ssl.SSLContext | None) -> None:
        super().__init__(upstream, tls)
        self._requests: dict[asyncio.StreamWriter, str] = {}
        """The last request of each connection that is open, by the writer towards the client."""
        self._was_refused = asyncio.Event()
        self._silent: set[asyncio.StreamWriter] = set()
        """Clients that receive nothing more."""

    def refuse(
        self, pattern: str, status: int = 503, *, retry_after: int | None = None, times: int | None = None
    ) -> None:
        """Answer requests whose `METHOD PATH?QUERY` contains the pattern with the status, and end those in progress, such as
        watches."""
        headers = "" if retry_after is None else f"Retry-After: {retry_after}\r\n"
        self.refusal, self.remaining = Refusal(re.compile(pattern), status, headers), times
        for writer, line in list(self._requests.items()):
            if self.refusal.pattern.search(line):
                writer.transport.abort()

    def allow(self) -> None:
        """Forward all requests again."""
        self.refusal = None

    def silence_watches(self) -> None:
        """The watches that are open receive nothing more, as over a dead connection that nobody has closed."""
        self._silent |= {client for client, line in self._requests.items() if "watch=1" in line}

    async def until_refused(self, count: int) -> None:
        """Wait until that many requests have been refused in total."""
        while self.refused < count:
            self._was_refused.clear()
            await self._was_refused.wait()

    async def _move(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, is_answer: bool) -> None:
        if is_answer:
            with contextlib.suppress(OSError):
                while chunk := await reader.read(CHUNK):
                    if writer not in self._silent:
                        writer.write(chunk)
                        await writer.drain()
            return
        client = self._client_of[writer]
        with contextlib.suppress(OSError):
            while chunk := await reader.read(CHUNK):
                if (line := _REQUEST_LINE.match(chunk)) is not None:
                    text = f"{line[1].decode()} {line[2].decode()}"
                    if self._takes(text):
                        assert self.refusal is not None
                        client.write(self.refusal.answer())
                        await client.drain()
                        break
                    self._requests[client] = text
                writer.write(chunk)
                await writer.drain()
        self._requests.pop(client, None)

    def _takes(self, request: str) -> bool:
        """Whether the request is refused; then it counts."""
        if self.refusal is None or self.remaining == 0 or not self.refusal.pattern.search(request):
            return False
        self.refused += 1
        self.remaining = None if self.remaining is None else self.remaining - 1
        self._was_refused.set()
        return True
