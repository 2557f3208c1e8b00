"""The response that carries the messages for one tab, as Server-Sent Events, until the tab or the session ends."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from aiohttp import web

from console import metrics
from console.live.hub import END, LOGIN, Message, Stream
from olmkit.runtime.listener.listener import connection_of

KEEP_ALIVE_SECONDS = 15.0
CHECK_SECONDS = 1.0
"""The time after which a tab that was closed, or a session that is over, is noticed."""
HEADERS = {"Content-Type": "text/event-stream", "Cache-Control": "no-store", "X-Accel-Buffering": "no"}
_COMMENT = b": here\n\n"
"""Keeps proxies from ending a connection on which nothing happens."""


async def send(request: web.Request, stream: Stream, expires: float, on_end: Callable[[], None]) -> web.StreamResponse:
    """Send the messages of a stream until the client is gone, the session is over, or a message ends the page. Calls `on_end`."""
    response = web.StreamResponse(headers=HEADERS)
    metrics.STREAMS.inc()
    try:
        await response.prepare(request)
        while True:
            messages = await _next(request, stream, expires)
            await response.write(b"".join(message.encode() for message in messages) or _COMMENT)
            if any(message in (LOGIN, END) for message in messages):
                return response
    except ConnectionError:
        return response
    finally:
        metrics.STREAMS.dec()
        on_end()


async def _next(request: web.Request, stream: Stream, expires: float) -> list[Message]:
    """The next messages; none after a while without any. Raises ConnectionError when the client is gone."""
    until = time.monotonic() + KEEP_ALIVE_SECONDS
    while time.monotonic() < until:
        if time.time() >= expires:
            return [LOGIN]
        connection = connection_of(request)
        if request.transport is None or (connection is not None and connection.has_eof):
            raise ConnectionResetError("the client is gone")
        try:
            async with asyncio.timeout(CHECK_SECONDS):
                return await stream.take()
        except TimeoutError:
            continue
    return []


async def send_one(request: web.Request, message: Message) -> web.StreamResponse:
    """A stream of one message: an EventSource cannot see the status of a response."""
    response = web.StreamResponse(headers=HEADERS)
    await response.prepare(request)
    await response.write(message.encode())
    return response
