"""What is said about the CustomResourceDefinitions that two bundles have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from olmctl.diff.definitions import ConcernedObject, DefinitionChange, broken_rules, definition_changes
from olmkit.api.crd_upgrade_rules import CrdUpgradeRule
from olmkit.api.crd_upgrade_safety import CrdUpgradeSafety
from olmkit.crd_safety.evidence import Evidence, Form
from olmkit.crd_safety.problem import InvalidObject, Problem
from olmkit.crd_safety.verdict import judge
from tests.unit.olmkit.crd_safety.definitions import definition, schema

TEXT, NUMBER = schema({"type": "string"}), schema({"type": "integer"})
TYPE = Problem("v1", "spec.size", CrdUpgradeRule.TYPE_CHANGED, "string -> integer")


def changes(
    old: dict[str, Any],
    new: dict[str, Any],
    settings: CrdUpgradeSafety | None = None,
    evidence: Mapping[Form, Evidence] | None = None,
) -> list[DefinitionChange]:
    before, after = {"boats": old, "old": old}, {"boats": new, "new": new}
    problems = broken_rules(before, after)
    return definition_changes(before, after, problems, judge(problems, evidence or {}, settings))


def sentences(old: dict[str, Any], new: dict[str, Any]) -> tuple[str, ...]:
    (change,) = changes(old, new)
    return change.changes


def test_nothing_is_said_about_equal_ones_and_those_that_only_one_has() -> None:
    assert changes(definition({"v1": TEXT}), definition({"v1": TEXT})) == []


def test_versions_that_come_and_leave_and_move_the_storage_are_named() -> None:
    old, new = definition({"v1": TEXT, "v2": TEXT}, stored=["v2"]), definition({"v2": TEXT, "v3": TEXT})
    assert sentences(old, new) == (
        "version v3 is added",
        "version v1 is removed",
        "the storage version changes, which cannot be reversed: v2 -> v3",
    )


def test_versions_that_are_not_served_any_more_are_named() -> None:
    old, new = definition({"v1": TEXT, "v2": TEXT}), definition({"v1": TEXT, "v2": TEXT}, unserved=["v1"])
    assert sentences(old, new) == ("version v1 is not served any more",)
    assert sentences(new, old) == ("version v1 is served",)


def test_a_conversion_that_changes_is_named_with_its_service() -> None:
    old, new = definition({"v1": TEXT}), definition({"v1": TEXT}, conversion="Webhook")
    service = {"namespace": "harbour", "name": "hook", "path": "/convert"}
    new["spec"]["conversion"]["webhook"] = {"clientConfig": {"service": service, "caBundle": "c2VjcmV0"}}
    assert sentences(old, new) == ("the conversion changes: None -> Webhook harbour/hook/convert",)


def test_requests_that_fail_during_the_upgrade_are_named() -> None:
    def at(path: str) -> dict[str, Any]:
        made = definition({"v1": TEXT, "v2": TEXT}, conversion="Webhook")
        service = {"namespace": "harbour", "name": "hook", "path": path}
        made["spec"]["conversion"]["webhook"] = {"clientConfig": {"service": service}}
        return made

    before, after = {"boats.example.com": at("/convert")}, {"boats.example.com": at("/v2")}
    said = "the conversion changes: Webhook harbour/hook/convert -> Webhook harbour/hook/v2"
    requests = "during the upgrade, requests for custom resources of boats.example.com that have to be converted"
    for awaited, text in (((), "fail until Service harbour/hook answers"), (("boats.example.com",), "may fail while")):
        (change,) = definition_changes(before, after, {}, judge({}, {}, None), awaited)
        assert change.changes[0] == said
        assert change.changes[1].startswith(f"{requests} {text}")


def test_broken_rules_are_refused_or_ignored_as_the_settings_say() -> None:
    old, new = definition({"v1": TEXT}), definition({"v1": NUMBER})
    enforced = CrdUpgradeSafety(policy="Enforce")
    assert changes(old, new, enforced) == [DefinitionChange("boats", (), (TYPE,), ())]
    ignoring = CrdUpgradeSafety(policy="Enforce", ignored_rules=[CrdUpgradeRule.TYPE_CHANGED])
    for settings in (ignoring, CrdUpgradeSafety(policy="None")):
        assert changes(old, new, settings) == [DefinitionChange("boats", (), (), (TYPE,))]


def test_custom_resources_say_whether_a_broken_rule_concerns_any() -> None:
    old, new, form = definition({"v1": TEXT}), definition({"v1": NUMBER}), Form("boats", "v1", "v1")
    assert changes(old, new, evidence={form: Evidence(3)}) == [DefinitionChange("boats", (), (), (), (TYPE,))]
    ark = InvalidObject("", "ark", "spec.size: type")
    (change,) = changes(old, new, evidence={form: Evidence(3, invalid=(ark,), invalid_count=1)})
    assert change.objects == (ConcernedObject(CrdUpgradeRule.EXISTING_OBJECT_INVALID, ark),)
    assert (change.concerning, change.noticeable, change.ignored) == ((TYPE,), (), ())
    (change,) = changes(old, new, evidence={form: Evidence(unknown="they cannot be listed")})
    assert (change.refused, change.reason) == ((TYPE,), "they cannot be listed")


def test_custom_resources_that_lose_data_as_the_settings_permit_are_named() -> None:
    old, new, form = definition({"v1": TEXT}), definition({"v1": schema()}), Form("boats", "v1", "v1")
    ark = InvalidObject("", "ark", "spec.size is dropped")
    loses = CrdUpgradeRule.EXISTING_OBJECT_LOSES_DATA
    settings = CrdUpgradeSafety(ignored_rules=[CrdUpgradeRule.FIELD_REMOVED, loses])
    (change,) = changes(old, new, settings, {form: Evidence(1, lossy=(ark,), lossy_count=1)})
    assert (change.objects, change.permitted) == ((), (ConcernedObject(loses, ark),))
    assert [each.rule for each in change.ignored] == [CrdUpgradeRule.FIELD_REMOVED]


def test_a_default_that_changes_is_named() -> None:
    old, new = (definition({"v1": schema({"type": "string", "default": each})}) for each in "ab")
    (change,) = changes(old, new)
    assert [str(problem) for problem in change.noticeable] == ['v1: spec.size: default-changed: "a" -> "b"']
