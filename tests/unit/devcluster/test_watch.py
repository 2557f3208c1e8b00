"""Conditions of objects."""

from typing import Any

import pytest

from devcluster.watch import condition, describe, is_true


def _object(**found: Any) -> dict[str, Any]:
    ready = {"type": "Ready", "status": "True", "reason": "R", "message": "m", "observedGeneration": 2, **found}
    return {"metadata": {"name": "x", "generation": 2}, "status": {"conditions": [ready]}}


@pytest.mark.parametrize(
    ("object_", "expected"),
    [
        pytest.param(None, False, id="no object"),
        pytest.param({"metadata": {"generation": 1}}, False, id="no status"),
        pytest.param(_object(), True, id="true for this generation"),
        pytest.param(_object(observedGeneration=1), False, id="true for the generation before"),
        pytest.param(_object(status="False"), False, id="false"),
    ],
)
def test_a_condition_of_an_older_generation_is_ignored(object_: dict[str, Any] | None, expected: bool) -> None:
    assert is_true(object_, "Ready") is expected


def test_a_missing_condition_is_unknown() -> None:
    assert condition(_object(), "Stalled")["status"] == "Unknown"


def test_objects_are_described_by_all_their_conditions() -> None:
    assert describe({"x": _object(), "y": {"metadata": {}}}) == "  x: Ready is True (R): m\n  y: no conditions"
    assert describe({}) == "  there is no such object"
