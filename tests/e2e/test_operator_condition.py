"""An operator that says that it cannot be upgraded stays as it is, and its Operator says why, until somebody overrides that."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from devcluster.api_client import MERGE
from devcluster.cluster import Cluster
from devcluster.watch import Object
from olmkit.api.crd import operator_condition_definition
from tests.conditions import triple
from tests.e2e.packages import package_blobs, publish, push_bundle, push_catalog, registry_bundle
from tests.e2e.stage import CRDS, Stage

REASON = "OperatorConditionNotUpgradeable"
DEFINITION = operator_condition_definition()


@pytest.fixture
def operator_conditions(cluster: Cluster) -> Iterator[None]:
    """The CRD, for this test alone."""
    name = DEFINITION["metadata"]["name"]
    # The tests of OLM v0 have one of the name, which may be in deletion.
    cluster.kubectl("delete", "--ignore-not-found", "--timeout=120s", f"crd/{name}")
    cluster.api.apply(CRDS, DEFINITION)
    cluster.kubectl("wait", "--for=condition=Established", "--timeout=60s", f"crd/{name}")
    yield
    cluster.kubectl("get", "--raw", "/apis/operators.coreos.com/v2/operatorconditions")
    cluster.kubectl("delete", "--timeout=120s", f"crd/{name}")


@pytest.mark.usefixtures("operator_conditions")
def test_an_upgrade_waits_for_the_operator_and_an_override_lets_it_pass(stage: Stage) -> None:
    package = stage.name
    images = {"1.0.0": push_bundle(stage, package, registry_bundle(package))}
    publish(stage, package_blobs(package, images))
    stage.operator(package, package)
    stage.ready_operator(package, "1.0.0")
    path = f"/apis/operators.coreos.com/v2/namespaces/{package}-system/operatorconditions/{package}.v1.0.0"
    _patch(stage, path, conditions=[_upgradeable("False", "500 things are being migrated")])

    images["1.1.0"] = push_bundle(stage, package, registry_bundle(package, "1.1.0"), "1.1.0")
    push_catalog(stage, package_blobs(package, images))
    held = stage.operator_when(package, "1.1.0 waits", lambda found: triple(found, "Ready")[1] == REASON)
    expected = (
        f"1.1.0 waits: OperatorCondition {package}-system/{package}.v1.0.0: The operator is not upgradeable: "
        "500 things are being migrated; an override of Upgradeable in its spec.overrides lifts this; "
    )
    assert triple(held, "Ready")[0] == "True"
    assert triple(held, "Ready")[2].startswith(expected)
    available = held["status"]["available"]
    assert (available["version"], available["reason"]) == ("1.1.0", REASON)
    assert available["message"].startswith(expected)
    assert f"Available:   {expected}" in _olm(stage, "why", package)

    overridden, upgraded = _olm(stage, "upgrade", package, "--force", "--wait").splitlines()
    name = f"{package}-system/{package}.v1.0.0"
    assert overridden == f"operatorconditions.operators.coreos.com/{name} overridden: Upgradeable"
    assert upgraded.startswith(f"operator.operators.operatorframework.io/{package} installed: 1.1.0 from catalog ")
    stage.ready_operator(package, "1.1.0")


def _upgradeable(status: str, message: str) -> Object:
    given = {"reason": "Migration", "message": message, "lastTransitionTime": "2026-01-01T00:00:00Z"}
    return {"type": "Upgradeable", "status": status, **given}


def _patch(stage: Stage, path: str, **spec: Any) -> None:
    stage.cluster.api.call("PATCH", path, {"spec": spec}, MERGE)


def _olm(stage: Stage, *arguments: str) -> str:
    command = [sys.executable, "-m", "olmctl", *arguments]
    environment = {**os.environ, "KUBECONFIG": str(stage.cluster.kubeconfig)}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
