"""An Operator whose upgrade fails runs its old version again, says so, and is upgraded to the next one."""

from __future__ import annotations

from typing import Any

import yaml

from devcluster.watch import BUNDLE_DEPLOYMENTS, Object
from tests.conditions import triple
from tests.e2e.packages import package_blobs, publish, push_bundle, push_catalog, registry_bundle, service_version
from tests.e2e.stage import Stage

ON_FAILURE = {"install": {"rollback": "OnFailure", "progressDeadline": "30s"}}


def test_an_upgrade_that_fails_is_rolled_back_and_the_next_version_is_installed(stage: Stage) -> None:
    package = stage.name
    images = {"1.0.0": push_bundle(stage, package, registry_bundle(package))}
    publish(stage, package_blobs(package, images))
    stage.operator(package, package, **ON_FAILURE)
    stage.ready_operator(package, "1.0.0", seconds=120)
    images["1.1.0"] = push_bundle(stage, package, _without_nodes(package, "1.1.0"), "1.1.0")
    push_catalog(stage, package_blobs(package, images))

    operator = stage.operator_when(package, "rolled back to 1.0.0", is_rolled_back, seconds=120)
    assert triple(operator, "Installed")[:2] == ("True", "Success")
    assert operator["status"]["installedBundleResource"] == images["1.0.0"]
    assert operator["status"]["resolvedBundleResource"] == images["1.1.0"]
    deployment = stage.until(BUNDLE_DEPLOYMENTS, "its BundleDeployment", lambda found: found.get(package))
    assert [one["outcome"] for one in deployment["status"]["history"]] == ["RolledBack", "Succeeded"]

    del images["1.1.0"]
    images["1.2.0"] = push_bundle(stage, package, registry_bundle(package, "1.2.0"), "1.2.0")
    push_catalog(stage, package_blobs(package, images))
    stage.ready_operator(package, "1.2.0", seconds=120)
    after = stage.until(BUNDLE_DEPLOYMENTS, "its BundleDeployment", lambda found: found.get(package))
    assert [one["outcome"] for one in after["status"]["history"]] == ["Succeeded", "RolledBack", "Succeeded"]
    # operator-controller wrote it for 1.2.0 and at no other time.
    assert after["metadata"]["generation"] == deployment["metadata"]["generation"] + 1


def is_rolled_back(operator: Object) -> bool:
    """1.0.0 runs again."""
    status, reason, message = triple(operator, "Ready")
    installed = (operator["status"].get("installed") or {}).get("version")
    is_told = "rolled back to" in message and triple(operator, "Stalled")[0] == "True"
    return (status, reason, installed) == ("False", "RolledBack", "1.0.0") and is_told


def _without_nodes(package: str, version: str) -> dict[str, bytes]:
    """A bundle whose pods no node can run."""
    files = dict(registry_bundle(package, version))
    body: dict[str, Any] = service_version(package, version)
    spec = body["spec"]["install"]["spec"]["deployments"][0]["spec"]["template"]["spec"]
    spec["nodeSelector"] = {"example.com/none": "true"}
    files["manifests/csv.yaml"] = yaml.safe_dump(body).encode()
    return files
