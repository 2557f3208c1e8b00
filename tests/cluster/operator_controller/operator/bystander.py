"""An installed Operator that a test must not affect."""

from collections.abc import Iterator
from contextlib import contextmanager

from devcluster.cluster import Cluster
from devcluster.suite import Suite
from tests.cluster.operator_controller.conftest import PROCESSES, Scene


class Bystander:
    """An Operator with a package and a Catalog of its own, installed."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        scene.ready_catalog(scene.catalog_of("1.0.0"))
        self.name = scene.operator(scene.name)
        scene.install(self.name, "1.0.0")
        scene.ready_operator(self.name, "1.0.0")
        self._before = self._versions()

    def check(self) -> None:
        """Fails if the Operator or its BundleDeployment was written since it was installed."""
        assert self._versions() == self._before

    def _versions(self) -> tuple[str, str, int]:
        """The resourceVersions of the Operator and of its BundleDeployment, and the generation of the latter."""
        operator, deployment = self._scene.get("Operator", self.name), self._scene.get("bundledeployment", self.name)
        generation = deployment["metadata"]["generation"]
        return operator["metadata"]["resourceVersion"], deployment["metadata"]["resourceVersion"], generation


@contextmanager
def bystander(cluster: Cluster, suite: Suite, name: str) -> Iterator[Bystander]:
    """The Bystander of one module; removed at the end."""
    suite.start(*PROCESSES)
    scene = Scene(cluster, suite, name)
    try:
        yield Bystander(scene)
    finally:
        scene.close()
