"""Scenarios of upstream's install.feature: a package is installed, or what stands in its way is reported."""

from __future__ import annotations

import pytest

from tests.conditions import triple
from tests.e2e.v1.bundles import Contents, Entry, bundle_name
from tests.e2e.v1.scene import Scene, installed_bundle

SERVICE_ACCOUNT_WARNING = (
    "Warning: Validation failed for ValidatingAdmissionPolicy 'clusterextension-serviceaccount-deprecated' with binding "
    "'clusterextension-serviceaccount-deprecated': spec.serviceAccount is deprecated, ignored, and will be removed in a future "
    "release. The operator-controller's cluster-admin service account is used for all cluster interactions."
)


def test_install_latest_available_version(scene: Scene) -> None:
    scene.create_namespace()
    scene.cluster_catalog([Entry("1.0.0"), Entry("1.2.0", replaces="1.0.0")])
    found = scene.install()
    assert installed_bundle(found) == (bundle_name(scene.package, "1.2.0"), "1.2.0")
    image = f"{scene.cluster.registry}/bundles/{scene.package}:v1.2.0"
    assert triple(found, "Installed")[2] == f"Installed bundle {image} successfully"
    assert [kind for kind, path in scene.objects.items() if scene.read(path) is None] == []


@pytest.mark.v1
def test_install_latest_available_version_from_mirrored_registry(scene: Scene) -> None:
    scene.create_namespace()
    scene.cluster_catalog([Entry("1.2.0")], host="registry.example.com")
    found = scene.install()
    assert installed_bundle(found) == (bundle_name(scene.package, "1.2.0"), "1.2.0")
    assert "registry.example.com/" in triple(found, "Installed")[2]
    assert [kind for kind, path in scene.objects.items() if scene.read(path) is None] == []


@pytest.mark.v1
def test_report_that_bundle_cannot_be_installed_when_it_exists_in_multiple_catalogs_with_same_priority(
    scene: Scene,
) -> None:
    scene.create_namespace()
    names = sorted(scene.cluster_catalog([Entry("1.2.0")], name) for name in ("test", "extra"))
    # Without labels all ClusterCatalogs are selected.
    scene.apply(scene.extension(selector={}))
    wanted = (
        f'found bundles for package "{scene.package}" in multiple catalogs with the same priority [{" ".join(names)}]'
    )
    assert scene.reports("Progressing", "True", "Retrying") == wanted


@pytest.mark.v1
def test_install_bundle_with_large_crd(scene: Scene) -> None:
    scene.create_namespace()
    scene.cluster_catalog([Entry("1.0.0", contents=Contents(fields_of_crd=250))])
    found = scene.install()
    assert installed_bundle(found) == (bundle_name(scene.package, "1.0.0"), "1.0.0")
    crd = scene.read(scene.objects["CustomResourceDefinition"])
    assert crd is not None
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    assert len(schema["properties"]["spec"]["properties"]) == 250


@pytest.mark.v1
def test_applying_clusterextension_with_deprecated_serviceaccount_emits_warning(scene: Scene) -> None:
    scene.create_namespace()
    scene.cluster_catalog([Entry("1.2.0")])
    applied = scene.kubectl_apply(scene.extension(serviceAccount={"name": "some-sa"}))
    assert (applied.returncode, applied.stderr.strip()) == (0, SERVICE_ACCOUNT_WARNING)
    scene.rolled_out("1.2.0")
