"""The pull secret of a BundleDeployment is that of the Catalog of its bundle, and how it is installed is as the Operator says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from devcluster.demo.full_catalog import catalog_object
from devcluster.suite import NAMESPACE
from devcluster.watch import BUNDLE_DEPLOYMENTS, CATALOGS, is_true
from tests.cluster.operator_controller.conftest import Scene
from tests.secrets import auth, docker_config


@pytest.fixture
def secrets(scene: Scene) -> Iterator[tuple[str, str]]:
    """Two Secrets with a login that the registry of the cluster does not ask for."""
    names = (f"{scene.name}-a", f"{scene.name}-b")
    for name in names:
        body = docker_config({"registry.example.com": auth("u", "p")}, name)
        scene.cluster.kubectl("apply", "-f", "-", input=json.dumps(body))
    yield names
    scene.cluster.kubectl("delete", "secret", "-n", NAMESPACE, *names)


def pulled_with(scene: Scene, name: str, pull_secret: str, after: int = 0) -> None:
    """Wait until the template of the BundleDeployment names this Secret, "" for none, in a generation after that one."""

    def image(raw: dict[str, Any] | None) -> dict[str, Any]:
        found: dict[str, Any] = raw["spec"]["template"]["spec"]["source"]["image"] if raw else {}
        return found

    scene.until(
        BUNDLE_DEPLOYMENTS,
        f"BundleDeployment {name} is pulled with {pull_secret!r}",
        lambda objects: (
            name in objects
            and objects[name]["metadata"]["generation"] > after
            and image(objects[name]).get("pullSecret", "") == pull_secret
        ),
    )


def test_the_pull_secret_of_the_catalog_is_handed_on_followed_and_taken_back(
    scene: Scene, secrets: tuple[str, str]
) -> None:
    first, second = secrets
    reference = scene.catalog_of("1.0.0")
    made = catalog_object(scene.name, reference, "1s")
    made["spec"]["source"]["image"]["pullSecret"] = first
    catalog = scene.apply(made)
    scene.until(CATALOGS, "the Catalog is Ready", lambda objects: is_true(objects.get(catalog), "Ready"))
    name = scene.operator(scene.name)
    scene.install(name, "1.0.0")
    pulled_with(scene, name, first)
    scene.ready_operator(name, "1.0.0")

    scene.patch_catalog(catalog, {"source": {"image": {"pullSecret": second}}})
    pulled_with(scene, name, second)
    scene.install(name, "1.0.0")
    scene.ready_operator(name, "1.0.0")

    scene.patch_catalog(catalog, {"source": {"image": {"pullSecret": None}}})
    pulled_with(scene, name, "")
    template = {"spec": {"source": {"image": {"pullSecret": first}}}}
    patch = json.dumps({"spec": {"template": template}})
    patched = scene.cluster.kubectl("patch", "bundledeployment", name, "--type=merge", "-p", patch, "-o", "json")
    pulled_with(scene, name, "", after=json.loads(patched)["metadata"]["generation"])


def test_the_pull_secret_of_a_deleted_catalog_stays(scene: Scene, secrets: tuple[str, str]) -> None:
    made = catalog_object(scene.name, scene.catalog_of("1.0.0"), "1s")
    made["spec"]["source"]["image"]["pullSecret"] = secrets[0]
    catalog = scene.apply(made)
    scene.until(CATALOGS, "the Catalog is Ready", lambda objects: is_true(objects.get(catalog), "Ready"))
    name = scene.operator(scene.name)
    scene.install(name, "1.0.0")
    scene.ready_operator(name, "1.0.0")
    generation = scene.get("bundledeployment", name)["metadata"]["generation"]
    scene.delete("Catalog", catalog)
    scene.operator_when(
        name,
        "its catalog is deleted",
        lambda o: any(each["reason"] == "CatalogDeleted" for each in o["status"]["conditions"]),
    )
    found = scene.get("bundledeployment", name)
    assert found["metadata"]["generation"] == generation
    assert found["spec"]["template"]["spec"]["source"]["image"]["pullSecret"] == secrets[0]


def install_fields_of(deployment: dict[str, Any]) -> dict[str, Any]:
    """How the BundleDeployment is to be installed."""
    return {key: value for key, value in deployment["spec"].items() if key not in ("provisionerClassName", "template")}


def installed_with(scene: Scene, name: str, fields: dict[str, Any]) -> None:
    """Wait until the BundleDeployment has exactly these fields."""
    scene.until(
        BUNDLE_DEPLOYMENTS,
        f"BundleDeployment {name} has {fields}",
        lambda objects: name in objects and install_fields_of(objects[name]) == fields,
    )


def test_how_a_bundle_is_installed_is_handed_on_changed_and_removed(scene: Scene) -> None:
    scene.ready_catalog(scene.catalog_of("1.0.0"))
    name = scene.operator(scene.name, install={"namespace": "port", "watchNamespaces": ["a", "b"]})
    scene.install(name, "1.0.0")
    installed_with(scene, name, {"installNamespace": "port", "watchNamespaces": ["a", "b"]})
    scene.ready_operator(name, "1.0.0")

    config = {"env": [{"name": "LEVEL", "value": "debug"}], "affinity": {}}
    change = {"watchNamespaces": [""], "config": config}
    scene.patch_operator(name, {"install": change})
    wanted = {"installNamespace": "port", "watchNamespaces": [""], "config": config}
    installed_with(scene, name, wanted)
    scene.operator_when(name, "it waits for the change", lambda o: not is_true(o, "Ready"))
    scene.install(name, "1.0.0")
    scene.ready_operator(name, "1.0.0")

    patch = {"spec": {"installNamespace": "elsewhere", "config": {"nodeSelector": {"a": "b"}}}}
    scene.cluster.kubectl("patch", "bundledeployment", name, "--type=merge", "-p", json.dumps(patch))
    installed_with(scene, name, wanted)

    scene.patch_operator(name, {"install": None})
    installed_with(scene, name, {})
