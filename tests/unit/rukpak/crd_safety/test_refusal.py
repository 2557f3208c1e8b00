"""Which broken rules prevent an installation, and what is said about them."""

from __future__ import annotations

import pytest

from olmkit.api.crd_upgrade_safety import CrdUpgradeRule as Rule
from olmkit.api.crd_upgrade_safety import CrdUpgradeSafety
from rukpak.crd_safety.problem import InvalidObject, Problem
from rukpak.crd_safety.refusal import MAX_BYTES, counted, objects_refusal, refusal, versions_to_check

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


def test_nothing_counts_and_nothing_is_checked_when_the_policy_is_none() -> None:
    off = CrdUpgradeSafety(policy="None", ignored_rules=[Rule.TYPE_CHANGED])
    assert counted(ALL, off) == {}
    assert versions_to_check(ALL, off) == []


def test_every_problem_of_every_definition_is_named_with_the_rules_to_ignore() -> None:
    assert refusal({"ships": (SIZE,), "boats": (COLOR,)}) == (
        'validating upgrade for CRD "boats": v1 -> v2: spec.color: enum-added: any value -> ["red"]; '
        'validating upgrade for CRD "ships": v1: spec.size: type-changed: integer -> string; '
        "if this is safe, name these rules in crdUpgradeSafety.ignoredRules: enum-added, type-changed"
    )


def test_nobody_is_told_to_ignore_a_rule_that_the_api_server_has_too() -> None:
    assert refusal({"boats": (SCOPE, SIZE, STORED)}) == (
        'validating upgrade for CRD "boats": scope-changed: Namespaced -> Cluster; '
        "v1: spec.size: type-changed: integer -> string; v1: stored-version-removed: it is removed; "
        "the API server does not permit this (scope-changed, stored-version-removed): choose another version"
    )


def test_many_problems_are_cut_with_their_count_and_the_rules_to_ignore_are_not() -> None:
    found = tuple(Problem("v1", f"spec.f{number:03}", Rule.FIELD_REMOVED, "gone") for number in range(100))
    text = refusal({f"crd{number}": found for number in range(6)})
    assert text.count("and 99 more") == 6
    assert text.endswith("; if this is safe, name these rules in crdUpgradeSafety.ignoredRules: field-removed")
    assert len(text.encode()) <= MAX_BYTES


def test_many_definitions_are_cut_with_their_count() -> None:
    path = "spec.generators[*].clusterDecisionResource.template.spec.sourceHydrator.syncSource.path"
    found = (Problem("v1alpha1", path, Rule.PATTERN_CHANGED, "none -> 1"), SIZE)
    text = refusal({f"crd{number:02}": found for number in range(12)})
    assert text.startswith(
        'validating upgrade for CRD "crd00": v1: spec.size: type-changed: integer -> string; and 1 more; '
    )
    assert "more; if this is safe, name these rules" in text
    assert text.endswith(": pattern-changed, type-changed")
    assert len(text.encode()) <= MAX_BYTES


def test_one_problem_is_named_however_long_it_is() -> None:
    long = Problem("v1", "spec." + "deep." * 300, Rule.FIELD_REMOVED, "gone")
    assert str(long) in refusal({"boats": (long, long)})


@pytest.mark.parametrize(
    ("rules", "versions"),
    [
        pytest.param([], [], id="none when no rule is ignored"),
        pytest.param([Rule.TYPE_CHANGED], [("boats", "v1")], id="the version of an ignored problem"),
        pytest.param([Rule.ENUM_ADDED], [("boats", "v2")], id="the newer one of two versions"),
        pytest.param([Rule.SCOPE_CHANGED, Rule.STORED_VERSION_REMOVED], [], id="none for what no schema says"),
        pytest.param(
            [Rule.TYPE_CHANGED, Rule.EXISTING_OBJECT_INVALID], [], id="none when invalid objects are ignored too"
        ),
    ],
)
def test_versions_whose_objects_are_checked(rules: list[Rule], versions: list[tuple[str, str]]) -> None:
    assert versions_to_check(ALL, ignoring(*rules)) == versions


def test_objects_that_are_not_valid_are_named_with_their_count() -> None:
    first = (InvalidObject("harbour", "dinghy", "spec.size: type"), InvalidObject("", "ark", "required spec"))
    assert objects_refusal({("boats", "v1"): first}, 7) == (
        "7 custom resources are not valid by the new schema: "
        'validating upgrade for CRD "boats": v1: existing-object-invalid: ark: required spec, harbour/dinghy: spec.size: type'
    )
