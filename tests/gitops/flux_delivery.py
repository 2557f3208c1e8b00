"""A Delivery by Flux's kustomize-controller: a git repository with its objects, and two Kustomizations of it."""

import json
from collections.abc import Mapping
from typing import Any

import yaml

from devcluster.demo.full_catalog import operator_object
from devcluster.gitops.artifacts import ArtifactRepository
from devcluster.gitops.flux import NAMESPACE
from devcluster.processes import REPOSITORY
from devcluster.watch import Object, condition, is_true
from tests.e2e.stage import Stage
from tests.gitops.delivery import Delivery

KUSTOMIZATIONS = f"/apis/kustomize.toolkit.fluxcd.io/v1/namespaces/{NAMESPACE}/kustomizations"
EXPRESSIONS = REPOSITORY / "config" / "flux" / "health-check-exprs.yaml"
SECONDS = 120.0


class FluxDelivery(Delivery):
    """Packages, repository and two Kustomizations of a test.

    The repository has a Catalog, Operators of `dependant` and `other`, and a custom resource of each package.
    """

    def __init__(self, stage: Stage, repository: ArtifactRepository) -> None:
        """Changes nothing yet."""
        super().__init__(stage)
        self.operators, self.things = f"{stage.name}-operators", f"{stage.name}-things"
        self._repository = repository

    def push(self, other: Mapping[str, Any] | None) -> str:
        """Commit all objects; the Operator of `other` has these fields in its spec, None leaves it and its resource out."""
        packages = [self.dependant, self.dependency, *([] if other is None else [self.other])]
        operators = [operator_object(self.dependant)]
        if other is not None:
            operators.append(operator_object(self.other, None, **other))
        files = {
            "operators/all.yaml": yaml.safe_dump_all([self.catalog(f"catalog-{self.name}"), *operators]),
            "things/all.yaml": yaml.safe_dump_all([self.thing(package) for package in packages]),
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

    def close(self) -> None:
        """Delete the Kustomizations, then what is left of the test."""
        self.delete(self.things, self.operators)
        self.stage.close()

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
