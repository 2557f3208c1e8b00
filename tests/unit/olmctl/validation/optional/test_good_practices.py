"""Requests of resources, descriptions, names and permissions."""

from __future__ import annotations

from typing import Any

import pytest

from olmctl.validation.loaded_bundle import LoadedBundle
from olmctl.validation.optional.good_practices import good_practices
from tests.unit.olmctl.validation.made_bundle import PREFIX, made, put
from tests.unit.olmctl.validation.optional.findings import found

FIRST = "spec.install.spec.deployments.0.spec.template.spec.containers.0"


def allowing(**rule: Any) -> LoadedBundle:
    whole = {
        "apiGroups": ["apiextensions.k8s.io"],
        "resources": ["customresourcedefinitions"],
        "verbs": ["create"],
        **rule,
    }
    return made(put("spec.install.spec.clusterPermissions.0.rules", [whole]))


def test_a_bundle_that_follows_them() -> None:
    assert found(good_practices, made()) == []


@pytest.mark.parametrize(
    ("bundle", "rule", "words"),
    [
        pytest.param(
            made(put(f"{FIRST}.resources", None)),
            "resource-requests",
            "unable to find the resource requests for the container: (manager). It is recommended",
            id="no requests",
        ),
        pytest.param(
            made(put("spec.customresourcedefinitions.owned.0.description", None)),
            "crd-description",
            'owned CRD "kettles.kitchen.example.com" has an empty description',
            id="no description",
        ),
        pytest.param(
            allowing(), "crd-permission", "CSV contains permissions to create CRD.", id="permission to create"
        ),
        pytest.param(
            allowing(resources=["*"], verbs=["*"]), "crd-permission", "CSV contains permissions", id="all of a group"
        ),
        pytest.param(
            made(put("metadata.name", "kettle.1.2.3")),
            "csv-name-convention",
            "is not following the recommended naming convention",
            id="no v",
        ),
        pytest.param(
            made(put("metadata.name", "kettle.v1.02.3")),
            "csv-name-version",
            "is not following the versioning convention",
            id="a zero",
        ),
    ],
)
def test_a_warning_of_upstream(bundle: LoadedBundle, rule: str, words: str) -> None:
    (finding,) = good_practices(bundle, {})
    assert (finding.level, finding.rule, finding.extra) == ("warning", rule, False)
    assert words in finding.message


def test_no_deployments() -> None:
    bundle = made(put("spec.install.spec.deployments", None))
    assert found(good_practices, bundle) == [
        ("error", "Error: Value kettle-operator.v1.2.3: unable to find a deployment to install in the CSV")
    ]


@pytest.mark.parametrize(
    ("bundle", "rule", "words"),
    [
        pytest.param(
            made(put(f"{FIRST}.resources", {"requests": {"cpu": "1"}})), "resource-requests-partial", "requests no memory",
            id="only CPU",
        ),
        pytest.param(allowing(apiGroups=["*"]), "crd-permission-all-groups", "permissions on all API groups", id="all groups"),
        pytest.param(
            made(annotations={f"{PREFIX}channels.v1": "stable,b, a"}), "channel-name",
            'channel(s) ["a" "b"] are not following the recommended naming convention', id="names of channels",
        ),
    ],
)  # fmt: skip
def test_a_warning_that_upstream_lacks(bundle: LoadedBundle, rule: str, words: str) -> None:
    (finding,) = good_practices(bundle, {})
    assert (finding.level, finding.rule, finding.extra) == ("warning", rule, True)
    assert words in finding.message


def test_permissions_that_create_no_definitions() -> None:
    for rule in ({"verbs": ["get"]}, {"resources": ["pods"]}, {"apiGroups": ["apps"]}):
        assert found(good_practices, allowing(**rule)) == []
