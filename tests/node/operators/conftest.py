"""The operators of devcluster.operators with images of the suite's image, and a stage for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from devcluster.cluster import Cluster
from devcluster.images import Content, Registry
from devcluster.operators.content import write_content
from devcluster.operators.images import push_images
from devcluster.pod_suite import PodSuite
from olmctl.authoring.images.layout import read as read_image
from release import image
from tests.e2e.stage import ClusterStage
from tests.running_suite import prefix_of

HOST = "registry.example.com"
"""A host for which the registry of the cluster answers, to the pods of the suite and to the node."""


@pytest.fixture(scope="session")
def content(cluster: Cluster, suite_image: image.Built, tmp_path_factory: pytest.TempPathFactory) -> Content:
    """The bundles of the operators, whose images are in the registry."""
    images = push_images(Registry(cluster.registry), HOST, read_image(suite_image.archive))
    return write_content(tmp_path_factory.mktemp("operators") / "content", images)


@pytest.fixture
def stage(cluster: Cluster, suite: PodSuite, request: pytest.FixtureRequest) -> Iterator[ClusterStage]:
    """The stage of the test."""
    mine = ClusterStage(cluster, prefix_of(request, 40), HOST)
    try:
        yield mine
    finally:
        mine.close()
