"""The messages about broken rules, and about custom resources."""

from __future__ import annotations

from olmkit.api.crd_upgrade_rules import CrdUpgradeRule as Rule
from olmkit.crd_safety.messages import MAX_BYTES, objects_refusal, permitted_loss, refusal
from olmkit.crd_safety.problem import InvalidObject, Problem

SIZE = Problem("v1", "spec.size", Rule.TYPE_CHANGED, "integer -> string")
COLOR = Problem("v1 -> v2", "spec.color", Rule.ENUM_ADDED, 'any value -> ["red"]')
STORED = Problem("v1", "", Rule.STORED_VERSION_REMOVED, "it is removed")
SCOPE = Problem("", "", Rule.SCOPE_CHANGED, "Namespaced -> Cluster")


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


def test_why_rules_count_is_said_of_each_definition() -> None:
    assert refusal({"boats": (SIZE,)}, {"boats": "they cannot be listed"}).startswith(
        'validating upgrade for CRD "boats": v1: spec.size: type-changed: integer -> string (they cannot be listed); if this'
    )


FIRST = (InvalidObject("harbour", "dinghy", "spec.size: type"), InvalidObject("", "ark", "required spec"))


def test_objects_that_are_not_valid_are_named_with_their_count() -> None:
    assert objects_refusal(Rule.EXISTING_OBJECT_INVALID, {("boats", "v1"): FIRST}, 7) == (
        '7 custom resources are not valid by the new schema: validating upgrade for CRD "boats": v1: existing-object-invalid: '
        "ark: required spec, harbour/dinghy: spec.size: type; "
        "change them, or name existing-object-invalid in crdUpgradeSafety.ignoredRules"
    )


def test_objects_with_long_names_are_cut_and_what_to_name_is_not() -> None:
    found = [InvalidObject("n" * 60, f"{number}{'o' * 250}", "spec.size is dropped") for number in range(6)]
    text = objects_refusal(Rule.EXISTING_OBJECT_LOSES_DATA, {("boats", "v1"): found, ("boats", "v2"): found}, 77)
    assert text.startswith("77 custom resources lose data by the new schema: ")
    assert " and more; " in text
    assert text.endswith("; change them, or name existing-object-loses-data in crdUpgradeSafety.ignoredRules")
    assert len(text.encode()) <= MAX_BYTES
    assert len(permitted_loss({("boats", "v1"): found}, 77).encode()) <= MAX_BYTES


def test_a_loss_that_is_permitted_is_named_with_its_count() -> None:
    lost = [InvalidObject("", f"ark-{number}", "spec.size is dropped") for number in range(6)]
    assert permitted_loss({("boats", "v1"): lost}, 70) == (
        "70 custom resources lose data by the new schema, as crdUpgradeSafety.ignoredRules permits: "
        'validating upgrade for CRD "boats": v1: existing-object-loses-data: '
        + ", ".join(f"ark-{number}: spec.size is dropped" for number in range(5))
        + " and more"
    )


def test_one_object_that_loses_data_is_named() -> None:
    lost = InvalidObject("", "ark", "spec.size is dropped")
    assert objects_refusal(Rule.EXISTING_OBJECT_LOSES_DATA, {("boats", "v1"): (lost,)}, 1) == (
        '1 custom resource loses data by the new schema: validating upgrade for CRD "boats": v1: existing-object-loses-data: '
        "ark: spec.size is dropped; change it, or name existing-object-loses-data in crdUpgradeSafety.ignoredRules"
    )
