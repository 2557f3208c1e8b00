"""What is said about a BundleDeployment that has no Operator."""

from __future__ import annotations

from olmctl.questions.left_installations import LeftInstallation
from tests.unit.olmctl.bundle.installations import deployment


def test_what_is_being_deleted_is_not_to_be_taken_over() -> None:
    found = deployment("w")
    ways = "`olm bundle cleanup w` removes it, and `olm install widgets --name w --adopt` takes it over"
    assert LeftInstallation(found).sentence == f"BundleDeployment w of package widgets has no Operator: {ways}"
    found["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    text = "BundleDeployment w of package widgets has no Operator: it is being deleted"
    assert LeftInstallation(found).sentence == text
