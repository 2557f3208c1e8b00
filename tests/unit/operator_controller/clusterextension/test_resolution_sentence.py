"""The sentences of OLM v1 about a choice that failed, as scripts compare them."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.api.clusterextensions import ClusterExtension
from olmkit.api.failures import FailureReason
from olmkit.api.operator_status import Failure
from operator_controller.clusterextension.resolution_sentence import resolution_sentence
from tests.unit.operator_controller.clusterextension.worlds import extension_object


@pytest.mark.parametrize(
    ("catalog", "failure", "sentence"),
    [
        pytest.param({}, {"reason": "PackageNotFound"}, 'no bundles found for package "argo"', id="no such package"),
        pytest.param(
            {"version": "2.x", "channels": ["b", "a"]},
            {"reason": "VersionNotFound"},
            'no bundles found for package "argo" matching version "2.x" in channels [b a]',
            id="no such version in the channels, as spec lists them",
        ),
        pytest.param(
            {"version": "1.2.0"},
            {"reason": "NoUpgradeEdge", "installedVersion": "1.0.0"},
            'error upgrading from currently installed version "1.0.0": no bundles found for package "argo" matching version '
            '"1.2.0"',
            id="no edge to the version",
        ),
        pytest.param(
            {},
            {"reason": "AmbiguousCatalogs", "catalogs": ["extra", "test"]},
            'found bundles for package "argo" in multiple catalogs with the same priority [extra test]',
            id="two catalogs of the same priority",
        ),
        pytest.param(
            {},
            {"reason": "CatalogNotSelected", "installedVersion": "1.0.0"},
            'error upgrading from currently installed version "1.0.0": no bundles found for package "argo"',
            id="the catalog of the installed bundle is not selected",
        ),
        pytest.param(
            {"version": "2.0.0"},
            {"reason": "PackageNotFound", "catalogs": ["gone"], "installedVersion": "1.0.0"},
            'error upgrading from currently installed version "1.0.0": no bundles found for package "argo" matching version '
            '"2.0.0"',
            id="another version than the installed one, whose catalog was deleted",
        ),
        pytest.param(
            {},
            {"reason": "CatalogUnavailable", "catalogs": ["one", "two"]},
            'error walking catalogs: error getting package "argo" from catalog "one": catalog "one" is not being served',
            id="the first catalog that is not served",
        ),
        pytest.param(
            {}, {"reason": "CatalogUnavailable"}, "the message", id="an unavailable catalog without a name: the message"
        ),
        pytest.param(
            {"version": "1..2"},
            {"reason": "InvalidRange"},
            'desired version range "1..2" is invalid: the message',
            id="a version that is no range",
        ),
        *(
            pytest.param({}, {"reason": reason}, "the message", id=f"{reason}: OLM v1 has no such failure")
            for reason in (
                FailureReason.CONFLICT,
                FailureReason.PACKAGE_CLAIMED,
                FailureReason.REQUIREMENTS_NOT_SATISFIED,
                FailureReason.RESOLUTION_FAILED,
                FailureReason.VERSION_EXCLUDED,
            )
        ),
    ],
)
def test_the_sentence_is_made_from_the_fields_of_the_failure(
    catalog: dict[str, Any], failure: dict[str, Any], sentence: str
) -> None:
    extension = ClusterExtension.load(extension_object(catalog=catalog))
    assert resolution_sentence(extension, Failure.load({"message": "the message", **failure})) == sentence
