"""Fixtures of cluster tests: one cluster for all of them, with the CRDs of the suite."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from devcluster.cluster import Cluster
from olmkit.api.crd import CRD_DEFINITIONS, V1_DEFINITIONS
from olmkit.runtime.client import Client
from tests.cluster.olmkit.conftest import until_allowed
from tests.conftest import running_cluster
from tests.fork_servers import fork_server_parent, forked_fork_servers
from tests.forked_programs import forked_controllers, forked_programs, unforked_controllers

__all__ = [
    "fork_server_parent",
    "forked_controllers",
    "forked_fork_servers",
    "forked_programs",
    "unforked_controllers",
]

CONFIG = Path(__file__).parents[2] / "config"


@pytest.fixture(scope="package")
def cluster(pytestconfig: pytest.Config) -> Iterator[Cluster]:
    """A real cluster for the tests of this directory: tests of other tiers that follow do not share the processors with it."""
    with running_cluster(pytestconfig) as running:
        yield running


@pytest.fixture(scope="package")
def definitions(cluster: Cluster) -> Cluster:
    """The cluster with the CRDs of the suite."""
    serve_definitions(cluster)
    return cluster


def serve_definitions(cluster: Cluster) -> None:
    """Apply the CRDs of the suite, with those of OLM v1, and wait until they are established."""
    for place in (("-k", CONFIG / "crd"), ("-f", CONFIG / "v1" / "crds.yaml")):
        cluster.kubectl("apply", "--server-side", "--force-conflicts", *map(str, place))
    names = [f"crd/{each.kind.plural}.{each.kind.group}" for each in (*CRD_DEFINITIONS, *V1_DEFINITIONS)]
    cluster.kubectl("wait", "--for=condition=Established", "--timeout=60s", *names)


def read_kind(cluster: Cluster, path: str) -> None:
    """Have the API server read the objects of a kind. Before, it may complete the deletion of its CRD only minutes later."""
    cluster.kubectl("get", "--raw", path)


def await_allowed(cluster: Cluster, account: str, **attributes: Any) -> None:
    """until_allowed() for tests without an event loop."""

    async def allowed() -> None:
        async with await Client.connect(str(cluster.kubeconfig)) as client:
            await until_allowed(client, account, resourceAttributes=attributes)

    asyncio.run(allowed())
