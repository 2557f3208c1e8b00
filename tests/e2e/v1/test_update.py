"""Scenarios of upstream's update.feature: the installed bundle is replaced along the edges of all channels, or by force."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.e2e.v1.bundles import Entry
from tests.e2e.v1.scene import Scene, without

VERSIONS = (
    Entry("1.0.0", "alpha"),
    Entry("1.0.0", "beta", contents=None),
    Entry("1.0.1", "beta", "1.0.0"),
    Entry("1.0.2", "alpha", "1.0.0"),
    Entry("1.0.4", "beta"),
    Entry("1.2.0", "beta", "1.0.1"),
)
NEXT = (Entry("1.3.0", "beta", "1.2.0"),)
POLL_SECONDS = 120.0
"""A ClusterCatalog is polled each minute at most."""


@pytest.fixture(autouse=True)
def namespace(scene: Scene) -> None:
    """The namespace to install into exists."""
    scene.create_namespace()


def test_update_to_a_successor_version(scene: Scene) -> None:
    scene.cluster_catalog(VERSIONS)
    scene.install(version="1.0.0")
    scene.change({"source": {"catalog": {"version": "1.0.1"}}})
    scene.rolled_out("1.0.1")


@pytest.mark.v1
def test_cannot_update_extension_to_non_successor_version(scene: Scene) -> None:
    scene.cluster_catalog(VERSIONS)
    scene.install(version="1.0.0")
    scene.apply(scene.extension(version="1.2.0"))
    assert scene.reports("Progressing", "True", "Retrying") == (
        'error upgrading from currently installed version "1.0.0": '
        f'no bundles found for package "{scene.package}" matching version "1.2.0"'
    )


@pytest.mark.v1
def test_force_update_to_non_successor_version(scene: Scene) -> None:
    scene.cluster_catalog(VERSIONS)
    scene.install(version="1.0.0")
    scene.apply(scene.extension(version="1.2.0", catalog={"upgradeConstraintPolicy": "SelfCertified"}))
    scene.rolled_out("1.2.0")


@pytest.mark.v1
def test_auto_update_when_new_version_becomes_available_in_the_new_catalog_image_ref(scene: Scene) -> None:
    scene.cluster_catalog(VERSIONS)
    scene.install()
    scene.rolled_out("1.2.0")
    scene.refer(scene.push(NEXT, tag="v2"))
    scene.rolled_out("1.3.0")


@pytest.mark.v1
def test_auto_update_when_new_version_becomes_available_in_the_same_catalog_image_ref(scene: Scene) -> None:
    scene.cluster_catalog(VERSIONS)
    scene.install()
    scene.rolled_out("1.2.0")
    scene.push(NEXT)
    scene.rolled_out("1.3.0", POLL_SECONDS)


@pytest.mark.v1
def test_update_to_a_version_with_identical_bundle_content_creates_a_new_revision(scene: Scene) -> None:
    identical = [replace(each, image_of="1.0.0") if each.version == "1.0.4" else each for each in VERSIONS]
    scene.cluster_catalog(identical)
    scene.install(version="1.0.0", catalog={"upgradeConstraintPolicy": "SelfCertified"})
    scene.rolled_out("1.0.0")
    scene.change({"source": {"catalog": {"version": "1.0.4"}}})
    scene.rolled_out("1.0.4")


@pytest.mark.v1
def test_clearing_deprecated_serviceaccount_field_is_reconciled_without_warnings(scene: Scene) -> None:
    scene.cluster_catalog(VERSIONS)
    extension = scene.extension(serviceAccount={"name": "some-sa"})
    assert "is deprecated" in scene.kubectl_apply(extension).stderr
    scene.rolled_out("1.2.0")
    cleared = scene.kubectl_apply(without(extension, "serviceAccount"))
    assert (cleared.returncode, cleared.stderr) == (0, "")
    assert "serviceAccount" not in scene.rolled_out("1.2.0")["spec"]
