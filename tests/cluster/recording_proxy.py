"""A proxy in front of the real API server that records who sends which request.

It reads the head of each request and nothing else: a client of ours sends it in one piece, and its next request on a connection
only after the answer to the one before.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import ssl
from typing import NamedTuple

from tests.cluster.proxy import CHUNK, Proxy

_REQUEST_LINE = re.compile(r"([A-Z]+) ([^ ?]*)(\S*) HTTP/1\.1\r\n")
_HEADER = re.compile(r"\r\n(Impersonate-[^:]+): ([^\r]*)", re.IGNORECASE)
READING = ("GET", "HEAD", "OPTIONS")


class Recorded(NamedTuple):
    """A request."""

    method: str
    path: str
    query: str
    impersonation: dict[str, str]
    """The headers that name another identity, in lower case."""

    @property
    def user(self) -> str:
        return self.impersonation.get("impersonate-user", "")

    @property
    def is_dry_run(self) -> bool:
        return "dryRun=All" in self.query


class RecordingProxy(Proxy):
    """Forwards every request. `requests` has them in their order."""

    def __init__(self, upstream: tuple[str, int], tls: ssl.SSLContext | None) -> None:
        super().__init__(upstream, tls)
        self.requests: list[Recorded] = []

    @property
    def writes(self) -> list[Recorded]:
        """The requests that may change something."""
        return [each for each in self.requests if each.method not in READING and not each.is_dry_run]

    async def _move(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, is_answer: bool) -> None:
        with contextlib.suppress(OSError):
            while chunk := await reader.read(CHUNK):
                if not is_answer:
                    self._record(chunk)
                writer.write(chunk)
                await writer.drain()

    def _record(self, chunk: bytes) -> None:
        head = chunk.partition(b"\r\n\r\n")[0].decode(errors="replace")
        line = _REQUEST_LINE.match(f"{head}\r\n")
        if line is not None:
            headers = {name.lower(): value for name, value in _HEADER.findall(head)}
            self.requests.append(Recorded(line[1], line[2], line[3], headers))
