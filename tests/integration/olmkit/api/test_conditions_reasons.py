"""Reasons and condition types are API: a controller uses, a page documents and a test covers each."""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import Path

import pytest

from olmkit.api import bundledeployments, bundles, catalogs, operators

REPOSITORY = Path(__file__).parents[4]
KINDS: dict[str, tuple[type[StrEnum], type[StrEnum], str, str]] = {
    "Catalog": (catalogs.Reason, catalogs.ConditionType, "catalogd", "docs/catalog.md"),
    "Operator": (operators.Reason, operators.ConditionType, "operator_controller", "docs/operator.md"),
    "Bundle": (bundles.Reason, bundles.ConditionType, "rukpak/bundle", "docs/bundle.md"),
    "BundleDeployment": (
        bundledeployments.Reason,
        bundledeployments.ConditionType,
        "rukpak/bundledeployment",
        "docs/bundledeployment.md",
    ),
}


def sources(directory: str) -> str:
    return "\n".join(path.read_text() for path in (REPOSITORY / directory).rglob("*.py") if path != Path(__file__))


@pytest.mark.parametrize("kind", KINDS)
def test_each_reason_is_used_documented_and_tested(kind: str) -> None:
    reasons, _, code, page = KINDS[kind]
    code, documentation, tested = sources(code), (REPOSITORY / page).read_text(), sources("tests")
    for reason in reasons:
        assert re.search(rf"Reason\.{reason.name}\b", code), f"{reason.name} is never used"
        assert f"`{reason}`" in documentation, f"{page} does not document {reason}"
        assert re.search(rf"(Reason\.{reason.name}\b|\b{reason}\b)", tested), f"no test has {reason}"


@pytest.mark.parametrize("kind", KINDS)
def test_each_condition_type_is_documented(kind: str) -> None:
    _, types, _, page = KINDS[kind]
    documentation = (REPOSITORY / page).read_text()
    assert not [condition for condition in types if f"`{condition}`" not in documentation]
