"""The three controllers on a cluster, and a Stage for each test."""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from devcluster.cluster import Cluster
from devcluster.suite import COMPONENTS, Suite
from tests.cluster.conftest import cluster
from tests.e2e.faulty_registry import FaultyRegistry, registries_conf
from tests.e2e.partner import Partner, partner_registry
from tests.e2e.stage import Stage
from tests.forked_programs import forked_controllers, forked_olm, forked_programs
from tests.running_suite import add_logs, prefix_of, suite

__all__ = ["cluster", "forked_controllers", "forked_olm", "forked_programs", "suite"]


@pytest.fixture(scope="package")
def faulty_registry() -> Iterator[FaultyRegistry]:
    """A registry whose repositories are named for the ways in which they fail."""
    with FaultyRegistry() as registry:
        yield registry


@pytest.fixture(scope="package")
def suite_arguments(cluster: Cluster, faulty_registry: FaultyRegistry) -> Mapping[str, Sequence[str]]:
    """The controllers pull from the faulty registry too."""
    conf = cluster.directory / "registries-e2e.conf"
    conf.write_text(registries_conf(cluster.registries_conf.read_text(), faulty_registry))
    return {name: ("--registries-conf", str(conf)) for name in COMPONENTS}


@pytest.fixture
def stage(cluster: Cluster, suite: Suite, request: pytest.FixtureRequest) -> Iterator[Stage]:
    """The Stage of the test; if the test fails, the last lines of the controllers' logs are added to its report."""
    mine = Stage(cluster, suite, prefix_of(request, 40))
    try:
        yield mine
    finally:
        add_logs(request, suite)
        mine.close()


@pytest.fixture
async def partner(cluster: Cluster, suite: Suite, tmp_path: Path) -> AsyncIterator[Partner]:
    """A registry that requires a login."""
    async with partner_registry(cluster, tmp_path) as found:
        yield found
