"""A Scene for each scenario, on the suite of the end-to-end tests."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from devcluster.cluster import Cluster
from devcluster.suite import Suite
from tests.e2e.v1.scene import Scene
from tests.running_suite import add_logs, prefix_of

_numbers = itertools.count(1)


@pytest.fixture
def scene(cluster: Cluster, suite: Suite, request: pytest.FixtureRequest) -> Iterator[Scene]:
    """The Scene of the test, with a name that no other one has; if the test fails, its report has the last lines of the logs."""
    mine = Scene(cluster, suite, f"{prefix_of(request, 24)}-{next(_numbers)}")
    try:
        yield mine
    finally:
        add_logs(request, suite)
        mine.close()
