"""The broken rules that count."""

from __future__ import annotations

from olmkit.api.crd_upgrade_rules import CrdUpgradeRule as Rule
from olmkit.api.crd_upgrade_safety import CrdUpgradeSafety
from olmkit.crd_safety.problem import Problem, counted

SIZE = Problem("v1", "spec.size", Rule.TYPE_CHANGED, "integer -> string")
COLOR = Problem("v1 -> v2", "spec.color", Rule.ENUM_ADDED, 'any value -> ["red"]')
STORED = Problem("v1", "", Rule.STORED_VERSION_REMOVED, "it is removed")
SCOPE = Problem("", "", Rule.SCOPE_CHANGED, "Namespaced -> Cluster")
ALL = {"boats": (SCOPE, SIZE, COLOR, STORED)}


def ignoring(*rules: Rule) -> CrdUpgradeSafety:
    return CrdUpgradeSafety(ignored_rules=list(rules))


def test_all_problems_count_without_settings() -> None:
    assert counted(ALL, None) == {"boats": [SCOPE, SIZE, COLOR, STORED]}


def test_problems_of_ignored_rules_do_not_count() -> None:
    assert counted(ALL, ignoring(Rule.SCOPE_CHANGED, Rule.TYPE_CHANGED)) == {"boats": [COLOR, STORED]}
    assert counted({"boats": (SIZE,)}, ignoring(Rule.TYPE_CHANGED)) == {}


def test_nothing_counts_when_the_policy_is_none() -> None:
    assert counted(ALL, CrdUpgradeSafety(policy="None")) == {}
