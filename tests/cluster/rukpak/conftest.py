"""Runs rukpak for each test that asks for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from devcluster.cluster import Cluster
from olmkit.runtime.client import Client
from tests.cluster.rukpak.harness import Harness, harbour, rukpak
from tests.cluster.rukpak.shared_process import SharedRukpak
from tests.cluster.rukpak.tenants import Tenant
from tests.cluster.rukpak.webhook_server import reachable_address


@pytest.fixture
async def at(definitions: Cluster) -> AsyncIterator[Harness]:
    """The cluster's side of a test; whatever it makes goes with it."""
    async with harbour(definitions) as ours:
        yield ours


@pytest.fixture
async def tenant(at: Harness) -> Tenant:
    """An account in a namespace of its own."""
    made = Tenant(at)
    await made.settle()
    return made


IN_PROCESS = {"caplog", "monkeypatch"}
"""Fixtures of tests that read the log of rukpak or change its constants: it runs in the process of the test."""


@pytest.fixture(scope="package")
def shared_rukpak(definitions: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedRukpak]:
    """The process of those tests that need nothing but a running rukpak."""
    with SharedRukpak(definitions, tmp_path_factory.mktemp("shared")) as shared:
        yield shared


@pytest.fixture(autouse=True)
def _one_at_a_time(request: pytest.FixtureRequest, shared_rukpak: SharedRukpak) -> None:
    """The shared process does not run beside that of a test."""
    if "running" not in request.fixturenames or IN_PROCESS & {*request.fixturenames}:
        shared_rukpak.stop()


@pytest.fixture
async def running(
    at: Harness, shared_rukpak: SharedRukpak, request: pytest.FixtureRequest, tmp_path: Path
) -> AsyncIterator[Client]:
    """rukpak runs during the test; yields a client of the cluster."""
    if IN_PROCESS & {*request.fixturenames}:
        async with rukpak(at.cluster, tmp_path) as client:
            yield client
        return
    await asyncio.to_thread(shared_rukpak.ensure)
    yield at.client
    assert shared_rukpak.is_running("rukpak"), shared_rukpak.log_tail("rukpak")
    request.node.add_report_section("call", "log of rukpak", shared_rukpak.log_tail("rukpak"))


@pytest.fixture
def address() -> Iterator[str]:
    """An address that the API server reaches."""
    with reachable_address() as found:
        yield found
