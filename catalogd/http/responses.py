"""One answer of catalogd's HTTP: part of a file, under the request's conditions, or a refusal in JSON.

Used by catalogd.http.server, which chooses the file; nothing here knows of catalogs. Memory stays bounded however many
clients read however slowly: the more there are, the smaller the portions. A file that is shorter than it should be ends the
connection.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC
from email.utils import format_datetime
from pathlib import Path

import orjson
from aiohttp import web
from prometheus_client import Counter

from catalogd.http.conditional_requests import Representation, evaluate_preconditions
from catalogd.http.content_negotiation import IDENTITY
from catalogd.ingest.blob_index import ByteRange

MAX_WRITE_BYTES = 256 * 1024
"""Bytes read and sent at a time. Larger ones are no faster, and TLS keeps a buffer of the largest one per connection."""
SINGLE_WRITE_MAX_BYTES = 128 * 1024
"""Up to here head and body are sent together, which is cheaper: one call, one TLS record more filled."""
MIN_WRITE_BYTES = 32 * 1024
MAX_BYTES_IN_FLIGHT = 16 * 1024 * 1024
"""Bytes that all answers under way may hold in memory, as far as LEAST_CHUNK allows; what TLS and the kernel hold comes to it."""
_READ_WITHOUT_WAITING = getattr(os, "RWF_NOWAIT", 0)

RESPONSE_BYTES = Counter("catalogd_http_response_bytes", "Bytes of bodies sent, as encoded, before TLS.", ["encoding"])


class HTTPError(Exception):
    """Answered with this status and {"error": message}."""

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.headers = status, message, dict(headers or {})

    def response(self) -> web.Response:
        """As JSON."""
        text = orjson.dumps({"error": self.message}) + b"\n"
        return web.Response(body=text, status=self.status, headers=self.headers, content_type="application/json")


class TruncatedFile(Exception):
    """The file ended before its content did; `is_under_way`: the head of the answer has been sent."""

    headers_sent = False


@dataclass(frozen=True)
class ResponseBody:
    """Ranges of one file, one after the other, or `is_whole` of it.

    `owner` is what the file belongs to: the path may stand for another one later; without a path the bytes are in
    memory. `tag` ends its entity tag.
    """

    owner: object
    path: Path | None
    ranges: Sequence[ByteRange]
    media_type: str
    encoding: str = IDENTITY
    tag: str = ""
    is_whole: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """Bytes of all ranges."""
        return sum(length for _, length in self.ranges)


class OpenFiles:
    """Files that are being sent, each opened once however many clients read it: descriptors are few."""

    def __init__(self) -> None:
        self._open: dict[tuple[int, Path], list[int]] = {}

    @contextmanager
    def open(self, body: ResponseBody) -> Iterator[int]:
        """The descriptor, while the block lasts. Raises FileNotFoundError. `body.owner` must live as long."""
        assert body.path is not None
        key = (id(body.owner), body.path)
        entry = self._open.get(key)
        if entry is None:
            entry = self._open[key] = [os.open(body.path, os.O_RDONLY | os.O_CLOEXEC), 0]
        entry[1] += 1
        try:
            yield entry[0]
        finally:
            entry[1] -= 1
            if entry[1] == 0:
                del self._open[key]
                os.close(entry[0])


async def respond(
    request: web.Request, there: Representation, body: ResponseBody, file: int | bytes
) -> web.StreamResponse:
    """Send it, or what the request's conditions and Range make of it; `file` is a descriptor or all the bytes.

    Raises TruncatedFile, HTTPError and ConnectionError.
    """
    headers = {
        "ETag": f'"{there.etag}"',
        "Last-Modified": format_datetime(there.modified.astimezone(UTC), usegmt=True),
        "Accept-Ranges": "bytes",
        "Cache-Control": "no-cache",
        **body.headers,
    }
    decided = evaluate_preconditions(request.method, _conditional_headers(request), there)
    if decided.status == 412:
        raise HTTPError(412, "a condition of the request does not hold: this is other content", headers)
    if decided.status == 416:
        message = f"the range begins behind the end: there are {there.size} bytes"
        raise HTTPError(416, message, {**headers, "Content-Range": f"bytes */{there.size}"})
    if decided.status == 304:
        return web.Response(status=304, headers=headers)
    if body.encoding != IDENTITY:
        headers["Content-Encoding"] = body.encoding
    if decided.status == 206:
        headers["Content-Range"] = f"bytes {decided.start}-{decided.start + decided.length - 1}/{there.size}"
    if request.method == "GET" and decided.length <= SINGLE_WRITE_MAX_BYTES:
        portion = await _read(file, list(slice_ranges(body.ranges, decided.start, decided.length)))
        response: web.StreamResponse = web.Response(status=decided.status, headers=headers, body=portion)
        response.content_type = body.media_type
        RESPONSE_BYTES.labels(body.encoding).inc(len(portion))
        return response
    response = web.StreamResponse(status=decided.status, headers=headers)
    response.content_type = body.media_type
    response.content_length = decided.length
    await response.prepare(request)
    if request.method == "GET":
        try:
            await _send(response, body, file, slice_ranges(body.ranges, decided.start, decided.length))
        except TruncatedFile as torn:
            torn.headers_sent = True
            raise
    await response.write_eof()
    return response


def _conditional_headers(request: web.Request) -> Mapping[str, str]:
    """Headers that decide, by their usual names; several lines of one are one list."""
    names = ("If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since", "If-Range", "Range")
    headers = request.headers
    return {name: ", ".join(headers.getall(name)) for name in names if name in headers}


async def _send(
    response: web.StreamResponse, body: ResponseBody, file: int | bytes, wanted: Iterator[ByteRange]
) -> None:
    for batch in batch_ranges(wanted):
        with _count_in_memory(sum(length for _, length in batch)):
            portion = await _read(file, batch)
            await response.write(portion)
        RESPONSE_BYTES.labels(body.encoding).inc(len(portion))


_in_memory = 0


@contextmanager
def _count_in_memory(size: int) -> Iterator[None]:
    """Counts bytes that wait for their clients, which may be long."""
    global _in_memory
    _in_memory += size
    try:
        yield
    finally:
        _in_memory -= size


def _write_size() -> int:
    """The fuller memory is, the smaller the next portion."""
    return max(MIN_WRITE_BYTES, min(MAX_WRITE_BYTES, (MAX_BYTES_IN_FLIGHT - _in_memory) // 4))


def slice_ranges(ranges: Sequence[ByteRange], start: int, length: int) -> Iterator[ByteRange]:
    """The part of the ranges, laid end to end, that begins at `start`."""
    at = 0
    for offset, size in ranges:
        skip = max(start - at, 0)
        take = min(size - skip, start + length - max(at, start))
        if skip < size and take > 0:
            yield offset + skip, take
        at += size


def batch_ranges(ranges: Iterator[ByteRange]) -> Iterator[list[ByteRange]]:
    """Ranges in portions of about a chunk, as large as a chunk may be by then; larger ones are cut."""
    batch: list[ByteRange] = []
    room = _write_size()
    for offset, length in ranges:
        while length > 0:
            part = min(length, room)
            batch.append((offset, part))
            offset, length, room = offset + part, length - part, room - part
            if room == 0:
                yield batch
                batch, room = [], _write_size()
    if batch:
        yield batch


async def _read(file: int | bytes, ranges: Sequence[ByteRange]) -> bytes | bytearray:
    """What is in memory comes at once; for the disk a thread waits."""
    if isinstance(file, bytes):
        return b"".join(file[offset : offset + length] for offset, length in ranges)
    if len(ranges) == 1 and _READ_WITHOUT_WAITING:
        portion = bytearray(ranges[0][1])
        try:
            if os.preadv(file, [portion], ranges[0][0], _READ_WITHOUT_WAITING) == len(portion):
                return portion
        except OSError:
            pass  # not in memory, or a file system that cannot tell
    elif sum(length for _, length in ranges) < MIN_WRITE_BYTES * 4:
        return _read_ranges(file, ranges)  # a few pages come faster than a thread can be asked for them
    return await asyncio.to_thread(_read_ranges, file, ranges)


def _read_ranges(file: int, ranges: Sequence[ByteRange]) -> bytes:
    parts = [os.pread(file, length, offset) for offset, length in ranges]
    if any(len(part) != length for part, (_, length) in zip(parts, ranges, strict=True)):
        raise TruncatedFile
    return parts[0] if len(parts) == 1 else b"".join(parts)
