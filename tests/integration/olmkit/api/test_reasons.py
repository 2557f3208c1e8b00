"""Reasons and condition types are API: each one is given by its controller, told in the kind's page and seen in a test."""

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


def sources(folder: str) -> str:
    return "\n".join(path.read_text() for path in (REPOSITORY / folder).rglob("*.py") if path != Path(__file__))


@pytest.mark.parametrize("kind", KINDS)
def test_each_reason_is_given_told_and_tested(kind: str) -> None:
    reasons, _, code, page = KINDS[kind]
    given, told, tested = sources(code), (REPOSITORY / page).read_text(), sources("tests")
    for reason in reasons:
        assert re.search(rf"Reason\.{reason.name}\b", given), f"{reason.name} is never given"
        assert f"`{reason}`" in told, f"{page} does not tell of {reason}"
        assert re.search(rf"(Reason\.{reason.name}\b|\b{reason}\b)", tested), f"no test sees {reason}"


@pytest.mark.parametrize("kind", KINDS)
def test_each_condition_is_told(kind: str) -> None:
    _, types, _, page = KINDS[kind]
    told = (REPOSITORY / page).read_text()
    assert not [condition for condition in types if f"`{condition}`" not in told]
