"""The three controllers, Argo CD and a git server on the session's cluster, and a Delivery for each test."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from devcluster.cluster import Cluster
from devcluster.gitops.argocd import ArgoCd
from devcluster.gitops.git_server import GitServer
from devcluster.processes import REPOSITORY
from devcluster.suite import COMPONENTS, Suite
from tests.e2e.stage import Stage
from tests.gitops.delivery import Delivery

SETTINGS = REPOSITORY / "config" / "argocd" / "argocd-cm.yaml"

_LOG_LINES = 25


@pytest.fixture(scope="session")
def suite(cluster: Cluster) -> Iterator[Suite]:
    """catalogd, rukpak and operator-controller as processes, each under its own ServiceAccount."""
    with Suite(cluster) as running:
        running.install()
        running.start()
        yield running


@pytest.fixture(scope="session")
def argocd(cluster: Cluster, argocd_program: Path) -> Iterator[ArgoCd]:
    """Argo CD with the settings of config/argocd."""
    with ArgoCd(cluster) as running:
        running.install(yaml.safe_load(SETTINGS.read_text())["data"])
        running.start()
        yield running


@pytest.fixture(scope="session")
def git_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GitServer]:
    """A git server without repositories."""
    with GitServer(tmp_path_factory.mktemp("git")) as server:
        yield server


@pytest.fixture
def delivery(
    cluster: Cluster, suite: Suite, argocd: ArgoCd, git_server: GitServer, request: pytest.FixtureRequest
) -> Iterator[Delivery]:
    """The Delivery of the test; if the test fails, the last lines of all logs are added to its report."""
    name = re.sub(r"[^a-z0-9]+", "-", request.node.name.removeprefix("test_").lower())[:34].strip("-")
    mine = Delivery(Stage(cluster, suite, name), argocd, git_server.repository(name))
    try:
        yield mine
    finally:
        for component in COMPONENTS:
            request.node.add_report_section("call", f"log of {component}", suite.log_tail(component, _LOG_LINES))
        for component in ("argocd-application-controller", "argocd-repo-server", "argocd-server"):
            request.node.add_report_section("call", f"log of {component}", argocd.log_tail(component, _LOG_LINES))
        mine.close()
