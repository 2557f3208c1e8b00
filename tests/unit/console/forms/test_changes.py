"""What an edit changes, what others changed meanwhile, and the bodies that change only that."""

from __future__ import annotations

from typing import Any

import pytest

from console.forms.changes import (
    apply_body,
    are_of_others,
    changes,
    editable,
    foreign_removals,
    merge_patch,
    merged,
    overlapping,
    removing_patch,
)
from console.forms.places import MISSING

Object = dict[str, Any]
OWN = [
    {
        "manager": "olm-console",
        "operation": "Apply",
        "fieldsV1": {"f:spec": {"f:own": {}, "f:list": {"k:{}": {}}}},
    }
]


def obj(spec: Object, **metadata: Any) -> Object:
    kept = {"name": "n", "namespace": "ns", "uid": "u", "resourceVersion": "7", **metadata}
    return {"apiVersion": "a/v1", "kind": "K", "metadata": kept, "spec": spec, "status": {"phase": "Ready"}}


def test_the_fields_that_differ() -> None:
    before = obj({"a": 1, "b": {"c": 1, "d": 2}, "list": [1], "same": {}}, labels={"x": "1"})
    after = obj({"a": "1", "b": {"c": 1}, "list": [2], "same": {}, "new": {"x": 1}}, labels={"x": "2"}, uid="other")
    found = changes(before, {**after, "status": {}})
    assert [(each.field, each.before, each.after) for each in found] == [
        ("metadata.labels.x", "1", "2"),
        ("spec.a", 1, "1"),
        ("spec.b.d", 2, MISSING),
        ("spec.list", [1], [2]),
        ("spec.new", MISSING, {"x": 1}),
    ]


def test_true_is_not_one_and_an_empty_object_is_not_nothing() -> None:
    assert [each.field for each in changes(obj({"a": True, "b": {}}), obj({"a": 1}))] == ["spec.a", "spec.b"]


def test_what_is_edited_has_no_managed_fields() -> None:
    assert editable(obj({}, managedFields=OWN)) == obj({})


def test_changes_of_others_stay_and_those_of_one_field_are_named() -> None:
    base = obj({"a": 1, "b": 1, "c": {"d": 1}})
    ours = changes(base, obj({"a": 2, "b": 2, "c": {"d": 2}}))
    theirs = changes(base, obj({"a": 2, "b": 3, "new": 1}))
    assert [each.field for each in overlapping(ours, theirs)] == ["spec.b", "spec.c.d"]
    assert merged(obj({"a": 1, "b": 3, "new": 1}), ours)["spec"] == {"a": 2, "b": 2, "c": {"d": 2}, "new": 1}


def test_an_apply_has_the_own_fields_and_the_changes_and_is_of_the_object_as_it_is() -> None:
    found = obj({"own": 1, "list": [{"k": 1}], "foreign": 1, "other": {"x": 1, "y": 2}}, managedFields=OWN)
    ours = changes(found, obj({"own": 1, "list": [{"k": 1}], "foreign": 1, "other": {"x": 5, "y": 2}}))
    assert apply_body(found, ours, "olm-console") == {
        "apiVersion": "a/v1",
        "kind": "K",
        "metadata": {"name": "n", "namespace": "ns", "uid": "u", "resourceVersion": "7"},
        "spec": {"own": 1, "list": [{"k": 1}], "other": {"x": 5}},
    }


@pytest.mark.parametrize(
    ("manager", "subresource", "fields", "expected"),
    [
        pytest.param("olm-console", "", {"f:spec": {"f:size": {}}}, False, id="an object that the console has created"),
        pytest.param("kubectl", "", {"f:spec": {"f:size": {}}}, True, id="the field of another manager"),
        pytest.param("kubectl", "", {"f:spec": {"f:other": {}}}, False, id="another field of another manager"),
        pytest.param("kubectl", "", {"f:spec": {}}, True, id="another manager that has all of an atomic object"),
        pytest.param("kubectl", "status", {"f:spec": {"f:size": {}}}, False, id="a manager of a subresource"),
    ],
)
def test_fields_of_others_are_those_of_a_manager_of_another_name(
    manager: str, subresource: str, fields: Object, expected: bool
) -> None:
    entry = {"manager": manager, "operation": "Update", "subresource": subresource, "fieldsV1": fields}
    found = obj({"size": 1, "other": 2}, managedFields=[*OWN, entry])
    ours = changes(found, obj({"size": 5, "other": 2}))
    assert are_of_others(found, ours, "olm-console") is expected


def test_own_fields_are_removed_by_an_apply_and_those_of_others_by_a_patch() -> None:
    found = obj({"own": 1, "foreign": 1}, managedFields=OWN, labels={"a": "b"})
    ours = changes(found, obj({}))
    assert [each.field for each in foreign_removals(found, ours, "olm-console")] == [
        "metadata.labels",
        "spec.foreign",
    ]
    assert "own" not in (apply_body(found, ours, "olm-console").get("spec") or {})
    assert merge_patch(found, ours) == {
        "metadata": {"uid": "u", "resourceVersion": "7", "labels": None},
        "spec": {"own": None, "foreign": None},
    }


@pytest.mark.parametrize(
    ("after", "patch"),
    [
        pytest.param({"version": "1.1.0", "channel": "beta"}, {}, id="an apply adds a field"),
        pytest.param({}, {"spec": {"version": None}}, id="a patch removes one"),
        pytest.param({"channel": "beta"}, {"spec": {"version": None, "channel": "beta"}}, id="with every other change"),
    ],
)
def test_a_change_that_removes_a_field_is_a_patch(after: dict[str, Any], patch: dict[str, Any]) -> None:
    assert removing_patch(changes(obj({"version": "1.1.0"}), obj(after))) == patch
