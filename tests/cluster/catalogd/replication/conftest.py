"""Replicas that elect a leader on the API server."""

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
from tests.integration.catalogd.replication.conftest import follower, leader

__all__ = ["follower", "leader"]


@pytest.fixture(scope="package")
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
