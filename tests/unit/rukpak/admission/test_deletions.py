"""What is said when a protected object is deleted."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.admission.review import Denial
from olmkit.api import bundledeployments, operators
from olmkit.api.bundledeployment_status import CustomResourceCount
from rukpak.admission.deletions import FORBIDDEN, Protector, denial_of, is_protected, operator_of

ANNOTATION = "operators.operatorframework.io/deletion-protection"


def count(plural: str, number: int | None, **other: Any) -> CustomResourceCount:
    return CustomResourceCount(group="example.com", kind=plural.capitalize(), plural=plural, count=number, **other)


@pytest.mark.parametrize(
    ("counts", "listed"),
    [
        pytest.param([], None, id="no CRDs"),
        pytest.param([count("cups", 0), count("boats", 0)], None, id="nothing is in use"),
        pytest.param([count("cups", 3), count("boats", 0)], "3 cups.example.com", id="one kind is in use"),
        pytest.param([count("cups", 3), count("boats", 1)], "1 boats.example.com, 3 cups.example.com", id="two are"),
        pytest.param([count("cups", 500, truncated=True)], "500 or more cups.example.com", id="counting stopped"),
        pytest.param(
            [count("cups", None, message="no answer")],
            "an unknown number of cups.example.com (no answer)",
            id="what cannot be counted counts as used",
        ),
    ],
)
def test_the_custom_resources_are_named_with_what_to_do(counts: list[CustomResourceCount], listed: str | None) -> None:
    for kind, name in (
        (operators.KIND, "operators.operators.operatorframework.io"),
        (bundledeployments.KIND, "bundledeployments.core.rukpak.io"),
    ):
        text = (
            f"{kind.kind} ship is protected: its deletion would delete {listed}. Delete them first, or remove the "
            f"protection: kubectl annotate {name} ship {ANNOTATION}-"
        )
        protector = Protector(kind, "ship")
        assert denial_of(protector, counts) == (Denial(FORBIDDEN, text) if listed else None)
        part = text.replace(f"{kind.kind} ship is", f"Namespace sea of {kind.kind} ship is")
        assert denial_of(protector, counts, "Namespace sea") == (Denial(FORBIDDEN, part) if listed else None)


def test_the_protection_of_what_belongs_to_a_clusterextension_is_removed_there() -> None:
    """It would write the annotation of its Operator again."""
    owner = {"kind": "ClusterExtension", "name": "fleet.of.ships", "uid": "u", "controller": True}
    protector = Protector.of_operator({"metadata": {"name": "ship", "ownerReferences": [owner]}})
    denial = denial_of(protector, [count("cups", 3)])
    assert denial is not None
    assert denial.message.startswith("Operator ship is protected: ")
    command = f"kubectl annotate clusterextensions.olm.operatorframework.io fleet.of.ships {ANNOTATION}-"
    assert denial.message.endswith(f", or remove the protection: {command}")


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        pytest.param({}, False, id="no annotations"),
        pytest.param({"annotations": {"other": "true"}}, False, id="another annotation"),
        pytest.param({"annotations": {ANNOTATION: "false"}}, False, id="another value"),
        pytest.param({"annotations": {ANNOTATION: "true"}}, True, id="protected"),
        pytest.param(
            {"annotations": {ANNOTATION: "true"}, "deletionTimestamp": "2026-01-01T00:00:00Z"},
            False,
            id="being deleted already",
        ),
    ],
)
def test_an_annotation_protects_until_the_deletion_begins(metadata: dict[str, Any], expected: bool) -> None:
    assert is_protected({"metadata": metadata}) is expected


@pytest.mark.parametrize(
    ("name", "is_found"), [("ship", True), ("a.b", True), ("x/../../../api/v1/pods", False), ("..", False), ("", False)]
)
def test_an_owner_whose_name_is_that_of_no_operator_is_not_looked_for(name: str, is_found: bool) -> None:
    """The review may come from anyone: what it names must not become another path of the API server."""
    owner = {"kind": "Operator", "name": name, "uid": "u", "controller": True}
    assert operator_of({"metadata": {"ownerReferences": [owner]}}) == (owner if is_found else None)
