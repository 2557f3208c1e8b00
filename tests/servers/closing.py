"""The end of the web servers of tests: when it returns, none of their connections is open. All servers with aiohttp call it."""

from __future__ import annotations

import asyncio

from aiohttp import web


async def close(runner: web.AppRunner) -> None:
    """Abort each connection, then clean up the runner.

    aiohttp only begins to close a connection with TLS, and does not know one whose handshake has not ended. A client that does
    not answer at once would leave either open when the test's event loop ends, and another test of the process would be blamed
    for it. So the transports are those that the event loop has at the addresses of the runner.
    """
    ports = {address[1] for address in runner.addresses}
    for site in list(runner.sites):
        await site.stop()
    await asyncio.sleep(0)  # what was accepted last gets its transport
    transports: list[asyncio.Transport] = list(vars(asyncio.get_running_loop())["_transports"].values())
    for transport in transports:
        address = transport.get_extra_info("sockname")
        if isinstance(address, tuple) and address[1] in ports:
            transport.abort()
    await runner.cleanup()
