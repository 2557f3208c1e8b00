"""The setting of tests about registries that fail."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio

from devcluster.cluster import Cluster
from tests.integration.olmkit.sources.proxied_image import Setting, set_up


@pytest_asyncio.fixture
async def setting(cluster: Cluster) -> AsyncIterator[Setting]:
    async with set_up(cluster) as made:
        yield made
