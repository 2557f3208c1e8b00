"""Receives the body of an upload into a file without a name, within limits on bytes and time, and hashes it.

The sender may be anyone who reaches the port, so that nothing is stored elsewhere before the whole archive is here.
"""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import dataclass
from typing import IO

import aiohttp
from aiohttp import web

from olmkit.runtime.listener.http_errors import HTTPError, body_too_long

MIN_RECEIVE_RATE = 64 * 1024
"""Bytes per second, on average, that a sender has to send."""
RECEIVE_GRACE_SECONDS = 10.0
"""The time by which a sender may be late: for its first bytes, and when the network stops for a moment."""
MAX_RECEIVE_SECONDS = 300.0
CHUNK_BYTES = 64 * 1024
_CLOSE = {"Connection": "close"}


@dataclass(frozen=True)
class Received:
    """An archive in the file that was given."""

    digest: str
    size: int


async def expect_nothing_yet(request: web.Request) -> None:
    """The expect_handler of a route whose handler checks a request before it asks for the body."""


async def receive(request: web.Request, file: IO[bytes], max_bytes: int) -> Received:
    """Write the body to the file. Raises HTTPError: 400 if it is empty or ends early, 408 if it is slow, 413 if it is too long.

    The client that asks whether it may send a body (Expect: 100-continue) gets its answer here.
    """
    if request.headers.get("Expect", "").lower() == "100-continue":
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    total, size = hashlib.sha256(), 0
    started = asyncio.get_running_loop().time()
    try:
        async with asyncio.timeout_at(started + RECEIVE_GRACE_SECONDS) as limit:
            async for chunk in request.content.iter_chunked(CHUNK_BYTES):
                size += len(chunk)
                if size > max_bytes:
                    raise _closing(body_too_long(max_bytes))
                total.update(chunk)
                await asyncio.to_thread(file.write, chunk)
                late = RECEIVE_GRACE_SECONDS + size / MIN_RECEIVE_RATE
                limit.reschedule(started + min(late, MAX_RECEIVE_SECONDS))
    except TimeoutError:
        text = f"send at least {MIN_RECEIVE_RATE} bytes per second, for {MAX_RECEIVE_SECONDS:g} s at most"
        text = f"the body came too slowly: {text}"
        raise HTTPError(408, text, _CLOSE) from None
    except (aiohttp.ClientPayloadError, aiohttp.http_exceptions.BadHttpMessage):
        raise HTTPError(400, "the body ended early", _CLOSE) from None
    if not size:
        raise HTTPError(400, "the body is empty: send an archive")
    if request.content_length not in (None, size):
        raise HTTPError(400, "the body ended early", _CLOSE)
    return Received(f"sha256:{total.hexdigest()}", size)


def _closing(error: HTTPError) -> HTTPError:
    return HTTPError(error.status, error.message, _CLOSE)
