"""Objects of APIs that Kubernetes removed."""

from __future__ import annotations

from typing import Any

import pytest

from olmctl.validation.loaded_bundle import LoadedBundle
from olmctl.validation.optional.removed_apis import alpha_deprecated_apis
from tests.unit.olmctl.validation.made_bundle import annotate, made, put
from tests.unit.olmctl.validation.optional.findings import found

OLD = put("spec.minKubeVersion", "1.16.0")
PERMISSION = put(
    "spec.install.spec.clusterPermissions.0.rules",
    [{"apiGroups": ["batch", "policy"], "resources": ["cronjobs", "podsecuritypolicies"], "verbs": ["get"]}],
)


def of(api_version: str, kind: str, name: str = "a") -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}}


@pytest.mark.parametrize(
    ("bundle", "release", "used"),
    [
        pytest.param(
            made(OLD, crd=put("apiVersion", "apiextensions.k8s.io/v1beta1")),
            22,
            'CRD: (["kettles.kitchen.example.com"])',
            id="a definition",
        ),
        pytest.param(
            made(
                OLD,
                objects=(
                    of("rbac.authorization.k8s.io/v1beta1", "Role"),
                    of("rbac.authorization.k8s.io/v1beta1", "Role", "b"),
                ),
            ),
            22,
            'Role: (["a" "b"])',
            id="two roles",
        ),
        pytest.param(
            made(OLD, objects=(of("storage.k8s.io/v1beta1", "CSINode"), of("coordination.k8s.io/v1beta1", "Lease"))),
            22,
            'CSINode: (["a"]),Lease: (["a"]),',
            id="two kinds",
        ),
        pytest.param(
            made(OLD, objects=(of("policy/v1beta1", "PodDisruptionBudget"),)),
            25,
            'PodDisruptionBudget: (["a"])',
            id="a budget",
        ),
        pytest.param(
            made(OLD, objects=(of("autoscaling/v2beta2", "HorizontalPodAutoscaler"),)),
            26,
            'HorizontalPodAutoscaler: (["a"])',
            id="an autoscaler",
        ),
        pytest.param(
            made(
                OLD,
                put(
                    "spec.customresourcedefinitions.owned.0.resources",
                    [{"version": "batch/v1beta1", "kind": "CronJob"}],
                ),
            ),
            25,
            'CronJob: (["ClusterServiceVersion.Spec.CustomResourceDefinitions.Owned[0].Resource[0]"])',
            id="a resource",
        ),
    ],
)
def test_an_api_that_was_removed(bundle: LoadedBundle, release: int, used: str) -> None:
    text = (
        f"this bundle is using APIs which were deprecated and removed in v1.{release}. More info: "
        f"https://kubernetes.io/docs/reference/using-api/deprecation-guide/#v1-{release}. Migrate the API(s) for {used}"
    )
    assert found(alpha_deprecated_apis, bundle) == [("warning", f"Warning: Value kettle-operator.v1.2.3: {text}")]
    versions = [f"1.{release}", f"v1.{release}.1", "2"]
    for version in versions:
        assert found(alpha_deprecated_apis, bundle, k8s_version=version) == [
            ("error", f"Error: Value kettle-operator.v1.2.3: {text}")
        ]
    assert found(alpha_deprecated_apis, bundle, k8s_version=f"1.{release - 1}")[0][0] == "warning"


def test_the_minimum_of_the_bundle_counts_too() -> None:
    bundle = made(put("spec.minKubeVersion", "1.25.0"), objects=(of("policy/v1beta1", "PodSecurityPolicy"),))
    assert found(alpha_deprecated_apis, bundle)[0][0] == "error"


def test_permissions_are_a_warning_in_any_version() -> None:
    ((level, text),) = found(alpha_deprecated_apis, made(PERMISSION), k8s_version="1.30")
    place = '(["ClusterServiceVersion.Spec.InstallStrategy.StrategySpec.ClusterPermissions[0].Rules[0]"])'
    assert level == "warning"
    assert text.endswith(f"Migrate the API(s) for cronjobs: {place},podsecuritypolicies: {place},")


def test_permissions_on_a_resource_that_a_description_names() -> None:
    resources = put("spec.customresourcedefinitions.owned.0.resources", [{"version": "v1", "kind": "CronJob"}])
    ((_, text),) = found(alpha_deprecated_apis, made(PERMISSION, resources))
    assert "cronjobs" not in text


def test_a_number_as_an_annotation_keeps_upstream_from_reading_the_permissions() -> None:
    assert found(alpha_deprecated_apis, made(PERMISSION, annotate("a", 1))) == []


def test_what_is_no_version() -> None:
    assert found(alpha_deprecated_apis, made(put("spec.minKubeVersion", "new")), k8s_version="newer") == [
        ("error", "Error: Value kettle-operator.v1.2.3: invalid value informed via the k8s key option : newer"),
        (
            "error",
            "Error: Value kettle-operator.v1.2.3: unable to use csv.Spec.MinKubeVersion to verify the CRD/Webhook apis because "
            "it "
            "has an invalid value: new",
        ),
    ]
