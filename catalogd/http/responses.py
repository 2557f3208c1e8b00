"""Sends one response of catalogd: ranges of a file, under the conditions of the request, or an error as JSON; and negotiates
media type and encoding (RFC 9110 sections 12.4.2, 12.5.1 and 12.5.3): invalid members of a header are ignored.

Nothing here knows about catalogs. Memory is bounded however many clients
read however slowly: the more there are, the smaller the chunks. A file that is shorter than expected ends the connection.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC
from email.utils import format_datetime
from pathlib import Path

from aiohttp import web
from prometheus_client import Counter

from catalogd.http.conditional_requests import Representation, evaluate_preconditions
from catalogd.ingest.content import ByteRange
from olmkit.runtime.listener.http_errors import HTTPError

IDENTITY = "identity"
_ALIASES = {"x-gzip": "gzip"}
_QUALITY = re.compile(r"0(\.[0-9]{0,3})?|1(\.0{0,3})?")


_RASTER_IMAGES = frozenset(
    f"image/{kind}" for kind in ("png", "jpeg", "gif", "webp", "avif", "bmp", "x-icon", "vnd.microsoft.icon")
)
"""Images that cannot contain scripts."""
_SVG = "image/svg+xml"
_BINARY = "application/octet-stream"


MAX_WRITE_BYTES = 256 * 1024
"""The largest write. Larger ones are no faster, and TLS keeps a buffer of the largest one per connection."""
SINGLE_WRITE_MAX_BYTES = 128 * 1024
"""Header and body of smaller responses are sent in one write, which is cheaper: one system call and fewer TLS records."""
MIN_WRITE_BYTES = 32 * 1024
MAX_BYTES_IN_FLIGHT = 16 * 1024 * 1024
"""Bytes that all responses may hold in memory, as far as MIN_WRITE_BYTES allows; the buffers of TLS and the kernel not
counted."""
_READ_NOWAIT = getattr(os, "RWF_NOWAIT", 0)

RESPONSE_BYTES = Counter("catalogd_http_response_bytes", "Bytes of bodies sent, as encoded, before TLS.", ["encoding"])


class TruncatedFile(Exception):
    """The file is shorter than expected. `headers_sent`: the header of the response was sent already."""

    headers_sent = False


@dataclass(frozen=True)
class ResponseBody:
    """Ranges of one file, concatenated. `is_whole`: they are the whole file, so a compressed form can be sent instead.

    `owner` is the object that the file belongs to, since the path may name another file later. Without a path the bytes are in
    memory. `tag` is the suffix of the entity tag.
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
        """The number of bytes of all ranges."""
        return sum(length for _, length in self.ranges)


class OpenFiles:
    """Files that are being sent, each opened once for all clients, to save file descriptors."""

    def __init__(self) -> None:
        self._open: dict[tuple[int, Path], list[int]] = {}

    @contextmanager
    def open(self, body: ResponseBody) -> Iterator[int]:
        """Yield the file descriptor. Raises FileNotFoundError. `body.owner` must not be freed before the block ends."""
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
    request: web.Request, representation: Representation, body: ResponseBody, file: int | bytes
) -> web.StreamResponse:
    """Send the body, or what the conditions and the Range of the request require. `file` is a descriptor or all the bytes.

    Raises TruncatedFile, HTTPError and ConnectionError.
    """
    headers = {
        "ETag": f'"{representation.etag}"',
        "Last-Modified": format_datetime(representation.modified.astimezone(UTC), usegmt=True),
        "Accept-Ranges": "bytes",
        "Cache-Control": "no-cache",
        **body.headers,
    }
    result = evaluate_preconditions(request.method, conditional_headers(request), representation)
    if result.status == 412:
        raise HTTPError(412, "a precondition of the request is not satisfied", headers)
    if result.status == 416:
        message = f"the range starts after the end: the size is {representation.size} bytes"
        raise HTTPError(416, message, {**headers, "Content-Range": f"bytes */{representation.size}"})
    if result.status == 304:
        return web.Response(status=304, headers=headers)
    if body.encoding != IDENTITY:
        headers["Content-Encoding"] = body.encoding
    if result.status == 206:
        headers["Content-Range"] = f"bytes {result.start}-{result.start + result.length - 1}/{representation.size}"
    if request.method == "GET" and result.length <= SINGLE_WRITE_MAX_BYTES:
        chunk = await read_ranges(file, list(slice_ranges(body.ranges, result.start, result.length)))
        response: web.StreamResponse = web.Response(status=result.status, headers=headers, body=chunk)
        response.content_type = body.media_type
        RESPONSE_BYTES.labels(body.encoding).inc(len(chunk))
        return response
    response = web.StreamResponse(status=result.status, headers=headers)
    response.content_type = body.media_type
    response.content_length = result.length
    await response.prepare(request)
    if request.method == "GET":
        try:
            await _send(response, body, file, slice_ranges(body.ranges, result.start, result.length))
        except TruncatedFile as error:
            error.headers_sent = True
            raise
    await response.write_eof()
    return response


def conditional_headers(request: web.Request) -> Mapping[str, str]:
    """The conditional headers of the request; repeated lines are joined."""
    names = ("If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since", "If-Range", "Range")
    headers = request.headers
    return {name: ", ".join(headers.getall(name)) for name in names if name in headers}


async def _send(
    response: web.StreamResponse, body: ResponseBody, file: int | bytes, wanted: Iterator[ByteRange]
) -> None:
    for batch in batch_ranges(wanted):
        with _count_in_memory(sum(length for _, length in batch)):
            chunk = await read_ranges(file, batch)
            await response.write(chunk)
        RESPONSE_BYTES.labels(body.encoding).inc(len(chunk))


_in_memory = 0


@contextmanager
def _count_in_memory(size: int) -> Iterator[None]:
    """Count bytes as long as they wait for their client."""
    global _in_memory
    _in_memory += size
    try:
        yield
    finally:
        _in_memory -= size


def _write_size() -> int:
    """The size of the next write: the more is in flight, the smaller."""
    return max(MIN_WRITE_BYTES, min(MAX_WRITE_BYTES, (MAX_BYTES_IN_FLIGHT - _in_memory) // 4))


def slice_ranges(ranges: Sequence[ByteRange], start: int, length: int) -> Iterator[ByteRange]:
    """The part of the concatenated ranges that starts at `start`."""
    at = 0
    for offset, size in ranges:
        skip = max(start - at, 0)
        take = min(size - skip, start + length - max(at, start))
        if skip < size and take > 0:
            yield offset + skip, take
        at += size


def batch_ranges(ranges: Iterator[ByteRange]) -> Iterator[list[ByteRange]]:
    """Group ranges into writes, and split the larger ones. The size of a write is determined when it starts."""
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


async def read_ranges(file: int | bytes, ranges: Sequence[ByteRange]) -> bytes | bytearray:
    """Read ranges: directly if the page cache has them, otherwise in a thread. Raises TruncatedFile."""
    if isinstance(file, bytes):
        return b"".join(file[offset : offset + length] for offset, length in ranges)
    if len(ranges) == 1 and _READ_NOWAIT:
        chunk = bytearray(ranges[0][1])
        try:
            if os.preadv(file, [chunk], ranges[0][0], _READ_NOWAIT) == len(chunk):
                return chunk
        except OSError:
            pass  # not in the page cache, or not supported by the file system
    elif sum(length for _, length in ranges) < MIN_WRITE_BYTES * 4:
        return _read_ranges(file, ranges)  # for a few pages, a thread takes longer than the read
    return await asyncio.to_thread(_read_ranges, file, ranges)


def _read_ranges(file: int, ranges: Sequence[ByteRange]) -> bytes:
    parts = [os.pread(file, length, offset) for offset, length in ranges]
    if any(len(part) != length for part, (_, length) in zip(parts, ranges, strict=True)):
        raise TruncatedFile
    return parts[0] if len(parts) == 1 else b"".join(parts)


def select_encoding(accept_encoding: str | None, offered: Sequence[str]) -> str | None:
    """Select one of `offered` (best first, without identity) or IDENTITY; None when the client accepts none of them.

    Without the header, IDENTITY is selected: such clients seldom decompress. Another encoding with the same weight is
    preferred to identity. Identity is excluded only by `identity;q=0`, or by `*;q=0` without a member for identity.
    """
    if accept_encoding is None:
        return IDENTITY
    weights = {_ALIASES.get(name, name): weight for name, weight in _members(accept_encoding)}
    others = weights.get("*", 0.0)
    best, most = None, 0.0
    for each in offered:
        if (weight := weights.get(each, others)) > most:
            best, most = each, weight
    plain = weights.get(IDENTITY, weights.get("*"))
    if best is not None and (plain is None or most >= plain):
        return best
    return None if plain == 0 else IDENTITY


def accepts_media_type(accept: str | None, media_type: str) -> bool:
    """Report whether this Accept header allows the media type. The most specific range decides."""
    if accept is None or not accept.strip():
        return True
    kind = media_type.partition("/")[0]
    weights = {name: weight for name, weight in _members(accept)}
    for range_ in (media_type, f"{kind}/*", "*/*"):
        if range_ in weights:
            return weights[range_] > 0
    return False


def _members(header: str) -> Iterator[tuple[str, float]]:
    """Yields each member in lower case without its parameters, and its weight (default 1)."""
    for member in header.lower().split(","):
        name, *parameters = (part.strip() for part in member.split(";"))
        weights = [
            value.strip() for key, _, value in (each.partition("=") for each in parameters) if key.strip() == "q"
        ]
        if name and all(_QUALITY.fullmatch(weight) for weight in weights):
            yield name, float(weights[0]) if weights else 1.0


def safe_icon_headers(media_type: str) -> tuple[str, dict[str, str]]:
    """The media type and headers with which an icon of this media type is sent."""
    headers = {"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "default-src 'none'; sandbox"}
    base_type = media_type.partition(";")[0].strip().lower()
    if base_type in _RASTER_IMAGES:
        return base_type, headers
    if base_type == _SVG:
        headers["Content-Security-Policy"] = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
        return _SVG, headers
    return _BINARY, {**headers, "Content-Disposition": "attachment"}
