"""An image behind a proxy that injects faults, for tests of failing registries."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio

from tests.integration.olmkit.sources.proxied_image import ProxiedImage, run_proxied_image
from tests.servers.local_registry import LocalRegistry


@pytest_asyncio.fixture
async def proxied(local_registry: LocalRegistry) -> AsyncIterator[ProxiedImage]:
    async with run_proxied_image(local_registry) as made:
        yield made
