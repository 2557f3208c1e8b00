"""Reasons and condition types are API: a controller uses, a page documents and a test covers each."""

from __future__ import annotations

import re
from enum import StrEnum
from functools import cache
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


@cache
def words_of_tests() -> frozenset[str]:
    """The words of all tests, and the members of an enumeration Reason that they name."""
    text = sources("tests")
    return frozenset((*re.findall(r"\w+", text), *re.findall(r"Reason\.\w+", text)))


@pytest.mark.parametrize("kind", KINDS)
def test_each_reason_is_used_documented_and_tested(kind: str) -> None:
    reasons, _, code, page = KINDS[kind]
    code, documentation = sources(code), (REPOSITORY / page).read_text()
    for reason in reasons:
        assert re.search(rf"Reason\.{reason.name}\b", code), f"{reason.name} is never used"
        assert f"`{reason}`" in documentation, f"{page} does not document {reason}"
        assert words_of_tests() & {f"Reason.{reason.name}", str(reason)}, f"no test has {reason}"


@pytest.mark.parametrize("kind", KINDS)
def test_each_condition_type_is_documented(kind: str) -> None:
    _, types, _, page = KINDS[kind]
    documentation = (REPOSITORY / page).read_text()
    assert not [condition for condition in types if f"`{condition}`" not in documentation]
