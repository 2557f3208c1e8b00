"""The suite on a cluster of its own, the sample catalog in the registry, and Chromium at a console in front of them.

The cluster starts without the suite: `suite` installs it. So a test that uses it late sees what a new user sees first.
"""

from __future__ import annotations

import pytest

from devcluster.cluster import Cluster
from devcluster.images import Catalog, Registry
from tests.cluster.conftest import cluster
from tests.described_samples import write as write_samples
from tests.fork_servers import fork_server_parent, forked_fork_servers
from tests.running_suite import suite, suite_arguments

__all__ = ["cluster", "fork_server_parent", "forked_fork_servers", "suite", "suite_arguments"]

HOST = "registry.example.com"
"""The host of the sample catalog, for which the registry of the cluster answers."""


@pytest.fixture(scope="package")
def samples(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The reference of the sample catalog, which the registry has."""
    catalog = Catalog(Registry(cluster.registry), "catalogs/samples:latest", HOST)
    return catalog.push(write_samples(tmp_path_factory.mktemp("samples"))).reference
