"""Three replicas, each with a store of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.integration.catalogd.replicas import Replica, replica


@pytest.fixture
async def leader(tmp_path: Path) -> AsyncIterator[Replica]:
    async with replica(tmp_path / "leader") as running:
        yield running


@pytest.fixture
async def other(tmp_path: Path) -> AsyncIterator[Replica]:
    async with replica(tmp_path / "other") as running:
        yield running


@pytest.fixture
async def follower(tmp_path: Path) -> AsyncIterator[Replica]:
    async with replica(tmp_path / "follower") as running:
        yield running
