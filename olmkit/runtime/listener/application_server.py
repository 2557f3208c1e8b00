"""One aiohttp application on one listening port: started, and closed so that requests in progress may end.

Knows nothing of what they serve.
"""

from __future__ import annotations

import logging
import ssl
from collections.abc import Callable

from aiohttp import web

from olmkit.runtime.listener.http_errors import body_limit_middleware
from olmkit.runtime.listener.listener import ConnectionLimits, Listener

log = logging.getLogger(__name__)


class ApplicationServer:
    """Serves an application until close(). `name` is for the log and for errors.

    A request with a body longer than the limits accept is answered with 413. With TLS if there is a context.
    `on_connection_count` is called with the number of connections whenever it changes.
    """

    def __init__(
        self,
        name: str,
        application: web.Application,
        limits: ConnectionLimits,
        *,
        shutdown_grace_seconds: float,
        ssl_context: ssl.SSLContext | None = None,
        on_connection_count: Callable[[int], object] = lambda _: None,
    ) -> None:
        """`shutdown_grace_seconds`: how long requests in progress may continue after close() is called."""
        self._name = name
        application.middlewares.append(body_limit_middleware)  # innermost: after those that check tokens
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=shutdown_grace_seconds)
        self._limits = limits
        self._ssl_context = ssl_context
        self._on_connection_count = on_connection_count
        self._listener: Listener | None = None

    async def start(self, address: str) -> int:
        """Listen on `host:port`; returns the port. Raises OlmError(AddressInUse) when it cannot listen; close() it then too."""
        await self._runner.setup()
        assert self._runner.server is not None
        self._listener = Listener(self._runner.server, self._ssl_context, self._limits, self._on_connection_count)
        host, port = await self._listener.start(address, self._name)
        log.info("listening", extra={"server": self._name, "address": f"{host}:{port}"})
        return port

    async def close(self) -> None:
        """Accept no more requests, wait for those in progress, and abort the rest. Does nothing if it was not started."""
        if self._listener is not None:
            await self._listener.stop()
        await self._runner.cleanup()
        if self._listener is not None:
            self._listener.close()
