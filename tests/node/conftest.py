"""A cluster with a real node, on which the suite runs as pods of its image."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from devcluster.cluster import Cluster, ClusterOptions, start
from devcluster.errors import DevclusterError
from devcluster.pod_suite import CONSOLE, PodSuite
from release import image
from tests.running_suite import add_logs


@pytest.fixture(scope="session")
def suite_image(tmp_path_factory: pytest.TempPathFactory) -> image.Built:
    """The image of this working tree: that of the directory OLM_IMAGE_DIRECTORY, or a new one."""
    given = os.environ.get("OLM_IMAGE_DIRECTORY")
    try:
        return image.built_in(Path(given)) if given else image.build(tmp_path_factory.mktemp("image"), print)
    except DevclusterError as error:
        pytest.fail(str(error), pytrace=False)


@pytest.fixture(scope="session")
def cluster(coredns_program: Path) -> Iterator[Cluster]:
    """A cluster with a real node for the whole session. Tests use unique names in it."""
    try:
        running = start(ClusterOptions(f"node-{os.getpid()}", real_node=True), print)
    except DevclusterError as error:
        pytest.fail(str(error), pytrace=False)
    with running:
        yield running


@pytest.fixture(scope="session")
def installed_suite(cluster: Cluster, suite_image: image.Built) -> PodSuite:
    """catalogd, rukpak and operator-controller as pods that are ready."""
    running = PodSuite(cluster)
    running.install(suite_image.archive)
    try:
        running.wait_until_available()
    except DevclusterError as error:
        pytest.fail(str(error), pytrace=False)
    return running


@pytest.fixture(scope="session")
def console(installed_suite: PodSuite) -> str:
    """The web console as pods that are ready. The name of its Deployment and its Service."""
    installed_suite.install_console()
    try:
        installed_suite.wait_until_available(CONSOLE)
    except DevclusterError as error:
        pytest.fail(str(error), pytrace=False)
    return CONSOLE


@pytest.fixture
def suite(installed_suite: PodSuite, request: pytest.FixtureRequest) -> Iterator[PodSuite]:
    """The suite; if the test fails, the last lines of the controllers' logs are added to its report."""
    yield installed_suite
    add_logs(request, installed_suite)
