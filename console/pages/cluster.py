"""The kinds and the version of the cluster, as far as the user may read them."""

from __future__ import annotations

import asyncio
from collections.abc import Set

from console.page import PageRequest
from console.views.fit import Cluster
from olmkit.errors import ApiError
from olmkit.runtime.discovery import Discovery


async def read_cluster(request: PageRequest, packages: Set[str] = frozenset()) -> tuple[Cluster, Discovery | None]:
    """The cluster, on which Operators have installed these packages, and its kinds; None if they may not be read."""
    version, discovery = await asyncio.gather(_version(request), _discovery(request))
    if discovery is None:
        return Cluster(version, packages=frozenset(packages), is_known=False), None
    found = Cluster(
        version,
        frozenset(discovery.kinds),
        frozenset(discovery.served),
        frozenset(packages),
        away=discovery.failed_groups,
    )
    return found, discovery


async def _discovery(request: PageRequest) -> Discovery | None:
    try:
        return await request.session.client.discover()
    except ApiError:
        return None


async def _version(request: PageRequest) -> str:
    try:
        return await request.session.client.version()
    except ApiError:
        return ""
