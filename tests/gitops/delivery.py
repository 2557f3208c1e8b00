"""What one test delivers with a GitOps tool: three small packages in a catalog, and the objects that ask for them.

The base of argocd_delivery.py and flux_delivery.py, which put the objects into a git repository and wait for their tool.
"""

from collections.abc import Sequence
from typing import Any

from devcluster.demo.full_catalog import catalog_object
from devcluster.watch import Object
from tests.bundle_properties import package_required
from tests.e2e.packages import group, package_blobs, push_bundle, push_catalog, registry_bundle
from tests.e2e.stage import POLL, Stage

FIRST_VERSION = "1.0.0"


class Delivery:
    """Three packages: `dependant` requires `dependency`, and `other` stands alone. `name` is part of all names."""

    def __init__(self, stage: Stage) -> None:
        """Changes nothing yet."""
        self.stage = stage
        self.name = stage.name
        self.dependant, self.dependency, self.other = self.packages = tuple(f"m-{stage.name}-{x}" for x in "abc")

    def publish(self, versions: Sequence[str] = (FIRST_VERSION,)) -> None:
        """Push a catalog of the three packages; a second call moves its tag. `other` has these versions."""
        blobs = [
            self._blobs(self.dependant, [FIRST_VERSION], [package_required(self.dependency)]),
            self._blobs(self.dependency, [FIRST_VERSION]),
            self._blobs(self.other, versions),
        ]
        push_catalog(self.stage, *blobs)
        for name in self.packages:
            self.stage.also_delete("Operator", name)

    def catalog(self, name: str) -> Object:
        """The Catalog of the packages, which the end of the test deletes."""
        self.stage.also_delete("Catalog", name)
        return catalog_object(name, self.stage.repository().reference, POLL)

    def thing(self, package: str, name: str = "thing") -> Object:
        """A custom resource of a package."""
        metadata = {"name": f"{name}-{self.name}", "namespace": "default"}
        return {"apiVersion": f"{group(package)}/v1", "kind": "Thing", "metadata": metadata, "spec": {"size": 1}}

    def thing_exists(self, package: str, name: str = "thing") -> bool:
        """Whether the custom resource of the package exists."""
        return self.stage.exists(f"things.{group(package)}", f"{name}-{self.name}", "--namespace=default")

    def crd_exists(self, package: str) -> bool:
        """Whether the CRD of the package exists."""
        return self.stage.exists("crd", f"things.{group(package)}")

    def _blobs(self, package: str, versions: Sequence[str], properties: Sequence[Any] = ()) -> list[dict[str, Any]]:
        images = {
            version: push_bundle(self.stage, package, registry_bundle(package, version), version)
            for version in versions
        }
        return package_blobs(package, images, properties)
