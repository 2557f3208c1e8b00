"""Which broken rules refuse a bundle, before custom resources are read."""

from __future__ import annotations

import pytest

from olmkit.api.crd_upgrade_rules import CrdUpgradeRule as Rule
from olmkit.api.crd_upgrade_rules import Refuses
from olmkit.api.crd_upgrade_safety import CrdUpgradeSafety
from olmkit.crd_safety.forecast import refuses
from olmkit.crd_safety.problem import Problem

OBJECTS = [Rule.EXISTING_OBJECT_INVALID, Rule.EXISTING_OBJECT_LOSES_DATA]


def settings(policy: str | None = None, *ignored: Rule) -> CrdUpgradeSafety:
    return CrdUpgradeSafety.load({"policy": policy, "ignoredRules": [each.value for each in ignored]})


def problem(rule: Rule, version: str = "v1") -> Problem:
    return Problem(version, "spec.size", rule, "a -> b")


REMOVED, TYPE, DEFAULT = (problem(each) for each in (Rule.FIELD_REMOVED, Rule.TYPE_CHANGED, Rule.DEFAULT_CHANGED))
SCOPE = problem(Rule.SCOPE_CHANGED, "")


@pytest.mark.parametrize(
    ("broken", "given", "expected"),
    [
        pytest.param(REMOVED, None, Refuses.IF_USED, id="by default custom resources decide"),
        pytest.param(REMOVED, settings("IfUsed"), Refuses.IF_USED, id="IfUsed: custom resources decide"),
        pytest.param(REMOVED, settings("Enforce"), Refuses.ALWAYS, id="Enforce: the rule refuses"),
        pytest.param(REMOVED, settings("None"), None, id="None: nothing is checked"),
        pytest.param(DEFAULT, None, None, id="what only clients notice refuses nothing by default"),
        pytest.param(DEFAULT, settings("Enforce"), Refuses.ALWAYS, id="Enforce: what clients notice refuses"),
        pytest.param(DEFAULT, settings("Enforce", Rule.DEFAULT_CHANGED), None, id="what clients notice is ignored"),
        pytest.param(SCOPE, None, Refuses.ALWAYS, id="the API server does not permit another scope"),
        pytest.param(SCOPE, settings("None"), Refuses.ALWAYS, id="nor does it without checks"),
        pytest.param(SCOPE, settings("Enforce", Rule.SCOPE_CHANGED), Refuses.ALWAYS, id="nor if the rule is ignored"),
        pytest.param(
            TYPE,
            settings("Enforce", Rule.TYPE_CHANGED),
            Refuses.IF_USED,
            id="ignored: custom resources have to be valid",
        ),
        pytest.param(TYPE, settings(None, Rule.TYPE_CHANGED, *OBJECTS), None, id="ignored with the rules about them"),
        pytest.param(
            REMOVED,
            settings(None, Rule.FIELD_REMOVED, Rule.EXISTING_OBJECT_INVALID),
            Refuses.IF_USED,
            id="ignored: custom resources may not lose data",
        ),
    ],
)
def test_when_a_broken_rule_refuses(broken: Problem, given: CrdUpgradeSafety | None, expected: Refuses | None) -> None:
    assert refuses(broken, given) is expected
