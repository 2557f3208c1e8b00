"""The fields that `olm` applies again: of a set its own members, of other lists all."""

from __future__ import annotations

from typing import Any

import pytest

from olmctl.questions.exclusions import own_exclusions, with_exclusion
from olmctl.questions.own_fields import own_metadata, own_spec


@pytest.mark.parametrize(
    ("fields", "spec", "own"),
    [
        pytest.param({"f:a": {}}, {"a": 1, "b": 2}, {"a": 1}, id="a field"),
        pytest.param({"f:a": {"f:b": {}}}, {"a": {"b": 1, "c": 2}}, {"a": {"b": 1}}, id="a field within another"),
        pytest.param({"f:a": {}}, {"a": [1, 2]}, {"a": [1, 2]}, id="an atomic list"),
        pytest.param({"f:a": {'v:"x"': {}}}, {"a": ["x", "y"]}, {"a": ["x"]}, id="a member of a set"),
        pytest.param({"f:a": {'k:{"name":"x"}': {}}}, {"a": [{"name": "x"}]}, {"a": [{"name": "x"}]}, id="a map"),
    ],
)
def test_what_is_own(fields: dict[str, Any], spec: dict[str, Any], own: dict[str, Any]) -> None:
    entry = {"manager": "olm", "operation": "Apply", "fieldsV1": {"f:spec": fields}}
    assert own_spec({"metadata": {"managedFields": [entry]}, "spec": spec}) == own


def applied(manager: str, **fields: Any) -> dict[str, Any]:
    return {"manager": manager, "operation": "Apply", "fieldsV1": {f"f:{part}": each for part, each in fields.items()}}


def test_each_manager_has_its_own() -> None:
    listed: tuple[Any, ...] = {"f:excludedVersions": {'v:"1.0.0"': {}}}, {"f:excludedVersions": {'v:"2.0.0"': {}}}
    managed = [
        {**applied("olm-console", spec={"f:a": {}}), "subresource": "status"},
        applied("olm", spec=listed[0]),
        applied("olm-console", spec=listed[1], metadata={"f:annotations": {"f:approved": {}}, "f:labels": {".": {}}}),
    ]
    metadata = {"name": "o", "uid": "u", "annotations": {"approved": "2.0.0", "other": "x"}, "labels": {"l": "m"}}
    spec = {"a": 1, "excludedVersions": ["1.0.0", "2.0.0", "3.0.0"]}
    found = {"metadata": {**metadata, "managedFields": managed}, "spec": spec}

    assert own_exclusions(found) == ["1.0.0"]
    assert own_metadata(found) == {}
    made = with_exclusion(found, "4.0.0", "olm-console")
    assert made["metadata"] == {"annotations": {"approved": "2.0.0"}, "name": "o", "uid": "u"}
    assert made["spec"] == {"excludedVersions": ["2.0.0", "4.0.0"]}
