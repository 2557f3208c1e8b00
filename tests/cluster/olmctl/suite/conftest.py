"""A cluster without the suite, on which `olm suite` installs and removes it. kwok makes its pods Ready; nothing is executed."""

from __future__ import annotations

import asyncio
import functools
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from devcluster.cluster import Cluster, ClusterOptions, start
from olmctl.main import main
from olmctl.suite.manifests import load_manifests
from olmctl.suite.running import NO_LEADER
from olmkit.runtime.client import Client
from olmkit.runtime.election import Election

Olm = Callable[..., tuple[int, str, str]]
INSTALL = ("suite", "install", "--image", load_manifests().image)
"""The command that installs the suite where it is not installed."""


@pytest.fixture(scope="session")
def bare_cluster(cluster_programs: object) -> Iterator[Cluster]:
    """The cluster. Each test leaves it without the suite, or installs over what it finds."""
    with start(ClusterOptions(f"suite-{os.getpid()}"), print) as running:
        yield running


@pytest.fixture
def olm(bare_cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> Olm:
    """Runs `olm` and returns its exit status, stdout and stderr."""

    def run(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        status = main([*arguments, "--kubeconfig", str(bare_cluster.kubeconfig)])
        return status, *capsys.readouterr()

    return run


def is_installed(olm: Olm) -> bool:
    """Whether `olm suite status` finds nothing wrong but that no controller leads: kwok executes none."""
    status, _, err = olm("suite", "status")
    lines = {f"Deployment {each['metadata']['name']}: {NO_LEADER}" for each in load_manifests().deployments}
    return (status, set(err.splitlines())) == (1, lines)


@contextmanager
def leaders(cluster: Cluster) -> Iterator[None]:
    """Processes that hold the Leases of all controllers, as kwok executes none; their host is called elsewhere."""
    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        thread = threading.Thread(target=loop.run_forever)
        thread.start()
        try:
            holding = asyncio.run_coroutine_threadsafe(_hold(cluster), loop).result()
            try:
                yield
            finally:
                asyncio.run_coroutine_threadsafe(_release(*holding), loop).result()
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()


async def _hold(cluster: Cluster) -> tuple[Client, list[asyncio.Task[None]]]:
    client = await Client(str(cluster.kubeconfig)).__aenter__()
    tasks, events = [], []
    for each in load_manifests().deployments:
        metadata, leads = each["metadata"], asyncio.Event()
        election = Election(client, metadata["name"], metadata["namespace"], holder="elsewhere_1")
        tasks.append(asyncio.create_task(election.run(functools.partial(_lead, leads))))
        events.append(leads)
    await asyncio.gather(*(each.wait() for each in events))
    return client, tasks


async def _lead(leads: asyncio.Event) -> None:
    leads.set()
    await asyncio.Event().wait()


async def _release(client: Client, tasks: list[asyncio.Task[None]]) -> None:
    for each in tasks:
        each.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await client.__aexit__(None, None, None)
