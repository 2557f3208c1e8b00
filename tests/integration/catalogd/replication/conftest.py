"""Three replicas, each with a shelf of its own; and whole ones that stand for the lease."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from devcluster.cluster import Cluster
from devcluster.suite import NAMESPACE, Suite
from tests.cluster.catalogd.conftest import World
from tests.cluster.catalogd.elected import Replicas
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


@pytest.fixture(scope="session")
def installed(definitions: Cluster) -> Suite:
    """The accounts and namespaces of config/rbac are there; no controller runs."""
    suite = Suite(definitions)
    suite.install()
    return suite


@pytest.fixture
async def replicas(world: World, installed: Suite, tmp_path: Path) -> AsyncIterator[Replicas]:
    kubeconfig = await asyncio.to_thread(world.cluster.token_kubeconfig, NAMESPACE, "catalogd")
    async with AsyncExitStack() as stack:
        yield Replicas(world, installed, kubeconfig, tmp_path, stack)
