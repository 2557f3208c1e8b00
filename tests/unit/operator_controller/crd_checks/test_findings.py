"""What a bundle that waits breaks, as the status names it."""

from __future__ import annotations

import pytest

from olmkit.api.crd_upgrade_safety import CrdUpgradeSafety
from olmkit.api.operator_status import MAX_FINDING_LENGTH, MAX_FINDINGS
from operator_controller.crd_checks.findings import MAX_VERSIONS, TooManyVersions, broken_rules, crd_check
from tests.unit.olmkit.crd_safety.definitions import definition, schema

OLD = definition({"v1": schema({"type": "integer"}, properties={"color": {"type": "string"}})})
NAME = "boats.example.com"
ENFORCE = CrdUpgradeSafety.load({"policy": "Enforce"})


def test_nothing_is_broken() -> None:
    found = crd_check([*broken_rules(NAME, OLD, OLD)], ENFORCE)
    assert found.dump() == {"result": "NotRefused"}


def test_custom_resources_decide_by_default() -> None:
    new = definition({"v1": schema({"type": "string"})})
    broken = [*broken_rules(NAME, OLD, new)]
    found = crd_check(broken, None)
    assert found.dump() == {
        "result": "IfUsed",
        "findings": [
            {
                "crd": NAME,
                "rule": "field-removed",
                "refuses": "IfUsed",
                "message": "v1: spec.color: the field is removed",
            },
            {"crd": NAME, "rule": "type-changed", "refuses": "IfUsed", "message": "v1: spec.size: integer -> string"},
        ],
    }
    assert crd_check(broken, ENFORCE).result == "Refused"


def test_what_surely_refuses_comes_first() -> None:
    new = definition({"v1": schema({"type": "string"})}, scope="Cluster")
    found = crd_check([*broken_rules(NAME, OLD, new)], None)
    assert found.result == "Refused"
    assert [(each.rule, each.refuses) for each in found.findings or ()] == [
        ("scope-changed", "Always"),
        ("field-removed", "IfUsed"),
        ("type-changed", "IfUsed"),
    ]


def test_the_changes_of_one_rule_are_one_finding() -> None:
    fields = {f"f{number}": {"type": "string"} for number in range(5)}
    old, new = definition({"v1": schema(properties=fields)}), definition({"v1": schema()})
    (found,) = crd_check([*broken_rules(NAME, old, new)], None).findings or []
    names = "; ".join(f"v1: spec.f{number}: the field is removed" for number in range(3))
    assert found.message == f"{names}; and 2 more"


def test_there_are_no_more_findings_than_the_status_has_room_for() -> None:
    new = definition({"v1": schema({"type": "string"})})
    broken = [each for number in range(30) for each in broken_rules(f"{number}.example.com", OLD, new)]
    found = crd_check(broken, None)
    assert len(found.findings or ()) == MAX_FINDINGS
    assert found.more == 60 - MAX_FINDINGS


def test_a_hostile_name_of_a_field_is_one_line_and_cut() -> None:
    field = "x\n\x1b[31m\u202e" + "y" * 5000
    old = definition({"v1": schema(properties={field: {"type": "string"}})})
    (found,) = crd_check([*broken_rules(NAME, old, definition({"v1": schema()}))], None).findings or []
    assert found.message.isprintable()
    assert len(found.message.encode()) <= MAX_FINDING_LENGTH


def test_a_definition_with_too_many_versions_is_not_compared() -> None:
    many = definition({f"v{number}": schema() for number in range(1, MAX_VERSIONS + 2)})
    with pytest.raises(TooManyVersions, match="more than 20 versions"):
        list(broken_rules(NAME, OLD, many))
