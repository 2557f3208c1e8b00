"""The three controllers, Argo CD and a git server on the session's cluster, and a Delivery for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from devcluster.cluster import Cluster
from devcluster.gitops.argocd import ArgoCd
from devcluster.gitops.artifacts import ArtifactRepository
from devcluster.gitops.flux import NAMESPACE, PROGRAM, Flux
from devcluster.gitops.git_server import GitServer
from devcluster.processes import REPOSITORY
from devcluster.suite import Suite
from tests.e2e.stage import Stage
from tests.gitops.argocd_delivery import ArgoCdDelivery
from tests.gitops.flux_delivery import FluxDelivery
from tests.running_suite import add_logs, prefix_of, suite, suite_arguments

__all__ = ["suite", "suite_arguments"]

SETTINGS = REPOSITORY / "config" / "argocd" / "argocd-cm.yaml"

_NAME_LENGTH = 34


@pytest.fixture(scope="session")
def argocd(cluster: Cluster, argocd_program: Path, helm_program: Path) -> Iterator[ArgoCd]:
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


@pytest.fixture(scope="session")
def flux(cluster: Cluster, kustomize_controller_program: Path) -> Iterator[Flux]:
    """A running kustomize-controller."""
    with Flux(cluster) as running:
        running.install()
        running.start()
        yield running


@pytest.fixture
def delivery(
    cluster: Cluster, suite: Suite, argocd: ArgoCd, git_server: GitServer, request: pytest.FixtureRequest
) -> Iterator[ArgoCdDelivery]:
    """The Delivery of the test by Argo CD; if the test fails, the last lines of all logs are added to its report."""
    name = prefix_of(request, _NAME_LENGTH)
    mine = ArgoCdDelivery(Stage(cluster, suite, name), argocd, git_server.repository(name))
    try:
        yield mine
    finally:
        add_logs(request, suite)
        add_logs(request, argocd, ("argocd-application-controller", "argocd-repo-server", "argocd-server"))
        mine.close()


@pytest.fixture
def flux_delivery(
    cluster: Cluster, suite: Suite, flux: Flux, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[FluxDelivery]:
    """The Delivery of the test by Flux; if the test fails, the last lines of all logs are added to its report."""
    name = prefix_of(request, _NAME_LENGTH)
    with ArtifactRepository(cluster, tmp_path, NAMESPACE, name) as repository:
        mine = FluxDelivery(Stage(cluster, suite, name), repository)
        try:
            yield mine
        finally:
            add_logs(request, suite)
            add_logs(request, flux, (PROGRAM,))
            mine.close()
