"""Scenarios of upstream's vap-access-control.feature: policies of the cluster decide which ClusterExtensions a team may write."""

from __future__ import annotations

import pytest

from tests.e2e.stage import CLUSTER_EXTENSIONS
from tests.e2e.v1.bundles import Entry
from tests.e2e.v1.scene import Scene, Team

pytestmark = pytest.mark.v1

MONITORING = {"matchLabels": {"team": "monitoring"}}
SELECTOR = "object.spec.source.catalog.selector.matchLabels"
NOT_CERTIFIED = "object.spec.source.catalog.upgradeConstraintPolicy != 'SelfCertified'"
ENFORCEMENT = "object.spec.install.preflight.crdUpgradeSafety.enforcement"


@pytest.fixture(autouse=True)
def offered(scene: Scene) -> None:
    """The package is in the catalog of a team."""
    scene.create_namespace()
    scene.cluster_catalog([Entry("1.0.0", "stable")], team="monitoring")


def only_package(scene: Scene) -> str:
    """A rule that permits the package alone."""
    return f"object.spec.source.catalog.packageName == '{scene.package}'"


def test_allowed_correct_package_namespace_and_catalog_selector(scene: Scene) -> None:
    team = Team(scene, "team-allowed", only_package(scene), "package not allowed")
    team.is_denied(scene.extension(selector=MONITORING, catalog={"packageName": "grafana"}))
    applied = team.apply(scene.extension(version="1.0.0", selector=MONITORING))
    assert (applied.returncode, applied.stderr) == (0, "")
    scene.rolled_out("1.0.0")


def test_denied_wrong_package_name(scene: Scene) -> None:
    team = Team(scene, "team-package", only_package(scene), "package not allowed")
    denied(scene, team, selector=MONITORING, catalog={"packageName": "grafana"})


def test_denied_wrong_namespace(scene: Scene) -> None:
    team = Team(scene, "team-namespace", "object.spec.namespace.endsWith('-ns')", "namespaces end with -ns")
    denied(scene, team, selector=MONITORING, namespace="default")


def test_denied_missing_catalog_selector(scene: Scene) -> None:
    selects = f"has(object.spec.source.catalog.selector) && has({SELECTOR}) && {SELECTOR}[?'team'].orValue('') == 'monitoring'"
    denied(scene, Team(scene, "team-selector", selects, "select team=monitoring"), selector={})


def test_denied_selfcertified_upgrade_constraint_policy(scene: Scene) -> None:
    team = Team(scene, "team-upgrade", NOT_CERTIFIED, "SelfCertified is not allowed")
    denied(scene, team, selector=MONITORING, catalog={"upgradeConstraintPolicy": "SelfCertified"})


def test_denied_crd_upgrade_safety_disabled(scene: Scene) -> None:
    checks = f"!has(object.spec.install) || {ENFORCEMENT} != 'None'"
    team = Team(scene, "team-crd", checks, "the check of CRDs may not be disabled")
    denied(scene, team, selector=MONITORING, install={"preflight": {"crdUpgradeSafety": {"enforcement": "None"}}})


def denied(scene: Scene, team: Team, **spec: object) -> None:
    """The team cannot write such a ClusterExtension, and one without these fields is no problem."""
    extension = scene.extension(version="1.0.0", **spec)  # type: ignore[arg-type]
    team.is_denied(extension)
    refused = team.apply(extension)
    assert refused.returncode == 1
    assert scene.read(f"{CLUSTER_EXTENSIONS}/{scene.name}") is None
    assert team.dry_run(scene.extension(version="1.0.0", selector=MONITORING)).returncode == 0
