"""An Operator that is created again finds the BundleDeployment of the one before, on the real API server."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from olmctl.main import main
from tests.cluster.operator_controller.conftest import FINALIZER, Scene, wanted_version
from tests.conditions import triple

ADOPT = "operators.operatorframework.io/adopt"


def test_what_an_operator_left_to_its_cluster_is_adopted_by_the_next_one_of_its_name(scene: Scene) -> None:
    scene.ready_catalog(scene.catalog_of("1.0.0", "1.1.0"))
    name = scene.operator(scene.name, version="1.0.0")
    scene.install(name, "1.0.0")
    scene.ready_operator(name, "1.0.0")
    before = scene.deployment_when(name, "1.0.0")
    scene.cluster.kubectl("delete", "operators.operators.operatorframework.io", name, "--cascade=orphan")
    orphan = scene.deployment_when(name, "1.0.0")
    assert orphan["metadata"]["uid"] == before["metadata"]["uid"]
    assert not orphan["metadata"].get("ownerReferences")
    assert "deletionTimestamp" not in orphan["metadata"]

    scene.operator(scene.name, version="1.0.0")
    ready = scene.ready_operator(name, "1.0.0")
    adopted = scene.deployment_when(name, "1.0.0")
    assert adopted["metadata"]["uid"] == before["metadata"]["uid"]
    assert [each["uid"] for each in adopted["metadata"]["ownerReferences"]] == [ready["metadata"]["uid"]]
    assert ready["metadata"]["finalizers"] == [FINALIZER]
    scene.patch_operator(name, {"version": "1.1.0"})
    scene.install(name, "1.1.0")
    scene.ready_operator(name, "1.1.0")


def test_what_another_package_left_is_not_adopted(scene: Scene) -> None:
    scene.ready_catalog(scene.catalog_of("1.0.0"))
    name = scene.operator(scene.name)
    scene.install(name, "1.0.0")
    scene.ready_operator(name, "1.0.0")
    scene.cluster.kubectl("delete", "operators.operators.operatorframework.io", name, "--cascade=orphan")
    scene.operator("another", name)
    scene.condition_when(name, "Stalled", "True", "package 'another' not found")
    assert not scene.deployment_when(name, "1.0.0")["metadata"].get("ownerReferences")
    scene.patch_operator(name, {"packageName": scene.name})
    scene.ready_operator(name, "1.0.0")


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(None, id="of an image"),
        pytest.param(
            {"type": "git", "git": {"repository": "https://git.example.com/r", "ref": {"tag": "v1"}}},
            id="of a repository",
        ),
    ],
)
def test_a_bundle_deployment_that_a_person_made_is_adopted_on_request(scene: Scene, source: Any) -> None:
    scene.foreign_deployment(source=source)
    scene.ready_catalog(scene.catalog_of("1.0.0"))
    name = scene.operator(scene.name)
    refused = scene.condition_when(name, "Stalled", "True", "already exists and is owned by no Operator")
    assert triple(refused, "Ready")[2] == (
        f'BundleDeployment "{name}" already exists and is owned by no Operator: to have this Operator take it over, run kubectl '
        f"annotate bundledeployments.core.rukpak.io {name} {ADOPT}=true; or create the Operator under another name"
    )
    install = ["install", scene.name, "--name", name, "--adopt", "--force", "--wait", "--timeout", "60s"]
    with ThreadPoolExecutor() as pool:
        ended = pool.submit(main, [*install, "--kubeconfig", str(scene.cluster.kubeconfig)])
        scene.install(name, "1.0.0")
        assert ended.result() == 0, "it does not end with what was reported before"
    ready = scene.ready_operator(name, "1.0.0")
    adopted = scene.deployment_when(name, "1.0.0")
    assert wanted_version(adopted) == "1.0.0"
    assert adopted["spec"]["template"]["spec"]["source"].keys() == {"type", "image"}
    assert ADOPT not in (adopted["metadata"].get("annotations") or {})
    assert [each["uid"] for each in adopted["metadata"]["ownerReferences"]] == [ready["metadata"]["uid"]]


def test_a_copy_with_the_field_managers_of_its_original_is_adopted_on_request_only(scene: Scene) -> None:
    """Backup tools patch them into what they restore."""
    scene.ready_catalog(scene.catalog_of("1.0.0"))
    name = scene.operator(scene.name)
    scene.install(name, "1.0.0")
    scene.ready_operator(name, "1.0.0")
    scene.cluster.kubectl("delete", "operators.operators.operatorframework.io", name, "--cascade=orphan")
    show = ("get", "bundledeployment", name, "-o", "json", "--show-managed-fields")
    original = json.loads(scene.cluster.kubectl(*show))
    scene.cluster.kubectl("delete", "bundledeployment", name)
    copied = {field: original["metadata"][field] for field in ("name", "managedFields")}
    scene.cluster.kubectl("create", "-f", "-", input=json.dumps({**original, "metadata": copied}))
    entries = [{**each, "time": "2026-01-01T12:00:00Z"} for each in original["metadata"]["managedFields"]]
    patch = json.dumps({"metadata": {"managedFields": entries}})
    scene.cluster.kubectl("patch", "bundledeployment", name, "--type=merge", "--patch", patch)
    restored = json.loads(scene.cluster.kubectl(*show))["metadata"]["managedFields"]
    assert "operator-controller" in [each["manager"] for each in restored if each["time"] == "2026-01-01T12:00:00Z"]
    scene.operator(scene.name)
    scene.condition_when(name, "Stalled", "True", "already exists and is owned by no Operator")
    assert not scene.get("bundledeployment", name)["metadata"].get("ownerReferences")
    scene.cluster.kubectl("annotate", "bundledeployments.core.rukpak.io", name, f"{ADOPT}=true")
    scene.install(name, "1.0.0")
    scene.ready_operator(name, "1.0.0")
