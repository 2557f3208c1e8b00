"""The rules for upgrades of CustomResourceDefinitions, and the page about them."""

from __future__ import annotations

from olmkit.api.crd_upgrade_rules import CrdUpgradeRule
from tests.pages import REPOSITORY


def test_the_page_describes_every_rule_in_its_words() -> None:
    page = (REPOSITORY / "docs" / "crd-upgrades.md").read_text()
    rows = [f"| `{rule.value}` | {rule.description} |" for rule in CrdUpgradeRule]
    assert "\n".join(rows) in page
