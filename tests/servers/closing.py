"""The end of the web servers of tests: when it returns, none of their connections is open. All servers with aiohttp call it."""

from __future__ import annotations

from aiohttp import web


async def close(runner: web.AppRunner) -> None:
    """Abort each connection, then clean up the runner.

    aiohttp only begins to close a connection with TLS. A client that does not answer at once would leave it open when the
    test's event loop ends, and another test of the process would be blamed for it.
    """
    for site in list(runner.sites):
        await site.stop()
    for handler in runner.server.connections if runner.server else ():
        if handler.transport is not None:
            handler.transport.abort()
    await runner.cleanup()
