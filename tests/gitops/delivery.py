"""What one test delivers with a GitOps tool: three small packages in a catalog, and the objects that ask for them.

The base of argocd_delivery.py and flux_delivery.py, which put the objects into a git repository and wait for their tool.
"""

import json
from collections.abc import Sequence
from typing import Any

from devcluster.demo.full_catalog import catalog_object
from devcluster.watch import BUNDLE_DEPLOYMENTS, OPERATORS, Object
from tests.bundle_properties import package_required
from tests.e2e.packages import group, package_blobs, push_bundle, push_catalog, registry_bundle
from tests.e2e.stage import POLL, Stage

FIRST_VERSION = "1.0.0"
REMOVAL_SECONDS = 240.0
"""A dependency is deleted after a count of its custom resources, of which rukpak makes at most one per minute."""
KINDS = (
    "catalogs",
    "packages",
    "operators.operators.operatorframework.io",
    "bundledeployments",
    "bundles",
    "namespaces",
    "crds",
)
"""All kinds without a namespace of which a Delivery has objects."""


class Delivery:
    """Three packages: `dependant` requires `dependency`, and `other` stands alone. `asked` are those with an Operator in git.

    `name` is part of the names of all objects.
    """

    def __init__(self, stage: Stage) -> None:
        """Changes nothing yet."""
        self.stage = stage
        self.name = stage.name
        self.dependant, self.dependency, self.other = self.packages = tuple(f"m-{stage.name}-{x}" for x in "abc")
        self.asked = (self.dependant, self.other)

    def publish(self, versions: Sequence[str] = (FIRST_VERSION,), others: Sequence[Object] = ()) -> None:
        """Push a catalog of the three packages; a second call moves its tag. `other` has these versions, with these objects."""
        blobs = [
            self._blobs(self.dependant, [FIRST_VERSION], [package_required(self.dependency)]),
            self._blobs(self.dependency, [FIRST_VERSION]),
            self._blobs(self.other, versions, others=others),
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

    def identity(self, package: str) -> tuple[str, int, str, int]:
        """What changes if the Operator or its BundleDeployment is created or installed again."""
        operator = self.stage.get("Operator", package)["metadata"]
        deployment = self.stage.get("bundledeployment", package)["metadata"]
        return operator["uid"], operator["generation"], deployment["uid"], deployment["generation"]

    def until_nothing_is_left(self) -> None:
        """Wait until no Operator and no BundleDeployment of the packages is there; then nothing else may be."""
        for path in (OPERATORS, BUNDLE_DEPLOYMENTS):
            found = "all are deleted"
            self.stage.until(path, found, lambda objects: not set(self.packages) & objects.keys(), REMOVAL_SECONDS)
        for kind in KINDS:
            names = [
                item["metadata"]["name"]
                for item in json.loads(self.stage.cluster.kubectl("get", kind, "-o", "json"))["items"]
            ]
            assert not [name for name in names if self.name in name], kind

    def _blobs(
        self, package: str, versions: Sequence[str], properties: Sequence[Any] = (), others: Sequence[Object] = ()
    ) -> list[dict[str, Any]]:
        images = {
            version: push_bundle(self.stage, package, registry_bundle(package, version, others=others), version)
            for version in versions
        }
        return package_blobs(package, images, properties)
