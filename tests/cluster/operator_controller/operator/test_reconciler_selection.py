"""spec.catalogSelector and spec.upgradeConstraintPolicy on the real API server with the real catalogd."""

from __future__ import annotations

from devcluster.watch import BUNDLE_DEPLOYMENTS, condition
from olmkit.api.catalogs import NAME_LABEL
from tests.cluster.operator_controller.conftest import Scene, blobs, wanted_catalog
from tests.conditions import triple
from tests.e2e.packages import catalog_file


def test_only_selected_catalogs_count_and_their_labels_may_change(scene: Scene) -> None:
    """Two catalogs of one priority offer the package: the selector decides, first by name, then by a label of a person."""
    other = f"{scene.name}-b"
    reference = scene.catalog_of("1.0.0")
    scene.ready_catalog(reference)
    scene.ready_catalog(reference, other)
    name = scene.operator(scene.name, catalogSelector={"matchLabels": {"team": scene.name}})
    waiting = scene.condition_when(name, "Reconciling", "True", "spec.catalogSelector selects no Catalog")
    assert condition(waiting, "Reconciling")["reason"] == "WaitingForCatalog"
    assert f'catalogs "{scene.name}" and "{other}" have the package' in triple(waiting, "Ready")[2]

    scene.cluster.kubectl("label", "catalogs.catalogd.operatorframework.io", other, f"team={scene.name}")
    assert wanted_catalog(scene.deployment_when(name, "1.0.0")) == other
    scene.install(name, "1.0.0")
    scene.ready_operator(name, "1.0.0")

    scene.patch_operator(name, {"catalogSelector": {"matchLabels": {"team": None, NAME_LABEL: scene.name}}})
    following = scene.condition_when(
        name, "Ready", "False", f'"{other}", which it came from, is not selected by spec.catalogSelector'
    )
    assert triple(following, "Installed")[0] == "True"
    scene.until(
        BUNDLE_DEPLOYMENTS, f"{name} names {scene.name}", lambda objects: wanted_catalog(objects[name]) == scene.name
    )
    scene.install(name, "1.0.0")
    scene.operator_when(
        name, f"follows {scene.name}", lambda o: o["status"].get("installed", {}).get("catalog") == scene.name
    )


def test_an_operator_is_stalled_if_all_selected_catalogs_lack_the_package(scene: Scene) -> None:
    other = f"{scene.name}-b"
    scene.ready_catalog(scene.catalog_of("1.0.0"))
    scene.repository("-b").push_files(catalog_file(blobs(f"{scene.name}-x", ["1.0.0"], {})))
    scene.ready_catalog(scene.repository("-b").reference, other)
    name = scene.operator(scene.name, catalogSelector={"matchLabels": {NAME_LABEL: other}})
    stalled = scene.condition_when(name, "Stalled", "True", "not selected by spec.catalogSelector")
    assert triple(stalled, "Resolved") == ("False", "ResolutionFailed", f"package '{scene.name}' not found")
    scene.patch_operator(name, {"catalogSelector": None})
    scene.deployment_when(name, "1.0.0")


def test_ignore_permits_what_enforce_refuses(scene: Scene) -> None:
    scene.ready_catalog(scene.catalog_of("1.0.0", "1.1.0", "1.2.0"))
    name = scene.operator(scene.name, version="1.2.0")
    scene.install(name, "1.2.0")
    scene.ready_operator(name, "1.2.0")
    scene.patch_operator(name, {"version": "1.0.0"})
    scene.condition_when(name, "Stalled", "True", "with spec.upgradeConstraintPolicy Ignore, 1.0.0 would be installed")
    scene.patch_operator(name, {"upgradeConstraintPolicy": "Ignore"})
    scene.install(name, "1.0.0")
    scene.ready_operator(name, "1.0.0")
    scene.patch_operator(name, {"version": None})
    scene.install(name, "1.2.0")
    scene.ready_operator(name, "1.2.0")
