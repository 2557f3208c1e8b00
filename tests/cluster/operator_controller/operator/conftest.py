"""One catalogd and one operator-controller for all tests of Operators: what a test stops, the next one starts again."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from devcluster.cluster import Cluster
from devcluster.suite import Suite
from tests.cluster.operator_controller.conftest import running_suite


@pytest.fixture(scope="package")
def suite(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Suite]:
    with running_suite(cluster, tmp_path_factory.mktemp("suite")) as running:
        yield running
