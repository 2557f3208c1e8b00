"""Scenarios of upstream's install.feature about spec.config: the namespace to watch, and how the Deployment is configured."""

from __future__ import annotations

import pytest

from tests.e2e.v1.bundles import Contents, Entry
from tests.e2e.v1.scene import Scene

pytestmark = pytest.mark.v1

PREFIX = "invalid ClusterExtension configuration: invalid configuration: "
MISSING = f'{PREFIX}required field "watchNamespace" is missing'
SINGLE = Contents(install_modes=("SingleNamespace",))
OWN = Contents(install_modes=("OwnNamespace",))


def target_namespaces(scene: Scene) -> str | None:
    """The annotation of the pods that says which namespaces the operator watches."""
    deployment = scene.read(scene.objects["Deployment"])
    assert deployment is not None
    annotations = deployment["spec"]["template"]["metadata"].get("annotations") or {}
    found: str | None = annotations.get("olm.targetNamespaces")
    return found


def test_watchnamespace_config_is_required_for_extension_supporting_single_namespace(scene: Scene) -> None:
    scene.create_namespace()
    watched = scene.create_namespace(f"{scene.name}-watched")
    scene.cluster_catalog([Entry("1.0.0", "alpha", contents=SINGLE)])
    scene.apply(scene.extension())
    assert MISSING in scene.reports("Progressing", "False", "InvalidConfiguration")
    scene.apply(scene.extension(config={"watchNamespace": watched}))
    scene.rolled_out("1.0.0")
    assert target_namespaces(scene) == watched


def test_watchnamespace_config_is_required_for_extension_supporting_own_namespace(scene: Scene) -> None:
    scene.create_namespace()
    scene.cluster_catalog([Entry("1.0.0", "alpha", contents=OWN)])
    scene.apply(scene.extension())
    assert MISSING in scene.reports("Progressing", "False", "InvalidConfiguration")
    scene.apply(scene.extension(config={"watchNamespace": "some-ns"}))
    wrong = f'invalid value "some-ns": must be "{scene.namespace}"'
    assert wrong in scene.reports("Progressing", "False", "InvalidConfiguration")
    scene.apply(scene.extension(config={"watchNamespace": scene.namespace}))
    scene.rolled_out("1.0.0")
    assert target_namespaces(scene) == scene.namespace


def test_report_failure_when_watchnamespace_has_invalid_dns_1123_name(scene: Scene) -> None:
    scene.create_namespace()
    scene.cluster_catalog([Entry("1.0.0", "alpha", contents=SINGLE)])
    scene.apply(scene.extension(config={"watchNamespace": "invalid-namespace-"}))
    message = scene.reports("Progressing", "False", "InvalidConfiguration")
    assert f'{PREFIX}field "watchNamespace" must match pattern' in message


def test_reject_watchnamespace_for_operator_that_does_not_support_single_ownnamespace_install_modes(
    scene: Scene,
) -> None:
    scene.create_namespace()
    scene.cluster_catalog([Entry("0.0.1", "alpha", contents=Contents(install_modes=("AllNamespaces",)))])
    scene.apply(scene.extension(config={"watchNamespace": scene.namespace}))
    message = scene.reports("Progressing", "False", "InvalidConfiguration")
    assert f'{PREFIX}unknown field "watchNamespace"' in message


def test_deploymentconfig_nodeselector_is_applied_to_the_operator_deployment(scene: Scene) -> None:
    scene.create_namespace()
    scene.cluster_catalog([Entry("1.2.0")])
    scene.install(config={"deploymentConfig": {"nodeSelector": {"kubernetes.io/os": "linux"}}})
    deployment = scene.read(scene.objects["Deployment"])
    assert deployment is not None
    assert deployment["spec"]["template"]["spec"]["nodeSelector"] == {"kubernetes.io/os": "linux"}
