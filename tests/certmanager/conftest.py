"""cert-manager on the session's cluster, and rukpak for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from devcluster.cert_manager import CONTROLLER, INJECTOR, WEBHOOK, CertManager
from devcluster.cluster import Cluster
from tests.cluster.conftest import definitions
from tests.cluster.rukpak.conftest import address, at, running
from tests.running_suite import add_logs

__all__ = ["address", "at", "definitions", "running"]


@pytest.fixture(scope="session")
def started(cluster: Cluster, cert_manager_program: Path) -> Iterator[CertManager]:
    """cert-manager, as it is installed: controllers, CA injector and webhook."""
    with CertManager(cluster) as found:
        found.start()
        yield found


@pytest.fixture
def cert_manager(started: CertManager, request: pytest.FixtureRequest) -> Iterator[CertManager]:
    """cert-manager; if the test fails, the last lines of its logs are added to its report."""
    yield started
    add_logs(request, started, (CONTROLLER, INJECTOR, WEBHOOK))
