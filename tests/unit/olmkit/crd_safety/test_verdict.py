"""What broken rules and custom resources prevent, by the settings."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.api.crd_upgrade_rules import CrdUpgradeRule as Rule
from olmkit.api.crd_upgrade_safety import CrdUpgradeSafety
from olmkit.crd_safety.compare import compare
from olmkit.crd_safety.evidence import Check, Evidence, Form
from olmkit.crd_safety.forms import check_of, form_of, is_concerned, listed_version, wanted_forms
from olmkit.crd_safety.object_evaluation import evaluate
from olmkit.crd_safety.problem import InvalidObject, Problem
from olmkit.crd_safety.verdict import NOT_EVALUATED, judge, noticed
from tests.unit.olmkit.crd_safety.definitions import definition, schema

SIZE = Problem("v1", "spec.size", Rule.TYPE_CHANGED, "integer -> string")
GONE = Problem("v1 -> v2", "spec.color", Rule.FIELD_REMOVED, "the field is removed")
GONE_OF_V1 = Problem("v1", "spec.size", Rule.FIELD_REMOVED, "the field is removed")
CEL = Problem("v1", "spec.size", Rule.VALIDATION_RULE_ADDED, '"self > 1"')
PATTERN = Problem("v1", "spec.size", Rule.PATTERN_CHANGED, 'none -> "a"')
DEFAULT = Problem("v1", "spec.size", Rule.DEFAULT_ADDED, "none -> 1")
CONVERSION = Problem("", "", Rule.CONVERSION_REMOVED, "Webhook -> None")
SCOPE = Problem("", "", Rule.SCOPE_CHANGED, "Namespaced -> Cluster")
V1, V2, ANY = Form("boats", "v1", "v1"), Form("boats", "v1", "v2"), Form("boats", "", "")
INCOMPARABLE = Problem("", "", Rule.UNHANDLED_CHANGE, "the schemas cannot be compared: TypeError")
TEXT, EMPTY = schema({"type": "string"}), schema()
ABOUT_OBJECTS = (Rule.EXISTING_OBJECT_INVALID, Rule.EXISTING_OBJECT_LOSES_DATA)
ARK = (InvalidObject("", "ark", "spec.size: type"),)


def ignoring(*rules: Rule, policy: Any = None) -> CrdUpgradeSafety:
    return CrdUpgradeSafety(policy=policy, ignored_rules=list(rules))


FORMS: dict[str, tuple[tuple[Problem, ...], CrdUpgradeSafety | None, list[Form]]] = {
    "each form of a broken rule": ((SIZE, GONE), None, [V1, V2]),
    "whether there are any, for what is about no version": ((CONVERSION,), None, [ANY]),
    "nothing for a default": ((DEFAULT,), None, []),
    "nothing if the API server refuses it": ((SIZE, SCOPE), None, []),
    "nothing if the rules alone decide": ((SIZE,), ignoring(policy="Enforce"), []),
    "nothing without checks": ((SIZE,), ignoring(policy="None"), []),
    "the forms of ignored rules": ((SIZE,), ignoring(Rule.TYPE_CHANGED, policy="Enforce"), [V1]),
    "nothing for an ignored rule that drops nothing if invalid ones are ignored too": (
        (SIZE,),
        ignoring(Rule.TYPE_CHANGED, Rule.EXISTING_OBJECT_INVALID),
        [],
    ),
    "the forms of an ignored rule that drops fields though invalid ones are ignored too": (
        (GONE, SIZE),
        ignoring(Rule.FIELD_REMOVED, Rule.TYPE_CHANGED, Rule.EXISTING_OBJECT_INVALID),
        [V2],
    ),
    "nothing for an ignored rule that drops fields if losses and invalid ones are ignored too": (
        (GONE,),
        ignoring(Rule.FIELD_REMOVED, *ABOUT_OBJECTS),
        [],
    ),
    "whether there are any, where ignored schemas cannot be compared": (
        (INCOMPARABLE,),
        ignoring(Rule.UNHANDLED_CHANGE),
        [ANY],
    ),
    "the forms of other rules if invalid ones are ignored": ((GONE,), ignoring(Rule.EXISTING_OBJECT_INVALID), [V2]),
}


@pytest.mark.parametrize("name", FORMS)
def test_custom_resources_are_checked_for(name: str) -> None:
    problems, settings, forms = FORMS[name]
    assert wanted_forms({"boats": problems}, settings) == forms


REFUSED: dict[str, tuple[Problem, Evidence, str]] = {
    "a rule of which only the API server knows": (CEL, Evidence(1, present=frozenset({"spec.size"})), NOT_EVALUATED),
    "a pattern that only Go understands": (
        PATTERN,
        Evidence(1, present=frozenset({"spec.size"}), unchecked=frozenset({"pattern [[:alnum:]]"})),
        NOT_EVALUATED,
    ),
    "a conversion that is removed": (CONVERSION, Evidence(1, present=frozenset({""})), NOT_EVALUATED),
    "custom resources that cannot be listed": (SIZE, Evidence(unknown="no"), "no"),
    "a check that failed": (SIZE, Evidence(3, failed="RecursionError"), "RecursionError"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_rule_counts_because_of(name: str) -> None:
    problem, shown, reason = REFUSED[name]
    verdict = judge({"boats": (problem,)}, {form_of("boats", problem): shown}, None)
    assert (verdict.refused, verdict.reasons) == ({"boats": [problem]}, {"boats": reason})
    assert f"({reason})" in verdict.refusal


NOTICED: dict[str, tuple[Problem, Evidence]] = {
    "no custom resource exists": (SIZE, Evidence()),
    "all of them are valid": (SIZE, Evidence(7)),
    "none has a value where a rule is added": (CEL, Evidence(7)),
    "all patterns are understood": (
        PATTERN,
        Evidence(7, present=frozenset({"spec.size"}), unchecked=frozenset({"format"})),
    ),
    "only a default changes": (DEFAULT, Evidence(7)),
}


@pytest.mark.parametrize("name", NOTICED)
def test_a_rule_concerns_clients_alone_if(name: str) -> None:
    problem, shown = NOTICED[name]
    verdict = judge({"boats": (problem,)}, {form_of("boats", problem): shown}, None)
    assert (verdict.refusal, verdict.noticeable) == ("", {"boats": [problem]})
    said = f"no custom resource is concerned by the changes of boats ({problem.rule.value}), clients may be"
    assert noticed(verdict.noticeable) == said


def test_nothing_is_said_where_nothing_is_to_be_noticed() -> None:
    assert noticed({}) == ""


def test_a_custom_resource_that_is_not_valid_or_loses_data_counts_unless_that_is_ignored() -> None:
    problems, shown = {"boats": (SIZE,)}, {V1: Evidence(7, invalid=ARK, invalid_count=1, lossy=ARK, lossy_count=1)}
    verdict = judge(problems, shown, None)
    assert (verdict.invalid, verdict.lossy) == ({("boats", "v1"): [*ARK]}, {("boats", "v1"): [*ARK]})
    assert verdict.refusal.startswith("1 custom resource loses data")
    assert "; 1 custom resource is not valid" in verdict.refusal
    assert judge(problems, shown, ignoring(Rule.EXISTING_OBJECT_INVALID)).invalid == {}


def test_rules_that_concern_custom_resources_are_not_said_to_concern_clients_alone() -> None:
    problems, shown = {"boats": (SIZE, GONE_OF_V1, DEFAULT)}, Evidence(7, lossy=ARK, lossy_count=1)
    permitting = ignoring(Rule.EXISTING_OBJECT_LOSES_DATA)
    for settings in (None, permitting):
        verdict = judge(problems, {V1: shown}, settings)
        assert (verdict.concerning, verdict.noticeable) == ({"boats": [GONE_OF_V1]}, {"boats": [SIZE, DEFAULT]})
    assert (verdict.refusal, verdict.permitted, verdict.permitted_count) == ("", {("boats", "v1"): [*ARK]}, 1)
    assert verdict.permitted_loss.startswith("1 custom resource loses data by the new schema, as")
    invalid = Evidence(7, invalid=ARK, invalid_count=1)
    for settings in (None, ignoring(Rule.EXISTING_OBJECT_INVALID)):
        verdict = judge(problems, {V1: invalid}, settings)
        assert (verdict.concerning, verdict.noticeable) == ({"boats": [SIZE, GONE_OF_V1]}, {"boats": [DEFAULT]})
        assert verdict.permitted_loss == ""


def test_what_the_api_server_refuses_is_named_alone_by_default_and_with_the_rest_where_rules_decide() -> None:
    problems = {"boats": (SIZE, SCOPE), "ships": (SIZE,)}
    assert judge(problems, {}, None).refused == {"boats": [SCOPE]}
    assert judge(problems, {}, ignoring(policy="Enforce")).refused == {"boats": [SIZE, SCOPE], "ships": [SIZE]}


def test_a_failed_check_of_an_ignored_rule_is_waited_for_and_its_limits_are_noted() -> None:
    settings = ignoring(Rule.TYPE_CHANGED)
    assert judge({"boats": (SIZE,)}, {V1: Evidence(failed="no answer")}, settings).failed == "boats: no answer"
    verdict = judge({"boats": (SIZE,)}, {V1: Evidence(3, unknown="only 3", unchecked=frozenset({"format"}))}, settings)
    assert verdict.refusal == ""
    assert verdict.notes == (
        "boats v1: its custom resources were not all checked: only 3",
        "boats v1: not checked in custom resources: format",
    )


# --- what may permit a loss of data


def checked(old: dict[str, Any], new: dict[str, Any], settings: CrdUpgradeSafety | None = None) -> dict[Form, Check]:
    problems = compare(old, new)
    forms = wanted_forms({"boats": problems}, settings)
    return {form: check_of(form, problems, old, new, settings) for form in forms}


ARK_OBJECT = {"metadata": {"name": "ark"}, "spec": {"size": "a"}, "status": {"size": "a"}}


def lost(
    old: dict[str, Any], new: dict[str, Any], settings: CrdUpgradeSafety | None = None, ark: Any = None
) -> dict[Form, list[str]]:
    objects = [{**ARK_OBJECT, "spec": ark} if ark else ARK_OBJECT]
    found = {form: evaluate(check, objects).lossy for form, check in checked(old, new, settings).items()}
    return {form: [entry.problem for entry in entries] for form, entries in found.items() if entries}


def is_refused(old: dict[str, Any], new: dict[str, Any], settings: CrdUpgradeSafety | None) -> bool:
    """Whether the upgrade is refused while the ark exists."""
    evidence = {form: evaluate(check, [ARK_OBJECT]) for form, check in checked(old, new, settings).items()}
    return bool(judge({"boats": compare(old, new)}, evidence, settings).refusal)


@pytest.mark.parametrize("policy", [None, "IfUsed", "Enforce"])
def test_no_other_rule_that_is_ignored_permits_a_loss(policy: Any) -> None:
    old, new = definition({"v1": TEXT}), definition({"v1": EMPTY})
    others = [rule for rule in Rule if rule is not Rule.EXISTING_OBJECT_LOSES_DATA]
    for ignored in (*([rule] for rule in others), others):
        assert is_refused(old, new, ignoring(*ignored, policy=policy)), ignored


@pytest.mark.parametrize("policy", [None, "IfUsed", "Enforce"])
def test_a_loss_is_permitted_by_its_own_rule(policy: Any) -> None:
    old, new = definition({"v1": TEXT}), definition({"v1": EMPTY})
    assert not is_refused(old, new, ignoring(Rule.FIELD_REMOVED, Rule.EXISTING_OBJECT_LOSES_DATA, policy=policy))
    assert not is_refused(old, new, ignoring(policy="None"))


def test_a_value_that_was_kept_is_lost_by_a_schema_for_the_field_that_it_is_in() -> None:
    free: dict[str, Any] = {"x-kubernetes-preserve-unknown-fields": True}
    old = definition({"v1": schema(**free)})
    new = definition({"v1": schema(**free, properties={"engine": {"type": "object"}})})
    assert lost(old, new, ark={"engine": {"size": 1}}) == {V1: ["spec.engine.size is dropped"]}
    assert lost(old, new) == {}


UNCHECKED: dict[str, tuple[Problem, Evidence, str]] = {
    "more exist than are read": (GONE_OF_V1, Evidence(3, unknown="only 3"), "only 3"),
    "the check failed": (GONE_OF_V1, Evidence(failed="no memory"), "no memory"),
    "the schemas cannot be compared": (INCOMPARABLE, Evidence(1), NOT_EVALUATED),
}


@pytest.mark.parametrize("name", UNCHECKED)
def test_custom_resources_may_lose_data_until_that_is_ignored_though_the_rule_is_if(name: str) -> None:
    problem, shown, reason = UNCHECKED[name]
    evidence = {form_of("boats", problem): shown}
    verdict = judge({"boats": (problem,)}, evidence, ignoring(problem.rule, Rule.EXISTING_OBJECT_INVALID))
    assert verdict.refusal == (
        f'validating upgrade for CRD "boats": {problem} ({reason}); '
        "if this is safe, name these rules in crdUpgradeSafety.ignoredRules: existing-object-loses-data"
    )
    assert judge({"boats": (problem,)}, evidence, ignoring(problem.rule, *ABOUT_OBJECTS)).refusal == ""


def test_all_rules_are_named_that_have_to_be_ignored_where_custom_resources_cannot_be_checked() -> None:
    verdict = judge({"boats": (GONE_OF_V1, SIZE)}, {V1: Evidence(failed="no memory")}, None)
    named = "existing-object-invalid, existing-object-loses-data, field-removed, type-changed"
    assert verdict.refusal.endswith(f"ignoredRules: {named}")
    verdict = judge({"boats": (SIZE,)}, {V1: Evidence(3, unknown="only 3")}, None)
    assert verdict.refusal.endswith("ignoredRules: type-changed")


def test_an_ignored_rule_that_drops_nothing_needs_no_check_for_losses() -> None:
    assert judge({"boats": (SIZE,)}, {V1: Evidence(3, unknown="only 3")}, ignoring(Rule.TYPE_CHANGED)).refusal == ""


# --- how a form is read and evaluated


def test_custom_resources_are_read_in_the_version_that_a_form_is_about() -> None:
    old = definition({"v1alpha1": TEXT, "v1beta1": TEXT, "v1": TEXT}, unserved=["v1alpha1"], stored=["v1alpha1", "v1"])
    assert listed_version(Form("boats", "v1beta1", "v2"), old) == ("v1beta1", True)
    assert listed_version(Form("boats", "v1alpha1", "v2"), old) == (
        "v1",
        False,
    )  # its fields are not shown by another one
    assert listed_version(Form("boats", "v2", "v3"), old) == ("v1", True)  # none is stored in it
    assert listed_version(ANY, old) == ("v1", True)


def test_custom_resources_of_a_version_that_is_stored_and_not_served_are_not_shown_whole_by_another_one() -> None:
    old = definition({"v1": TEXT, "v2": TEXT}, unserved=["v2"])
    assert listed_version(Form("boats", "v2", "v2"), old) == ("v1", False)
    assert listed_version(Form("boats", "v3", "v3"), old) == ("v1", False)
    assert listed_version(V1, definition({"v1": TEXT}, unserved=["v1"])) == ("", False)


def test_a_version_that_is_neither_served_nor_stored_concerns_nobody() -> None:
    new = definition({"v1": TEXT, "v2": TEXT, "v3": TEXT}, unserved=["v1", "v3"])
    assert [is_concerned(Form("boats", each, each), new) for each in ("v1", "v2", "v3", "")] == [
        False,
        True,
        True,
        True,
    ]


SIZE_LOST = ["spec.size is dropped"]


def test_a_value_that_the_new_version_of_the_storage_does_not_have_is_lost() -> None:
    old, new = definition({"v1": TEXT}), definition({"v1": TEXT, "v2": EMPTY}, unserved=["v2"])
    assert lost(old, new) == {V2: SIZE_LOST}
    assert lost(old, new, ignoring(Rule.FIELD_REMOVED)) == {V2: SIZE_LOST}


def test_a_value_that_another_served_version_does_not_have_is_lost_by_a_write_through_it() -> None:
    assert lost(definition({"v1": TEXT}), definition({"v2": EMPTY, "v1": TEXT})) == {V2: SIZE_LOST}


def test_a_value_that_writing_dropped_before_is_not_lost_by_the_upgrade() -> None:
    old = definition({"v1": TEXT, "v2": EMPTY})  # a write through v1 drops it already
    new = definition({"v1": schema({"type": "string", "maxLength": 1}), "v2": EMPTY})
    assert lost(old, new) == {}


def test_the_status_of_a_subresource_is_the_operators_own() -> None:
    old, new = (definition({"v1": each}, subresources=["status"]) for each in (TEXT, EMPTY))
    assert lost(old, new) == {V1: SIZE_LOST}
