"""Flux's kustomize-controller delivers a Catalog, Operators and their custom resources out of git.

As Flux checks all objects of a Kustomization before it applies one, custom resources are in a Kustomization of their own, which
depends on that of the Operators (config/samples/gitops/flux-kustomizations.yaml).
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from devcluster.cluster import Cluster
from devcluster.demo.full_catalog import catalog_object, operator_object
from devcluster.gitops.artifacts import ArtifactRepository
from devcluster.gitops.flux import NAMESPACE, Flux
from devcluster.processes import REPOSITORY
from devcluster.suite import COMPONENTS, Suite
from devcluster.watch import BUNDLE_DEPLOYMENTS, OPERATORS, Object, condition, is_true
from olmkit.api.operators import INSTALLED_FOR_LABEL
from tests.bundle_properties import package_required
from tests.e2e.packages import group, package_blobs, push_bundle, push_catalog, registry_bundle
from tests.e2e.stage import POLL, Stage

KUSTOMIZATIONS = f"/apis/kustomize.toolkit.fluxcd.io/v1/namespaces/{NAMESPACE}/kustomizations"
EXPRESSIONS = REPOSITORY / "config" / "flux" / "health-check-exprs.yaml"
SAMPLE = REPOSITORY / "config" / "samples" / "gitops" / "flux-kustomizations.yaml"
SECONDS = 120.0


@pytest.fixture(scope="session")
def flux(cluster: Cluster, kustomize_controller_program: Path) -> Iterator[Flux]:
    """A running kustomize-controller."""
    with Flux(cluster) as running:
        running.install()
        running.start()
        yield running


class Delivery:
    """The repository and the two Kustomizations of a test.

    `dependant` requires `dependency`, `other` stands alone. The repository has a Catalog, Operators of `dependant` and `other`,
    and a custom resource of each package.
    """

    def __init__(self, stage: Stage, repository: ArtifactRepository) -> None:
        self.stage = stage
        self.dependant, self.dependency, self.other = (f"{stage.name}-{letter}" for letter in "abc")
        self.operators, self.things = f"{stage.name}-operators", f"{stage.name}-things"
        self._repository = repository

    def publish(self) -> None:
        """Push the catalog and the bundles."""
        blobs = [
            self._blobs(self.dependant, [package_required(self.dependency)]),
            self._blobs(self.dependency),
            self._blobs(self.other),
        ]
        push_catalog(self.stage, *blobs)
        for name in (self.dependant, self.dependency, self.other):
            self.stage.also_delete("Operator", name)
        self.stage.also_delete("Catalog", self.stage.name)

    def push(self, other: Mapping[str, Any] | None) -> str:
        """Commit all objects; the Operator of `other` has these fields in its spec, None leaves it and its resource out."""
        packages = [self.dependant, self.dependency, *([] if other is None else [self.other])]
        operators = [operator_object(self.dependant)]
        if other is not None:
            operators.append(operator_object(self.other, None, **other))
        catalog = catalog_object(self.stage.name, self.stage.repository().reference, POLL)
        files = {
            "operators/all.yaml": yaml.safe_dump_all([catalog, *operators]),
            "things/all.yaml": yaml.safe_dump_all([self._thing(package) for package in packages]),
        }
        return self._repository.push(files)

    def create_kustomizations(self) -> None:
        """Apply both, in the wrong order."""
        self._apply(self.things, "./things", dependsOn=[{"name": self.operators}])
        self._apply(self.operators, "./operators", healthCheckExprs=yaml.safe_load(EXPRESSIONS.read_text()))

    def until_ready(self, revision: str) -> None:
        """Wait until both are Ready with that commit."""
        names = (self.operators, self.things)

        def applied(objects: Mapping[str, Object]) -> bool:
            found = [objects.get(f"{NAMESPACE}/{name}") for name in names]
            return all(
                is_true(each, "Ready") and (each or {})["status"].get("lastAppliedRevision") == revision
                for each in found
            )

        self.stage.until(KUSTOMIZATIONS, f"both Kustomizations are Ready with {revision}", applied, SECONDS)

    def until_failed(self, revision: str) -> str:
        """Wait until the Operators' Kustomization has failed with that commit; return its message."""

        def failed(objects: Mapping[str, Object]) -> str:
            found = objects.get(f"{NAMESPACE}/{self.operators}")
            ready = condition(found, "Ready")
            tried = ((found or {}).get("status") or {}).get("lastAttemptedRevision")
            return ready["message"] if tried == revision and ready["status"] == "False" else ""

        return self.stage.until(KUSTOMIZATIONS, f"{self.operators} fails with {revision}", failed, SECONDS)

    def delete(self, *names: str) -> None:
        """Delete Kustomizations and wait until what they have applied is gone too."""
        self.stage.cluster.kubectl(
            "delete", "kustomization", *names, f"--namespace={NAMESPACE}", "--ignore-not-found", "--timeout=120s"
        )

    def thing_exists(self, package: str) -> bool:
        """Whether the custom resource of the package exists."""
        return self.stage.exists(f"things.{group(package)}", f"thing-{self.stage.name}", "--namespace=default")

    def _thing(self, package: str) -> Object:
        metadata = {"name": f"thing-{self.stage.name}", "namespace": "default"}
        return {"apiVersion": f"{group(package)}/v1", "kind": "Thing", "metadata": metadata, "spec": {"size": 1}}

    def _blobs(self, package: str, properties: list[Any] | None = None) -> list[dict[str, Any]]:
        image = push_bundle(self.stage, package, registry_bundle(package))
        return package_blobs(package, {"1.0.0": image}, properties or [])

    def _apply(self, name: str, path: str, **spec: Any) -> None:
        kustomization = {
            "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
            "kind": "Kustomization",
            "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": {
                "sourceRef": {"kind": "ExternalArtifact", "name": self._repository.name},
                "path": path,
                "prune": True,
                "wait": True,
                "deletionPolicy": "WaitForTermination",
                "interval": "10m",
                "retryInterval": "2s",
                "timeout": "90s",
                **spec,
            },
        }
        self.stage.cluster.kubectl("apply", "--server-side", "-f", "-", input=json.dumps(kustomization))


@pytest.fixture
def delivery(
    cluster: Cluster, suite: Suite, flux: Flux, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Delivery]:
    """The Delivery of the test; if the test fails, the last lines of all logs are added to its report."""
    name = re.sub(r"[^a-z0-9]+", "-", request.node.name.removeprefix("test_").lower())[:30].strip("-")
    stage = Stage(cluster, suite, name)
    with ArtifactRepository(cluster, tmp_path, NAMESPACE, name) as repository:
        mine = Delivery(stage, repository)
        try:
            yield mine
        finally:
            request.node.add_report_section("call", "log of kustomize-controller", flux.log_tail())
            for component in COMPONENTS:
                request.node.add_report_section("call", f"log of {component}", suite.log_tail(component, 25))
            mine.delete(mine.things, mine.operators)
            stage.close()


def test_flux_delivers_upgrades_and_prunes(delivery: Delivery) -> None:
    stage = delivery.stage
    delivery.publish()
    delivery.create_kustomizations()
    started = time.monotonic()
    revision = delivery.push({})
    delivery.until_ready(revision)
    print(f"from the commit to Ready: {time.monotonic() - started:.1f} s")
    for package in (delivery.dependant, delivery.dependency, delivery.other):
        stage.ready_operator(package, "1.0.0", seconds=1.0)
        assert delivery.thing_exists(package)
    dependency = stage.get("Operator", delivery.dependency)
    assert INSTALLED_FOR_LABEL in dependency["metadata"]["labels"]

    refused = delivery.push({"version": "7.0.0"})
    message = delivery.until_failed(refused)
    assert f"failed early due to stalled resources: [Operator/{delivery.other} status: 'Failed']" in message
    operator = stage.operator_when(delivery.other, "is Stalled", lambda found: is_true(found, "Stalled"))
    assert "7.0.0" in condition(operator, "Ready")["message"]

    delivery.until_ready(delivery.push({"version": "1.0.0"}))
    delivery.until_ready(delivery.push(None))
    stage.until(OPERATORS, f"{delivery.other} is pruned", lambda objects: delivery.other not in objects)
    assert not stage.exists("crd", f"things.{group(delivery.other)}")
    after = stage.get("Operator", delivery.dependency)
    assert after["metadata"]["uid"] == dependency["metadata"]["uid"], "a dependency is not pruned"
    assert delivery.thing_exists(delivery.dependant)

    delete_all(delivery)


def delete_all(delivery: Delivery) -> None:
    """Delete the Kustomizations: nothing is left in the end, the dependency neither."""
    stage = delivery.stage
    delivery.delete(delivery.things)
    delivery.delete(delivery.operators)
    packages = {delivery.dependant, delivery.dependency, delivery.other}
    for path in (OPERATORS, BUNDLE_DEPLOYMENTS):
        stage.until(path, "all are deleted", lambda objects: not packages & objects.keys(), 180.0)
    for package in packages:
        assert not stage.exists("crd", f"things.{group(package)}")
    assert not stage.exists("catalogs.catalogd.operatorframework.io", stage.name)


@pytest.mark.usefixtures("flux")
def test_flux_accepts_the_sample(cluster: Cluster) -> None:
    printed = cluster.kubectl("create", "--dry-run=server", "--validate=strict", f"--filename={SAMPLE}")
    assert printed.count("created (server dry run)") == 2
