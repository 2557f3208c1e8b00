"""What is known of the running bundle on the real API server with the real catalogd."""

from __future__ import annotations

from devcluster.watch import condition
from tests.cluster.operator_controller.conftest import Scene, blobs
from tests.e2e.packages import catalog_file


def test_the_kinds_of_the_installed_bundle_stay_when_it_leaves_all_catalogs(scene: Scene) -> None:
    group = f"{scene.name}.example.com"
    owned = {"owned": [{"name": f"things.{group}", "version": "v1", "kind": "Thing", "displayName": "A thing"}]}
    metadata = {"type": "olm.csv.metadata", "value": {"crdDescriptions": owned}}
    catalog = scene.ready_catalog(scene.catalog_of("1.0.0", properties={"1.0.0": [metadata]}))
    name = scene.operator(scene.name)
    scene.install(name, "1.0.0")
    apis = [{"group": group, "version": "v1", "kind": "Thing", "displayName": "A thing"}]
    assert scene.ready_operator(name, "1.0.0")["status"]["installed"]["apis"] == apis

    scene.repository().push_files(catalog_file(blobs(f"{scene.name}-x", ["1.0.0"], {})))
    left = scene.operator_when(name, "NotOffered", lambda each: condition(each, "Ready")["reason"] == "NotOffered")
    assert left["status"]["installed"]["apis"] == apis
    scene.delete("Catalog", catalog)
    left = scene.operator_when(name, "deleted", lambda each: condition(each, "Ready")["reason"] == "CatalogDeleted")
    assert left["status"]["installed"]["apis"] == apis
