"""spec.approval and spec.paused on the real API server with the real catalogd."""

from __future__ import annotations

from collections.abc import Mapping

from devcluster.watch import Object, condition, is_true
from olmkit.api.operators import APPROVED_VERSION_ANNOTATION
from tests.cluster.operator_controller.conftest import Scene, wanted_version
from tests.conditions import triple

EVENTS = "/api/v1/namespaces/default/events"
OPERATOR = "operators.operators.operatorframework.io"


def approve(scene: Scene, name: str, version: str) -> None:
    annotation = f"{APPROVED_VERSION_ANNOTATION}={version}"
    scene.cluster.kubectl("annotate", OPERATOR, name, annotation, "--overwrite")


def test_each_version_waits_for_its_own_approval(scene: Scene) -> None:
    scene.ready_catalog(scene.catalog_of("1.0.0"))
    name = scene.operator(scene.name, approval="Manual")
    waiting = scene.operator_when(
        name, "1.0.0 waits", lambda o: o["status"].get("available", {}).get("version") == "1.0.0"
    )
    assert triple(waiting, "Ready")[:2] == ("False", "ApprovalRequired")
    assert {one["type"] for one in waiting["status"]["conditions"]} == {"Resolved", "Installed", "Ready"}
    assert "finalizers" not in waiting["metadata"]
    assert not scene.exists("bundledeployment", name)

    approve(scene, name, "1.0.0")
    scene.install(name, "1.0.0")
    installed = scene.ready_operator(name, "1.0.0")
    assert "available" not in installed["status"]

    scene.catalog_of("1.0.0", "1.1.0")
    upgrade = scene.condition_when(name, "Ready", "True", "1.1.0 waits for approval")
    assert condition(upgrade, "Ready")["reason"] == "UpgradeAvailable"
    assert upgrade["status"]["available"]["reason"] == "ApprovalRequired"
    header, row = scene.cluster.kubectl("get", OPERATOR, name).splitlines()
    assert row[header.index("AVAILABLE") :].startswith("1.1.0")
    assert wanted_version(scene.deployment_when(name, "1.0.0")) == "1.0.0"

    approve(scene, name, "1.1.0")
    scene.install(name, "1.1.0")
    scene.ready_operator(name, "1.1.0")


def test_a_paused_operator_changes_nothing_until_it_is_resumed(scene: Scene) -> None:
    scene.ready_catalog(scene.catalog_of("1.0.0"))
    name = scene.operator(scene.name)
    scene.install(name, "1.0.0")
    before = scene.ready_operator(name, "1.0.0")
    scene.patch_operator(name, {"paused": True})
    paused = scene.condition_when(name, "Ready", "True", "the Operator is paused (spec.paused)")
    assert condition(paused, "Ready")["reason"] == "Paused"

    scene.catalog_of("1.0.0", "1.1.0")
    waiting = scene.operator_when(
        name, "1.1.0 waits", lambda o: o["status"].get("available", {}).get("version") == "1.1.0"
    )
    assert is_true(waiting, "Ready")
    assert waiting["status"]["available"]["reason"] == "Paused"
    assert waiting["status"]["installed"] == before["status"]["installed"]
    assert wanted_version(scene.deployment_when(name, "1.0.0")) == "1.0.0"

    scene.patch_operator(name, {"paused": None})
    scene.install(name, "1.1.0")
    scene.ready_operator(name, "1.1.0")


def test_an_operator_begins_at_a_version_and_then_follows_the_channel(scene: Scene) -> None:
    """What startingCSV does in OLM v0: the version is pinned for the first installation, and the pin is removed."""
    scene.ready_catalog(scene.catalog_of("1.0.0", "1.1.0", "1.2.0"))
    name = scene.operator(scene.name, channel="stable", version="1.0.0")
    scene.install(name, "1.0.0")
    scene.ready_operator(name, "1.0.0")
    scene.patch_operator(name, {"version": None})
    scene.install(name, "1.1.0")
    scene.install(name, "1.2.0")
    scene.ready_operator(name, "1.2.0")


def test_approvals_begin_at_a_version_and_lead_along_the_channel(scene: Scene) -> None:
    """The same in one manifest: approval Manual with an approved version that is not the newest."""
    scene.ready_catalog(scene.catalog_of("1.0.0", "1.1.0", "1.2.0"))
    name = scene.name
    manifest = {
        "apiVersion": "operators.operatorframework.io/v1alpha1",
        "kind": "Operator",
        "metadata": {"name": name, "annotations": {APPROVED_VERSION_ANNOTATION: "1.0.0"}},
        "spec": {"packageName": name, "channel": "stable", "approval": "Manual"},
    }
    scene.apply(manifest)
    scene.install(name, "1.0.0")
    scene.condition_when(name, "Ready", "True", "1.1.0 waits for approval")
    scene.patch_operator(name, {"approval": "Automatic"})
    scene.install(name, "1.1.0")
    scene.install(name, "1.2.0")
    scene.ready_operator(name, "1.2.0")


def test_an_event_says_what_waits(scene: Scene) -> None:
    scene.ready_catalog(scene.catalog_of("1.0.0"))
    name = scene.operator(scene.name, approval="Manual")
    scene.condition_when(name, "Ready", "False", "1.0.0 waits for approval")

    def reported(objects: Mapping[str, Object]) -> Object | None:
        about = (each for each in objects.values() if each["involvedObject"]["name"] == name)
        return next((each for each in about if each["reason"] == "ApprovalRequired"), None)

    assert scene.until(EVENTS, f"an Event of {name}", reported)["type"] == "Normal"
