"""Which CustomResourceDefinitions and Namespaces are deleted, and which are kept for others."""

from __future__ import annotations

import pytest

from rukpak.bundledeployment.cluster.namespace_info import NamespaceInfo
from rukpak.bundledeployment.deletion.retention import (
    CRD_RETENTION,
    Retention,
    crd_retention,
    finalized_namespace_retention,
    namespace_retention,
)
from rukpak.bundledeployment.world import Usage
from tests.unit.rukpak.bundledeployment.worlds import NS, UID, namespace

OURS = namespace()
SHARED = namespace(NS.name, UID, "uid-other")
EXISTED_BEFORE = namespace(created=False)
REQUIRED = namespace(is_required=True)


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        pytest.param(Usage.NEVER_ESTABLISHED, Retention.DELETE, id="a CRD that was never established is deleted"),
        pytest.param(Usage.UNUSED, Retention.DELETE, id="a CRD without custom resources is deleted"),
        pytest.param(Usage.IN_USE, Retention.RELEASE, id="a CRD with custom resources is released"),
        pytest.param(Usage.UNLISTABLE, Retention.RELEASE, id="a CRD that serves no version is released"),
    ],
)
def test_a_crd_that_left_the_bundle(usage: Usage, expected: Retention) -> None:
    assert crd_retention(usage) is expected


@pytest.mark.parametrize(
    ("info", "usage", "expected"),
    [
        pytest.param(OURS, Usage.UNUSED, Retention.DELETE, id="an empty Namespace that rukpak created is deleted"),
        pytest.param(OURS, Usage.IN_USE, Retention.RELEASE, id="a Namespace with objects of others is released"),
        pytest.param(SHARED, Usage.UNUSED, Retention.LEAVE, id="a Namespace with other members is left"),
        pytest.param(SHARED, Usage.IN_USE, Retention.LEAVE, id="a Namespace with other members and objects is left"),
        pytest.param(EXISTED_BEFORE, Usage.UNUSED, Retention.LEAVE, id="a Namespace that existed before is left"),
        pytest.param(REQUIRED, Usage.UNUSED, Retention.LEAVE, id="an empty Namespace that is required is left"),
        pytest.param(REQUIRED, Usage.IN_USE, Retention.LEAVE, id="a Namespace that is required is left, not released"),
        pytest.param(EXISTED_BEFORE, Usage.IN_USE, Retention.LEAVE, id="a used Namespace that existed before is left"),
    ],
)
def test_a_namespace_that_left_the_bundle(info: NamespaceInfo, usage: Usage, expected: Retention) -> None:
    assert namespace_retention(info, usage) is expected


def test_every_usage_of_a_crd_has_a_rule() -> None:
    assert CRD_RETENTION.keys() == set(Usage)


def test_nothing_is_decided_about_a_namespace_of_its_own_before_its_usage_is_known() -> None:
    assert namespace_retention(OURS, None) is None
    assert namespace_retention(SHARED, None) is Retention.LEAVE


@pytest.mark.parametrize(
    ("info", "expected"),
    [
        pytest.param(OURS, Retention.DELETE, id="a Namespace that rukpak created is deleted, whatever is in it"),
        pytest.param(SHARED, Retention.LEAVE, id="a Namespace with other members is left"),
        pytest.param(EXISTED_BEFORE, Retention.LEAVE, id="a Namespace that existed before is left"),
    ],
)
def test_a_namespace_of_a_bundle_deployment_that_is_being_deleted(info: NamespaceInfo, expected: Retention) -> None:
    assert finalized_namespace_retention(info) is expected
