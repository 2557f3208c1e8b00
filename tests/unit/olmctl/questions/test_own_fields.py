"""The fields that `olm` applies again: of a set its own members, of other lists all."""

from __future__ import annotations

from typing import Any

import pytest

from olmctl.questions.own_fields import own_spec


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
