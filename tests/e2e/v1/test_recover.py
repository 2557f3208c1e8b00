"""Scenarios of upstream's recover.feature: what is missing or in the way comes or goes, and no person has to do anything."""

from __future__ import annotations

import pytest

from tests.conditions import triple
from tests.e2e.v1.bundles import Entry
from tests.e2e.v1.scene import Scene

pytestmark = pytest.mark.v1


@pytest.fixture(autouse=True)
def offered(scene: Scene) -> None:
    """The package is in a catalog."""
    scene.cluster_catalog([Entry("1.2.0")])


def test_restore_removed_resource(scene: Scene) -> None:
    scene.create_namespace()
    scene.install()
    settings = scene.objects["ConfigMap"]
    scene.restored(settings, scene.remove(settings))


def test_install_clusterextension_after_target_namespace_becomes_available(scene: Scene) -> None:
    scene.apply(scene.extension())
    scene.when(
        "it waits for the namespace",
        lambda found: (
            triple(found, "Progressing")[:2] == ("True", "Retrying")
            and scene.namespace in triple(found, "Progressing")[2]
        ),
    )
    scene.create_namespace()
    scene.rolled_out("1.2.0")


def test_install_clusterextension_after_conflicting_resource_is_removed(scene: Scene) -> None:
    scene.create_namespace()
    path = scene.objects["Deployment"].rpartition("/")[0]
    labels = {"app": scene.package}
    container = {"name": "other", "image": "registry.example.com/other:v1"}
    pods = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": pods}
    metadata = {"name": scene.package, "namespace": scene.namespace}
    scene.put(path, {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec})
    scene.apply(scene.extension())
    scene.reports("Progressing", "True", "Retrying")
    found = scene.when("nothing is installed", lambda found: triple(found, "Installed")[0] == "False")
    assert triple(found, "Installed") == ("False", "Failed", "No bundle installed")
    scene.remove(scene.objects["Deployment"])
    scene.rolled_out("1.2.0")


def test_auto_healing_continues_working_after_catalog_deletion(scene: Scene) -> None:
    scene.create_namespace()
    scene.install()
    scene.delete("ClusterCatalog", scene.catalogs["test"])
    settings = scene.objects["ConfigMap"]
    scene.restored(settings, scene.remove(settings))
    deployment = scene.read(scene.objects["Deployment"])
    assert triple(deployment, "Available")[0] == "True"


def test_spec_changes_are_allowed_when_catalog_is_unavailable(scene: Scene) -> None:
    scene.create_namespace()
    scene.install()
    scene.delete("ClusterCatalog", scene.catalogs["test"])
    scene.change({"install": {"preflight": {"crdUpgradeSafety": {"enforcement": "None"}}}})
    scene.rolled_out("1.2.0")
