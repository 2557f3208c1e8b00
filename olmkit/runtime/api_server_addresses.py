"""The addresses of the API server: the configured one, and the endpoints of Service default/kubernetes.

Used by catalogd and rukpak before they start a job that fetches a source: no source may have one of these addresses
(olmkit.sources.addresses). Reads one object, by name, at most once a minute. Never writes.
"""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Any

from olmkit.api.meta import Kind
from olmkit.errors import ApiError, Forbidden, NotFound
from olmkit.runtime.client import Client

ENDPOINT_SLICES = Kind("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices", namespaced=True)
SERVICE_NAME, SERVICE_NAMESPACE = "kubernetes", "default"
REFRESH_INTERVAL_SECONDS = 60.0

log = logging.getLogger(__name__)


class ApiServerAddresses:
    """The known endpoints. One instance per process."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._endpoints: tuple[str, ...] = ()
        self._read_at = float("-inf")
        self._reading = asyncio.Lock()
        self._is_forbidden = False

    async def hosts(self) -> tuple[str, ...]:
        """Each as host:port, the configured one first. If the endpoints cannot be read, the last ones that were read count.

        Raises ApiError if they were never read and the API server does not answer.
        """
        async with self._reading:
            if time.monotonic() - self._read_at >= REFRESH_INTERVAL_SECONDS:
                await self._read()
        return (self._client.host, *self._endpoints)

    async def _read(self) -> None:
        try:
            self._endpoints = endpoints(await self._client.get(ENDPOINT_SLICES, SERVICE_NAME, SERVICE_NAMESPACE))
        except NotFound:
            self._endpoints = ()
        except Forbidden as error:
            if not self._is_forbidden:
                text = (
                    "the endpoints of the API server cannot be read: only its configured address is refused to sources"
                )
                log.warning(text, extra={"error": error.message})
            self._is_forbidden = True
        except ApiError:
            if self._read_at == float("-inf"):
                raise
            return
        self._read_at = time.monotonic()


def endpoints(raw: dict[str, Any]) -> tuple[str, ...]:
    """The host:port pairs of an EndpointSlice, sorted; IPv6 addresses are in brackets."""
    addresses = {address for each in raw.get("endpoints") or () for address in each.get("addresses") or ()}
    ports = {port["port"] for port in raw.get("ports") or () if port.get("port")}
    return tuple(sorted(f"{_bracketed(address)}:{port}" for address in addresses for port in ports))


def _bracketed(address: str) -> str:
    return f"[{address}]" if ":" in address else address
