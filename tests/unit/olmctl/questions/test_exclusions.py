"""Exclusions of versions: each field manager has its own, and applies them with what it has applied before."""

from __future__ import annotations

from typing import Any

import pytest

from olmctl.questions.exclusions import (
    excluded_entry,
    excluding,
    other_managers,
    own_exclusions,
    without_entry,
    without_own,
)

FIELDS: dict[str, Any] = {
    "f:metadata": {"f:labels": {"f:team": {}}, "f:annotations": {"f:note": {}}},
    "f:spec": {"f:packageName": {}, "f:excludedVersions": {".": {}, 'v:"1.0.0"': {}, 'v:"2.0.0"': {}}},
}
STATUS: dict[str, Any] = {"f:spec": {"f:excludedVersions": {'v:"9.0.0"': {}}}}
FOUND: dict[str, Any] = {
    "metadata": {
        "name": "a",
        "uid": "u",
        "resourceVersion": "7",
        "labels": {"team": "x", "other": "y"},
        "annotations": {"note": "n"},
        "managedFields": [
            {"manager": "console", "operation": "Apply", "subresource": "status", "fieldsV1": STATUS},
            {"manager": "console", "operation": "Apply", "fieldsV1": FIELDS},
        ],
    },
    "spec": {"packageName": "a", "channel": "stable", "excludedVersions": ["1.0.0", "2.0.0", "3.0.0+build"]},
}


def test_a_manager_has_its_own_members() -> None:
    assert own_exclusions(FOUND, "console") == ["1.0.0", "2.0.0"]
    assert own_exclusions(FOUND) == []


def test_what_a_manager_has_applied_stays() -> None:
    assert excluding(FOUND, ["1.0.0", "4.0.0"], "console") == {
        "apiVersion": "operators.operatorframework.io/v1alpha1",
        "kind": "Operator",
        "metadata": {"name": "a", "uid": "u", "labels": {"team": "x"}, "annotations": {"note": "n"}},
        "spec": {"packageName": "a", "excludedVersions": ["1.0.0", "4.0.0"]},
    }
    assert excluding(FOUND, ["4.0.0"])["spec"] == {"excludedVersions": ["4.0.0"]}
    assert "excludedVersions" not in excluding(FOUND, [], "console")["spec"]


@pytest.mark.parametrize(
    ("version", "entry"),
    [
        pytest.param("1.0.0", "1.0.0", id="the version"),
        pytest.param("3.0.0", "3.0.0+build", id="without regard to build metadata"),
        pytest.param("4.0.0", "", id="another version"),
    ],
)
def test_the_entry_that_excludes_a_version(version: str, entry: str) -> None:
    assert excluded_entry(FOUND, version) == entry


def test_a_manager_permits_what_it_has_excluded_and_names_others() -> None:
    kept = without_own(FOUND, "1.0.0", "console")
    assert kept is not None
    assert kept["spec"] == {"packageName": "a", "excludedVersions": ["2.0.0"]}
    assert without_own(FOUND, "3.0.0+build", "console") is None
    assert (other_managers(FOUND, "1.0.0"), other_managers(FOUND, "1.0.0", "console")) == (["console"], [])


def test_an_entry_of_others_is_taken_out_of_the_state_that_was_read() -> None:
    patch = {"metadata": {"resourceVersion": "7"}, "spec": {"excludedVersions": ["2.0.0", "3.0.0+build"]}}
    assert without_entry(FOUND, "1.0.0") == patch
    assert without_entry({**FOUND, "spec": {"excludedVersions": ["1.0.0"]}}, "1.0.0") == {
        "metadata": {"resourceVersion": "7"},
        "spec": {"excludedVersions": None},
    }
    assert without_entry(FOUND, "4.0.0") is None
