"""Catalogs over HTTP: whole, filtered, and per package what a resolver needs.

    GET|HEAD /catalogs/<c>/all.json                                        the whole, as the 4.14 guide's era knows it
    GET|HEAD /catalogs/<c>/api/v1/all                                      the same bytes
    GET|HEAD /catalogs/<c>/api/v1/metas?schema=&package=&name=             the blobs that match all of it
    GET|HEAD /catalogs/<c>/api/v1/resolution?package=<p>                   catalogd.resolution's document

Runs on every replica, also while the API server is away. Reads the shelf and nothing else; a path of a request never becomes a
path on disk. Errors are JSON: {"error": "..."}.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path

import orjson
from aiohttp import web
from prometheus_client import Histogram

from catalogd.conditional import Representation, answer
from catalogd.index import Range
from catalogd.shelf import Shelf, Shelved
from olmkit.errors import OlmError
from olmkit.probes import parse_address

CHUNK = 1024 * 1024
"""Bytes read and sent at a time."""
RETRY_AFTER = "2"
DIGEST_HEADER = "Olm-Catalog-Digest"
FILTERS = ("schema", "package", "name")

REQUESTS = Histogram(
    "catalogd_http_request_duration_seconds",
    "Duration of requests for catalogs until their last byte.",
    ["code"],
    buckets=(0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2, 1.6, 2.0, 2.4, 2.8, 3.2, 3.6, 4.0, 10.0),
)

log = logging.getLogger(__name__)
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True)
class _Body:
    """What a request is answered with: ranges of one file, one after the other."""

    path: Path
    ranges: Sequence[Range]
    content_type: str


class Server:
    """`is_known` says whether a Catalog of that name exists: None when that cannot be told, then the shelf alone counts."""

    def __init__(self, shelf: Shelf, is_known: Callable[[str], bool | None]) -> None:
        self._shelf = shelf
        self._is_known = is_known
        self._runner: web.AppRunner | None = None

    def application(self) -> web.Application:
        """The routes."""
        application = web.Application(middlewares=[_measured, _errors_as_json])
        get = application.router.add_get
        get("/catalogs/{catalog}/all.json", self._all_json)
        get("/catalogs/{catalog}/api/v1/all", self._all)
        get("/catalogs/{catalog}/api/v1/metas", self._metas)
        get("/catalogs/{catalog}/api/v1/resolution", self._resolution)
        return application

    async def start(self, address: str) -> int:
        """Listen on `host:port`; returns the port. Raises OlmError when that cannot be."""
        self._runner = web.AppRunner(self.application(), access_log=None, shutdown_timeout=3.0)
        await self._runner.setup()
        host, port = parse_address(address)
        try:
            await web.TCPSite(self._runner, host, port).start()
        except OSError as error:
            raise OlmError("AddressInUse", f"cannot listen on {address} for catalogs: {error.strerror}") from error
        bound = self._runner.addresses[0]
        log.info("listening", extra={"server": "catalogs", "address": f"{bound[0]}:{bound[1]}"})
        return int(bound[1])

    async def close(self) -> None:
        """Take no more requests; those under way have 3 seconds to end."""
        if self._runner is not None:
            await self._runner.cleanup()

    async def _all_json(self, request: web.Request) -> web.StreamResponse:
        return await self._send(request, lambda shelved: _whole(shelved, "application/json"))

    async def _all(self, request: web.Request) -> web.StreamResponse:
        return await self._send(request, lambda shelved: _whole(shelved, "application/jsonl"))

    async def _metas(self, request: web.Request) -> web.StreamResponse:
        asked = _parameters(request, FILTERS)

        def body(shelved: Shelved) -> _Body:
            index = shelved.content.index
            return _Body(shelved.content.blobs, index.ranges(index.find(**asked)), "application/jsonl")

        return await self._send(request, body)

    async def _resolution(self, request: web.Request) -> web.StreamResponse:
        package = _parameters(request, ("package",)).get("package", "")
        if not package:
            raise web.HTTPBadRequest(reason="name the package: ?package=<name>")

        def body(shelved: Shelved) -> _Body:
            place = shelved.content.resolution(package)
            if place is None:
                headers = {DIGEST_HEADER: shelved.record.digest}
                raise web.HTTPNotFound(reason="the catalog has no such package", headers=headers)
            return _Body(shelved.content.resolutions, [place], "application/json")

        return await self._send(request, body)

    async def _send(self, request: web.Request, choose: Callable[[Shelved], _Body]) -> web.StreamResponse:
        """Content that is replaced and removed between look-up and opening is looked up again."""
        name = request.match_info["catalog"]
        shelved = self._served(name)
        body = choose(shelved)
        try:
            file = os.open(body.path, os.O_RDONLY)
        except FileNotFoundError:
            shelved = self._served(name)
            body = choose(shelved)
            try:
                file = os.open(body.path, os.O_RDONLY)
            except FileNotFoundError:
                raise _unavailable() from None
        try:
            return await _respond(request, shelved, body, file)
        finally:
            os.close(file)

    def _served(self, name: str) -> Shelved:
        is_known = self._is_known(name)
        shelved = self._shelf.get(name)
        if is_known is False or (is_known is None and shelved is None):
            raise web.HTTPNotFound(reason="there is no such catalog")
        if shelved is None:
            raise _unavailable()
        return shelved


def _unavailable() -> web.HTTPException:
    return web.HTTPServiceUnavailable(reason="the catalog is not served yet", headers={"Retry-After": RETRY_AFTER})


def _whole(shelved: Shelved, content_type: str) -> _Body:
    return _Body(shelved.content.blobs, [(0, shelved.content.index.size)], content_type)


def _parameters(request: web.Request, known: Sequence[str]) -> dict[str, str]:
    """Query parameters, each at most once. Raises 400."""
    found: dict[str, str] = {}
    for name, value in request.query.items():
        if name not in known:
            raise web.HTTPBadRequest(reason=f"unknown query parameter; known are {', '.join(known)}")
        if name in found:
            raise web.HTTPBadRequest(reason=f"{name} is given more than once")
        found[name] = value
    return found


async def _respond(request: web.Request, shelved: Shelved, body: _Body, file: int) -> web.StreamResponse:
    size = sum(length for _, length in body.ranges)
    modified = datetime.fromisoformat(shelved.record.unpacked)
    there = Representation(size, shelved.record.digest, modified)
    decided = answer(request.method, request.headers, there)
    headers = {
        "ETag": f'"{there.etag}"',
        "Last-Modified": format_datetime(modified.astimezone(UTC), usegmt=True),
        "Accept-Ranges": "bytes",
        "Cache-Control": "no-cache",
        DIGEST_HEADER: shelved.record.digest,
    }
    if decided.status == 412:
        raise web.HTTPPreconditionFailed(headers=headers)
    if decided.status == 416:
        raise web.HTTPRequestRangeNotSatisfiable(headers={**headers, "Content-Range": f"bytes */{size}"})
    response = web.StreamResponse(status=decided.status, headers=headers)
    if decided.status != 304:
        response.content_type = body.content_type
        response.content_length = decided.length
    if decided.status == 206:
        last = decided.start + decided.length - 1
        response.headers["Content-Range"] = f"bytes {decided.start}-{last}/{size}"
    await response.prepare(request)
    if request.method == "GET" and decided.length:
        for wanted in _batches(_within(body.ranges, decided.start, decided.length)):
            await response.write(await _read(file, wanted))
    await response.write_eof()
    return response


def _within(ranges: Sequence[Range], start: int, length: int) -> Iterator[Range]:
    """The part of the ranges, laid end to end, that begins at `start`."""
    at = 0
    for offset, size in ranges:
        skip = max(start - at, 0)
        take = min(size - skip, start + length - max(at, start))
        if skip < size and take > 0:
            yield offset + skip, take
        at += size


def _batches(ranges: Iterator[Range]) -> Iterator[list[Range]]:
    """Ranges in portions of about a chunk; larger ones are cut."""
    batch: list[Range] = []
    room = CHUNK
    for offset, length in ranges:
        while length > 0:
            part = min(length, room)
            batch.append((offset, part))
            offset, length, room = offset + part, length - part, room - part
            if room == 0:
                yield batch
                batch, room = [], CHUNK
    if batch:
        yield batch


async def _read(file: int, ranges: Sequence[Range]) -> bytes:
    def read() -> bytes:
        return b"".join(os.pread(file, length, offset) for offset, length in ranges)

    # A few pages come from memory faster than a thread can be asked for them.
    small = sum(length for _, length in ranges) < CHUNK // 4
    return read() if small else await asyncio.to_thread(read)


@web.middleware
async def _measured(request: web.Request, handler: Handler) -> web.StreamResponse:
    started = time.monotonic()
    code = "500"
    try:
        response = await handler(request)
        code = str(response.status)
        return response
    except (asyncio.CancelledError, ConnectionError):
        code = "499"  # the client went away
        raise
    finally:
        REQUESTS.labels(code).observe(time.monotonic() - started)


@web.middleware
async def _errors_as_json(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except web.HTTPException as error:
        text = orjson.dumps({"error": error.reason}) + b"\n"
        kept = {name: value for name, value in error.headers.items() if name not in ("Content-Type", "Content-Length")}
        return web.Response(body=text, status=error.status, headers=kept, content_type="application/json")
