"""A proxy in front of the real API server that kills a process with one of its writes.

A kill is before the request (the API server never gets it) or after it (the API server answers, and nobody hears the answer).
Points are counted in writes, dry runs among them, so that a seed determines them.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from random import Random

from tests.cluster.proxy import Proxy

_WRITES = (b"POST /", b"PATCH /", b"PUT /", b"DELETE /")
_EVENTS = b"/events"


class Moment(Enum):
    """When the process is killed."""

    BEFORE = "before its request"
    AFTER = "after its request was carried out"


@dataclass(frozen=True)
class KillPoint:
    """The write that a process is killed with, counted from its start."""

    write: int
    moment: Moment


def kill_points(seed: int, count: int, writes: Sequence[int]) -> list[list[KillPoint]]:
    """The points of each round, spread over the writes of all rounds; a round makes at least so many, killed or not."""
    random = Random(seed)
    places = sorted(random.sample(range(sum(writes)), count))
    points: list[list[KillPoint]] = []
    start = 0
    for size in writes:
        inside = [start - 1, *(place for place in places if start <= place < start + size)]
        points.append([KillPoint(two - one, random.choice(list(Moment))) for one, two in pairwise(inside)])
        start += size
    return points


class KillingProxy(Proxy):
    """Counts the writes of one process at a time; `kill` is called at its point."""

    kill: Callable[[], None]
    point: KillPoint | None = None
    """None: the process lives."""
    writes = 0
    """Of the present process."""
    all_writes = 0

    def __init__(self, upstream: tuple[str, int], tls: ssl.SSLContext | None) -> None:
        super().__init__(upstream, tls)
        self._written = asyncio.Event()
        self._is_dead = False
        self._ends: dict[asyncio.StreamReader, asyncio.StreamWriter] = {}
        """The two ends of each connection to the API server."""
        self._last: asyncio.StreamWriter | None = None
        """The connection with the request whose answer the process is killed at."""

    def begin(self, point: KillPoint | None) -> None:
        """Another process starts, with a point of its own."""
        self.writes, self.point, self._is_dead, self._last = 0, point, False, None

    async def is_quiet(self, seconds: float) -> bool:
        """Whether no write is made for so long."""
        self._written.clear()
        try:
            await asyncio.wait_for(self._written.wait(), seconds)
        except TimeoutError:
            return True
        return False

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await super()._connect()
        self._ends[reader] = writer
        return reader, writer

    async def _move(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, is_answer: bool) -> None:
        if not is_answer:
            watched = _Watched(reader, lambda chunk: self._asked(chunk, writer))
            await super()._move(watched, writer, is_answer=False)  # type: ignore[arg-type]
            return
        upstream = self._ends.pop(reader)
        watched = _Watched(reader, lambda chunk: self._answered(chunk, upstream))
        await super()._move(watched, writer, is_answer=True)  # type: ignore[arg-type]
        if upstream is self._last:
            self._end()  # no answer comes

    def _asked(self, chunk: bytes, upstream: asyncio.StreamWriter) -> bytes:
        """The chunk to forward; empty when the process is killed before."""
        if self._is_dead:
            return b""
        line = chunk.partition(b"\r\n")[0]
        if not line.startswith(_WRITES) or _EVENTS in line:
            return chunk
        self.writes += 1
        self.all_writes += 1
        self._written.set()
        if self.point is None or self.writes < self.point.write or self._last is not None:
            return chunk
        if self.point.moment is Moment.AFTER:
            self._last = upstream
            return chunk
        self._end()
        return b""

    def _answered(self, chunk: bytes, upstream: asyncio.StreamWriter) -> bytes:
        """The chunk to forward; empty when the process is killed before it has heard the answer."""
        if self._is_dead:
            return b""
        if upstream is not self._last:
            return chunk
        self._end()
        return b""

    def _end(self) -> None:
        self._is_dead, self._last = True, None
        self.kill()


class _Watched:
    """The reading end of a connection, and what is forwarded of the bytes that come."""

    def __init__(self, reader: asyncio.StreamReader, watch: Callable[[bytes], bytes]) -> None:
        self._reader = reader
        self._watch = watch

    async def read(self, size: int) -> bytes:
        """The next bytes to forward; none at the end."""
        chunk = await self._reader.read(size)
        return self._watch(chunk) if chunk else chunk
