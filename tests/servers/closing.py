"""The end of the web servers of tests: when it returns, none of their connections is open. All servers with aiohttp call it."""

from __future__ import annotations

import asyncio

from aiohttp import web

_ACCEPT_TURNS = 4
"""Turns of the event loop from a connection that the kernel reports to its transport, and from an abort to its end."""


async def close(runner: web.AppRunner) -> None:
    """Abort each connection, then clean up the runner.

    aiohttp only begins to close a connection with TLS, and does not know one whose handshake has not ended. A client that does
    not answer at once would leave either open when the test's event loop ends, and another test of the process would be blamed
    for it. So the transports are those that the event loop has at the addresses of the runner.

    A connection that was accepted has a transport one turn later, and a server that is closed in between loses it, so that its
    socket stays open: the server accepts nothing for some turns before it is closed.
    """
    ports = {address[1] for address in runner.addresses}
    await _stop_accepting(runner)
    for site in list(runner.sites):
        await site.stop()
    await _abort(ports)
    await runner.cleanup()
    await _abort(ports)  # an answer that was being written has begun to close its connection since


async def _stop_accepting(runner: web.AppRunner) -> None:
    """Let the servers of the runner accept no connection, and all that they accepted have their transports."""
    for site in runner.sites:
        server = site._server
        for listening in server.sockets if isinstance(server, asyncio.Server) else ():
            asyncio.get_running_loop().remove_reader(listening.fileno())
    for _ in range(_ACCEPT_TURNS):
        await asyncio.sleep(0)


async def _abort(ports: set[int]) -> None:
    """Abort the connections of these ports, as often as there may be one that was accepted before and has its transport since."""
    for _ in range(_ACCEPT_TURNS):
        await asyncio.sleep(0)
        transports: list[asyncio.Transport] = list(vars(asyncio.get_running_loop())["_transports"].values())
        for transport in transports:
            address = transport.get_extra_info("sockname")
            if isinstance(address, tuple) and address[1] in ports:
                transport.abort()
