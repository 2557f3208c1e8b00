"""Bundles that cannot be pulled or installed: the Operator reports which and why, and nothing is installed partially."""

import json
from typing import Any

import pytest
import yaml

from devcluster.demo.full_catalog import operator_object
from devcluster.errors import DevclusterError
from devcluster.watch import Object, condition, is_true
from tests.bundle_properties import package_required
from tests.conditions import triple
from tests.e2e.packages import (
    Files,
    definition,
    group,
    package_blobs,
    publish,
    push_bundle,
    registry_bundle,
    service_version,
)
from tests.e2e.stage import Stage

REASONS = ("Blocked", "Installing", "Retrying", "NotResolved")
FOREIGN_KIND = {"apiVersion": "kinds.example.com/v1", "kind": "NetworkPolicy", "metadata": {"name": "foreign"}}


def _refused(stage: Stage, package: str, *words: str, stalled: bool) -> None:
    """Create an Operator for the package and wait until its status has all these words."""
    expected = "Stalled" if stalled else "Reconciling"

    def failed(found: Object) -> bool:
        status, reason, message = triple(found, "Ready")
        said = status == "False" and reason in REASONS and all(word in message for word in words)
        return said and condition(found, expected)["status"] == "True"

    stage.operator(package, package)
    stage.operator_when(package, f"{expected}, not installed because of {words}", failed, 90)


def _without_service_version(package: str) -> Files:
    files = registry_bundle(package)
    del files["manifests/csv.yaml"]
    return files


def _with_two(package: str) -> Files:
    other = service_version(package, "2.0.0")
    return {**registry_bundle(package), "manifests/csv-2.yaml": yaml.safe_dump(other).encode()}


def _unreadable(package: str) -> Files:
    return {**registry_bundle(package), "manifests/broken.yaml": b"kind: ["}


def _with_webhook_for_the_suite(package: str) -> Files:
    version: dict[str, Any] = service_version(package)
    version["spec"]["webhookdefinitions"] = [
        {
            "type": "ValidatingAdmissionWebhook",
            "generateName": "v.example.com",
            "deploymentName": package,
            "containerPort": 443,
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "rules": [{"apiGroups": ["core.rukpak.io"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}],
        }
    ]
    return {**registry_bundle(package), "manifests/csv.yaml": yaml.safe_dump(version).encode()}


@pytest.mark.parametrize(
    ("make", "words"),
    [
        pytest.param(_without_service_version, "ClusterServiceVersion", id="a bundle without CSV"),
        pytest.param(_with_two, "ClusterServiceVersion", id="a bundle with two CSVs"),
        pytest.param(_unreadable, "broken.yaml", id="a manifest that does not parse"),
        pytest.param(
            _with_webhook_for_the_suite, "matches the suite's own API", id="a bundle with a webhook for the suite's API"
        ),
    ],
)
def test_a_bundle_that_cannot_be_installed_is_explained(stage: Stage, make: Any, words: str) -> None:
    package = stage.name
    publish(stage, package_blobs(package, {"1.0.0": push_bundle(stage, package, make(package))}))
    _refused(stage, package, words, stalled=True)
    assert not stage.exists("crd", f"things.{group(package)}")
    assert not stage.exists("namespace", f"{package}-system")


def test_a_missing_kind_is_named_and_waited_for(stage: Stage) -> None:
    package = stage.name
    files = registry_bundle(package, others=[FOREIGN_KIND])
    publish(stage, package_blobs(package, {"1.0.0": push_bundle(stage, package, files)}))
    _refused(stage, package, "NetworkPolicy", "kinds.example.com", stalled=False)
    stage.cluster.kubectl("apply", "-f", "-", input=json.dumps(definition("kinds", "NetworkPolicy")))
    try:
        stage.ready_operator(package, "1.0.0")
        stage.delete("Operator", package)
    finally:
        stage.cluster.kubectl("delete", "crd", "networkpolicies.kinds.example.com")


def test_a_missing_bundle_image_is_named(stage: Stage) -> None:
    package = stage.name
    image = f"{stage.cluster.registry}/bundles/was-never-pushed:v1"
    publish(stage, package_blobs(package, {"1.0.0": image}))
    _refused(stage, package, image, "not found", stalled=False)


@pytest.mark.parametrize(
    ("property_", "words"),
    [
        pytest.param(
            package_required("needed"),
            ('requires needed ">=1.0.0", which no catalog offers',),
            id="needs a package",
        ),
        pytest.param(
            {"type": "olm.gvk.required", "value": {"group": "x.example.com", "version": "v1", "kind": "Needed"}},
            ("requires a provider of x.example.com/v1 Needed, which no catalog offers",),
            id="needs a kind",
        ),
        pytest.param(
            {"type": "olm.constraint", "value": {"failureMessage": "needs it", "package": {"packageName": "needed"}}},
            ("olm.constraint",),
            id="has a constraint",
        ),
    ],
)
def test_a_bundle_whose_requirements_nobody_satisfies_is_refused(
    stage: Stage, property_: Any, words: tuple[str, ...]
) -> None:
    package = stage.name
    image = push_bundle(stage, package, registry_bundle(package))
    publish(stage, package_blobs(package, {"1.0.0": image}, [property_]))
    stage.operator(package, package)
    found = stage.operator_when(package, "Stalled", lambda o: is_true(o, "Stalled"))
    status, reason, message = triple(found, "Resolved")
    assert (status, reason) == ("False", "ResolutionFailed")
    for word in words:
        assert word in message
    assert triple(found, "Installed")[:2] == ("Unknown", "InstallationStatusUnknown")


def test_a_package_in_no_catalog(stage: Stage) -> None:
    publish(stage, package_blobs("offered-operator", {"1.0.0": "registry.example.com/bundles/never-pulled:v1"}))
    stage.operator("nobody-offers-it", stage.name)
    found = stage.operator_when(stage.name, "Stalled", lambda o: is_true(o, "Stalled"))
    assert triple(found, "Resolved") == ("False", "ResolutionFailed", "package 'nobody-offers-it' not found")


@pytest.mark.parametrize("package", ["Not_A.Label", "-x", "x" * 254, ""], ids=["case", "dash", "too long", "empty"])
def test_an_invalid_package_name_is_refused_by_the_api_server(stage: Stage, package: str) -> None:
    with pytest.raises(DevclusterError, match=r"spec\.packageName"):
        stage.apply(operator_object(package, stage.name))
