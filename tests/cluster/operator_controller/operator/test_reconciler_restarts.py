"""Operators while catalogd or operator-controller is killed and started again."""

import json

import pytest

from devcluster.suite import Suite
from devcluster.watch import BUNDLE_DEPLOYMENTS, OPERATORS, is_true
from tests.cluster.operator_controller.conftest import FINALIZER, Scene


def test_an_unreachable_catalog_is_resolved_from_cached_content_after_a_restart(scene: Scene, suite: Suite) -> None:
    scene.ready_catalog(scene.catalog_of("1.0.0", "1.1.0"))
    name = scene.operator(scene.name, version="1.0.0")
    scene.install(name, "1.0.0")
    scene.ready_operator(name, "1.0.0")
    suite.kill("catalogd")
    suite.stop("operator-controller")
    suite.start("operator-controller")
    scene.patch_operator(name, {"version": "1.1.0"})
    scene.install(name, "1.1.0")
    scene.ready_operator(name, "1.1.0")
    suite.start("catalogd")


def test_an_unreachable_catalog_without_cached_content_is_waited_for(scene: Scene, suite: Suite) -> None:
    suite.stop("operator-controller")
    scene.ready_catalog(scene.catalog_of("1.0.0"))
    suite.kill("catalogd")
    name = scene.operator(scene.name)
    suite.start("operator-controller")
    waiting = scene.condition_when(name, "Reconciling", "True", "catalogd does not answer")
    assert not is_true(waiting, "Stalled")
    suite.start("catalogd")
    scene.install(name, "1.0.0")
    scene.ready_operator(name, "1.0.0")


def test_a_package_is_installed_while_catalogd_is_away_if_its_catalog_was_read_before(
    scene: Scene, suite: Suite
) -> None:
    scene.ready_catalog(scene.catalog_of("1.0.0"))
    first = scene.operator(scene.name)
    scene.install(first, "1.0.0")
    scene.ready_operator(first, "1.0.0")
    suite.kill("catalogd")
    scene.delete("Operator", first)
    second = scene.operator(scene.name, f"{scene.name}-2")
    scene.install(second, "1.0.0")
    scene.ready_operator(second, "1.0.0")


@pytest.mark.parametrize(
    "moment", ["after the finalizer", "after the deployment", "while deleting", "before removing the finalizer"]
)
def test_a_controller_that_is_killed_between_two_writes_continues(scene: Scene, suite: Suite, moment: str) -> None:
    """The state after each write is created while the controller is stopped; the restarted one completes the work."""
    scene.ready_catalog(scene.catalog_of("1.0.0"))
    name = f"{scene.name}-k"
    if moment == "after the finalizer":
        suite.stop("operator-controller")
        scene.operator(scene.name, name)
        hold = json.dumps({"metadata": {"finalizers": [FINALIZER]}})
        scene.cluster.kubectl("patch", "operator.operators.operatorframework.io", name, "--type=merge", "-p", hold)
        suite.start("operator-controller")
        scene.install(name, "1.0.0")
        scene.ready_operator(name, "1.0.0")
        return
    scene.operator(scene.name, name)
    scene.deployment_when(name, "1.0.0")
    suite.stop("operator-controller")
    if moment == "after the deployment":
        scene.install(name, "1.0.0")
        suite.start("operator-controller")
        scene.ready_operator(name, "1.0.0")
        return
    scene.request_deletion("Operator", name)
    if moment == "before removing the finalizer":
        scene.cluster.kubectl("delete", "bundledeployment", name)
    suite.start("operator-controller")
    scene.until(OPERATORS, "the Operator is deleted", lambda objects: name not in objects)
    scene.until(BUNDLE_DEPLOYMENTS, "the BundleDeployment is deleted", lambda objects: name not in objects)
