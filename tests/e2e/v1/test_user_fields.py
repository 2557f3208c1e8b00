"""Scenarios of upstream's user-managed-fields.feature: what people write on installed objects stays there."""

from __future__ import annotations

import json

import pytest

from devcluster.api_client import MERGE
from devcluster.watch import Object
from tests.e2e.v1.bundles import Entry
from tests.e2e.v1.scene import Scene

pytestmark = pytest.mark.v1

RESTARTED_AT = "kubectl.kubernetes.io/restartedAt"


@pytest.fixture(autouse=True)
def installed(scene: Scene) -> None:
    """The package is installed."""
    scene.create_namespace()
    scene.cluster_catalog([Entry("1.2.0")])
    scene.install()


def reconcile(scene: Scene) -> None:
    """Have the ClusterExtension reconciled, by a change of its spec that changes no object."""
    scene.change({"install": {"preflight": {"crdUpgradeSafety": {"enforcement": "None"}}}})
    scene.rolled_out("1.2.0")


def is_complete(deployment: Object) -> bool:
    """Whether the rollout of the Deployment is complete."""
    status = deployment.get("status") or {}
    counts = {status.get(each, 0) for each in ("replicas", "updatedReplicas", "availableReplicas")}
    return bool(status.get("observedGeneration") == deployment["metadata"]["generation"] and counts == {1})


def test_user_added_annotations_and_labels_coexist_with_bundle_defined_labels_after_reconciliation(
    scene: Scene,
) -> None:
    path = scene.objects["Deployment"]
    mine = {"annotations": {"example.com/custom-annotation": "mine"}, "labels": {"example.com/custom-label": "mine"}}
    scene.cluster.api.call("PATCH", path, {"metadata": mine}, MERGE)
    reconcile(scene)
    metadata = scene.cluster.api.call("GET", path)["metadata"]
    assert metadata["annotations"]["example.com/custom-annotation"] == "mine"
    assert metadata["labels"]["example.com/custom-label"] == "mine"
    assert metadata["labels"]["app.kubernetes.io/name"] == scene.package


def test_deployment_rollout_restart_persists_after_olm_reconciliation(scene: Scene) -> None:
    path, sets = scene.objects["Deployment"], f"/apis/apps/v1/namespaces/{scene.namespace}/replicasets"
    scene.cluster.run_kubectl("rollout", "restart", f"deployment/{scene.package}", f"--namespace={scene.namespace}")

    def is_restarted(deployment: Object) -> bool:
        annotations = deployment["spec"]["template"]["metadata"].get("annotations") or {}
        return RESTARTED_AT in annotations and is_complete(deployment)

    restarted = scene.found(path, "the rollout is complete", is_restarted)
    assert len(scene.cluster.api.call("GET", sets)["items"]) == 2
    reconcile(scene)
    after = scene.cluster.api.call("GET", path)
    assert is_restarted(after)
    assert json.dumps(after["spec"], sort_keys=True) == json.dumps(restarted["spec"], sort_keys=True)
