"""catalogd and operator-controller as processes under their own ServiceAccounts; the tests play the role of rukpak."""

import contextlib
import re
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from devcluster.api_client import MERGE
from devcluster.cluster import Cluster
from devcluster.suite import Suite
from devcluster.watch import BUNDLE_DEPLOYMENTS, BUNDLES, Object, condition
from tests.cluster.operator_controller.operator.site import Site, make_site
from tests.e2e.packages import catalog_file, package_blobs
from tests.e2e.stage import Stage

FINALIZER = "operators.operatorframework.io/remove-bundle-deployment"
PROCESSES = ("catalogd", "operator-controller")
Triple = tuple[str, str, str]
HEALTHY: Sequence[Triple] = (
    ("HasValidBundle", "True", "UnpackSuccessful"),
    ("Healthy", "True", "Healthy"),
    ("Installed", "True", "InstallationSucceeded"),
    ("Ready", "True", "Succeeded"),
)


class Scene(Stage):
    """A Stage in which the test plays the role of rukpak."""

    def catalog_of(
        self, *versions: str, package: str = "", properties: Mapping[str, Sequence[Any]] | None = None
    ) -> str:
        """Push a catalog with a chain of versions of the package in channel stable; returns its reference."""
        self.repository().push_files(catalog_file(blobs(package or self.name, versions, properties or {})))
        return self.repository().reference

    def deployment_when(self, name: str, version: str) -> Object:
        """The BundleDeployment as soon as it requests the version."""

        def found(objects: Mapping[str, Object]) -> Object | None:
            return objects[name] if name in objects and wanted_version(objects[name]) == version else None

        return self.until(BUNDLE_DEPLOYMENTS, f"BundleDeployment {name} requests {version}", found)

    def install(self, name: str, version: str) -> str:
        """Report the version as installed and healthy as soon as it is requested; returns the Bundle's name."""
        deployment = self.deployment_when(name, version)
        bundle = f"{name}-{version.replace('.', '')}"
        template, metadata = deployment["spec"]["template"], deployment["metadata"]
        owner = {"apiVersion": deployment["apiVersion"], "kind": "BundleDeployment", "controller": True}
        body = {
            "apiVersion": "core.rukpak.io/v1alpha1",
            "kind": "Bundle",
            "metadata": {
                "name": bundle,
                "annotations": template["metadata"]["annotations"],
                "labels": {"core.rukpak.io/owner-kind": "BundleDeployment", "core.rukpak.io/owner-name": name},
                "ownerReferences": [{**owner, "name": name, "uid": metadata["uid"]}],
            },
            "spec": template["spec"],
        }
        self.cluster.api.apply(BUNDLES, body)
        self.set_status(name, HEALTHY, active=bundle)
        return bundle

    def set_status(
        self,
        name: str,
        conditions: Sequence[Triple],
        *,
        active: str | None = None,
        message: str = "",
        **fields: Mapping[str, Any] | None,
    ) -> None:
        """Write the status of a BundleDeployment for its current generation; `fields` are others of it (installed, refused)."""
        generation = self.get("bundledeployment", name)["metadata"]["generation"]
        status: dict[str, Any] = {
            "observedGeneration": generation,
            "conditions": [
                {
                    "type": kind,
                    "status": value,
                    "reason": reason,
                    "message": message,
                    "observedGeneration": generation,
                    "lastTransitionTime": "2026-01-01T00:00:00Z",
                }
                for kind, value, reason in conditions
            ],
        }
        if active is not None:
            status["activeBundle"] = active
        status |= {key: value for key, value in fields.items() if value is not None}
        self.cluster.api.call("PATCH", f"{BUNDLE_DEPLOYMENTS}/{name}/status", {"status": status}, MERGE)

    def set_finalizers(self, name: str, *finalizers: str) -> None:
        """Replace the finalizers of a BundleDeployment: while it has one, its deletion does not end."""
        patch = {"metadata": {"finalizers": finalizers}}
        self.cluster.api.call("PATCH", f"{BUNDLE_DEPLOYMENTS}/{name}", patch, MERGE)

    def foreign_deployment(self, *owners: Mapping[str, Any], source: Mapping[str, Any] | None = None) -> None:
        """Create a BundleDeployment of the test's name that operator-controller did not create, of an image without `source`."""
        source = source or {"type": "image", "image": {"ref": "registry.example.com/mine:v1"}}
        template = {"spec": {"provisionerClassName": "core-rukpak-io-plain", "source": source}}
        body = {
            "apiVersion": "core.rukpak.io/v1alpha1",
            "kind": "BundleDeployment",
            "metadata": {"name": self.name, "ownerReferences": owners},
            "spec": {"provisionerClassName": "core-rukpak-io-plain", "template": template},
        }
        self.cluster.api.call("POST", BUNDLE_DEPLOYMENTS, body)

    def condition_when(self, name: str, aspect: str, status: str, text: str = "") -> Object:
        """The Operator as soon as the condition has this status and a message that contains the text."""
        return self.operator_when(
            name,
            f"{aspect} is {status} with {text!r}",
            lambda o: condition(o, aspect)["status"] == status and text in condition(o, aspect)["message"],
        )


def blobs(package: str, versions: Sequence[str], properties: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """The package's blobs. Its images do not exist: nothing pulls them here."""
    kind = {"type": "olm.gvk", "value": {"group": f"{package}.example.com", "version": "v1", "kind": "Thing"}}
    package_content = package_blobs(package, {version: image_of(package, version) for version in versions}, [kind])
    for blob, version in zip(package_content[-len(versions) :], versions, strict=True):
        blob["properties"] += properties.get(version, ())
    return package_content


def image_of(package: str, version: str) -> str:
    """The image reference that the catalog names for a version."""
    return f"registry.example.com/{package}:v{version}"


def wanted_version(deployment: Object) -> str:
    """The version that a BundleDeployment requests."""
    return _wanted(deployment, "bundle-version")


def wanted_catalog(deployment: Object) -> str:
    """The Catalog that a BundleDeployment names."""
    return _wanted(deployment, "catalog")


def _wanted(deployment: Object, what: str) -> str:
    annotations = (deployment["spec"]["template"].get("metadata") or {}).get("annotations") or {}
    return str(annotations.get(f"operators.operatorframework.io/{what}", ""))


@contextlib.contextmanager
def running_suite(cluster: Cluster, directory: Path) -> Iterator[Suite]:
    with Suite(cluster, directory) as running:
        running.install()
        running.start(*PROCESSES)
        yield running


@pytest.fixture(scope="module")
def suite(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Suite]:
    with running_suite(cluster, tmp_path_factory.mktemp("suite")) as running:
        yield running


@pytest.fixture
async def site(cluster: Cluster, suite: Suite, tmp_path: Path) -> AsyncIterator[Site]:
    """The packages of a test, catalogd and rukpak; the test runs operator-controller."""
    try:
        async with make_site(cluster, suite, tmp_path) as own:
            yield own
    finally:
        suite.stop("rukpak")
        suite.delete_webhooks()


@pytest.fixture
def scene(cluster: Cluster, suite: Suite, request: pytest.FixtureRequest) -> Iterator[Scene]:
    """The test's own objects on the cluster. If a test fails, its report contains the ends of the logs."""
    slug = re.sub(r"[^a-z0-9]+", "-", request.node.name.removeprefix("test_").lower())
    own = Scene(cluster, suite, f"{slug[:24].strip('-')}-{uuid.uuid4().hex[:6]}")
    suite.start(*PROCESSES)  # which the test before may have stopped
    try:
        yield own
    finally:
        suite.start(*PROCESSES)
        for process in PROCESSES:
            request.node.add_report_section("call", f"log of {process}", suite.log_tail(process, 40))
        own.close()
