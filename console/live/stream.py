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
HEADERS = {"Content-Type": "text/event-stream", "Cache-Control": "no-store", "X-Accel-Buffering": "no"}
_COMMENT = b": here\n\n"
"""Keeps proxies from ending a connection on which nothing happens."""


async def send(request: web.Request, stream: Stream, expires: float, on_end: Callable[[], None]) -> web.StreamResponse:
    """Send the messages of a stream until the client is gone, the session is over, or a message ends the page. Calls `on_end`."""
    response = web.StreamResponse(headers=HEADERS)
    connection = connection_of(request)
    metrics.STREAMS.inc()
    try:
        if connection is not None:
            connection.on_gone(stream.leave)
        await response.prepare(request)
        while True:
            messages = await _next(stream, expires)
            await response.write(b"".join(message.encoded for message in messages) or _COMMENT)
            if any(message in (LOGIN, END) for message in messages):
                return response
    except ConnectionError:
        return response
    finally:
        metrics.STREAMS.dec()
        on_end()


async def _next(stream: Stream, expires: float) -> list[Message]:
    """The next messages; none after a while without any. Raises ConnectionResetError when the client is gone."""
    remaining = expires - time.time()
    try:
        async with asyncio.timeout(min(KEEP_ALIVE_SECONDS, remaining)):
            return await stream.take()
    except TimeoutError:
        return [] if remaining > KEEP_ALIVE_SECONDS else [LOGIN]


async def send_one(request: web.Request, message: Message) -> web.StreamResponse:
    """A stream of one message: an EventSource cannot see the status of a response."""
    response = web.StreamResponse(headers=HEADERS)
    await response.prepare(request)
    await response.write(message.encoded)
    return response
