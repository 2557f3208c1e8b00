"""Runs rukpak for each test that asks for it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from devcluster.cluster import Cluster
from olmkit.runtime.client import Client
from tests.cluster.rukpak.harness import Harness, harbour, rukpak
from tests.cluster.rukpak.webhook_server import reachable_address


@pytest.fixture
async def at(definitions: Cluster) -> AsyncIterator[Harness]:
    """The cluster's side of a test; whatever it makes goes with it."""
    async with harbour(definitions) as ours:
        yield ours


@pytest.fixture
async def running(at: Harness, tmp_path: Path) -> AsyncIterator[Client]:
    """rukpak, until the test ends."""
    async with rukpak(at.cluster, tmp_path) as client:
        yield client


@pytest.fixture
def address() -> Iterator[str]:
    """An address that the API server reaches."""
    with reachable_address() as found:
        yield found
