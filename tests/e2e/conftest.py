"""The three controllers on the session's cluster, and a Stage for each test."""

import re
from collections.abc import Iterator

import pytest

from devcluster.cluster import Cluster
from devcluster.suite import COMPONENTS, Suite
from tests.e2e.faulty_registry import FaultyRegistry, registries_conf
from tests.e2e.stage import Stage

_LOG_LINES = 25


@pytest.fixture(scope="session")
def faulty_registry() -> Iterator[FaultyRegistry]:
    """A registry whose repositories are named for the ways in which they fail."""
    with FaultyRegistry() as registry:
        yield registry


@pytest.fixture(scope="session")
def suite(cluster: Cluster, faulty_registry: FaultyRegistry) -> Iterator[Suite]:
    """catalogd, rukpak and operator-controller as processes, each under its own ServiceAccount."""
    conf = cluster.folder / "registries-e2e.conf"
    conf.write_text(registries_conf(cluster.registries_conf.read_text(), faulty_registry))
    with Suite(cluster, arguments={name: ("--registries-conf", str(conf)) for name in COMPONENTS}) as running:
        running.install()
        running.start()
        yield running


@pytest.fixture
def stage(cluster: Cluster, suite: Suite, request: pytest.FixtureRequest) -> Iterator[Stage]:
    """The Stage of the test; if the test fails, the last lines of the controllers' logs are added to its report."""
    name = re.sub(r"[^a-z0-9]+", "-", request.node.name.removeprefix("test_").lower())[:40].strip("-")
    mine = Stage(cluster, suite, name)
    try:
        yield mine
    finally:
        for component in COMPONENTS:
            request.node.add_report_section("call", f"log of {component}", suite.log_tail(component, _LOG_LINES))
        mine.close()
