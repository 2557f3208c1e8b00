"""Reads and closes responses of the API server. Never sends anything."""

from __future__ import annotations

import aiohttp

from olmkit.runtime.wire import parse_failure


async def read_body(response: aiohttp.ClientResponse) -> bytes:
    """The body of a response. Raises ApiError by its status code, from 400 on."""
    if response.status >= 400:
        retry_after = response.headers.get("Retry-After", "")
        raise parse_failure(response.status, response.reason or "", await response.read(), retry_after)
    return await response.read()


def abort(response: aiohttp.ClientResponse) -> None:
    """Close the connection of a response that is not read completely, without waiting for the TLS close_notify of the peer."""
    connection = response.connection
    if connection is not None and connection.transport is not None:
        connection.transport.abort()
