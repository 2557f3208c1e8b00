"""The TLS context of a client: it trusts the CAs of a file, or those of a ConfigMap and the system, or the system's only.

The CAs are read again when they are old or when a server could not be verified; nothing runs in the background. Does not import
`cryptography`, which takes 10 MB.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
import time
from collections.abc import Callable
from pathlib import Path

from olmkit.errors import ApiError, NotFound, OlmError
from olmkit.runtime.client import Client
from olmkit.tls.service import CA_KEY, CONFIG_MAP

REFRESH_SECONDS = 30.0
READ_TIMEOUT_SECONDS = 3.0
"""Requests wait this long for a read."""
MIN_REFRESH_SECONDS = 1.0
"""The minimum between two reads for servers that cannot be verified."""

log = logging.getLogger(__name__)


def client_context(bundle: str, *, with_system: bool) -> ssl.SSLContext:
    """A client's context that trusts the CAs of a PEM text, with or without those of the system. Raises ValueError."""
    try:
        if with_system:
            context = ssl.create_default_context()
            if bundle.strip():
                context.load_verify_locations(cadata=bundle)
        else:
            # Not create_default_context(cadata=...), which trusts the system's CAs when the text is empty.
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.load_verify_locations(cadata=bundle)
    except ssl.SSLError as error:
        raise ValueError("no PEM certificates") from error
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


class ClientTls:
    """Provides the current context. CAs are from a file, or from the ConfigMap (namespace, name) by `client`, or neither."""

    def __init__(
        self,
        file: Path | None = None,
        client: Client | None = None,
        config_map: tuple[str, str] = ("", ""),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self._file = file
        self._client = client
        self._config_map = config_map
        self._bundle: str | None = None
        self._context: ssl.SSLContext | None = None
        self._read_at = 0.0
        self._last_error = ""
        self._lock = asyncio.Lock()

    async def load(self) -> None:
        """Read the CAs. Raises OlmError when there is a file and it cannot be used; other errors are logged."""
        if self._file is None:
            await self.context()
            return
        try:
            bundle = await asyncio.to_thread(self._file.read_text)
            self._use(bundle)
        except (OSError, ValueError) as error:
            problem = error.strerror if isinstance(error, OSError) else "it contains no PEM certificates"
            raise OlmError("BadAuthorities", f"the CAs in {self._file} cannot be used: {problem}") from error

    async def context(self, *, after_failure: bool = False) -> ssl.SSLContext:
        """The current context; another object after the CAs have changed."""
        async with self._lock:
            age = self._clock() - self._read_at
            if self._context is None or age > (MIN_REFRESH_SECONDS if after_failure else REFRESH_SECONDS):
                await self._refresh()
            if self._context is None:
                self._use_nothing()
            assert self._context is not None
            return self._context

    async def _refresh(self) -> None:
        """Read the CAs. After an error the previous ones stay trusted."""
        self._read_at = self._clock()
        try:
            async with asyncio.timeout(READ_TIMEOUT_SECONDS):
                self._use(await self._read())
            self._last_error = ""
        except (OSError, ValueError, ApiError) as error:
            problem = (error.strerror if isinstance(error, OSError) else str(error)) or "no answer in time"
            if problem != self._last_error:
                log.warning("CAs cannot be read, the previous ones stay trusted", extra={"error": problem})
            self._last_error = problem

    async def _read(self) -> str:
        if self._file is not None:
            return await asyncio.to_thread(self._file.read_text)
        if self._client is None:
            return ""
        namespace, name = self._config_map
        try:
            found = await self._client.get(CONFIG_MAP, name, namespace)
        except NotFound:
            return ""
        return str((found.get("data") or {}).get(CA_KEY, ""))

    def _use_nothing(self) -> None:
        """Without a file, trust the system. With one that cannot be read yet, trust no server until it can."""
        if self._file is None:
            self._use("")
        else:
            self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

    def _use(self, bundle: str) -> None:
        if bundle == self._bundle:
            return
        self._context = client_context(bundle, with_system=self._file is None)
        if self._bundle is not None:
            log.info("the trusted CAs have changed")
        self._bundle = bundle
