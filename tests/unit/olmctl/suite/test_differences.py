"""In which fields two versions of an object differ."""

from __future__ import annotations

import pytest

from olmctl.suite.differences import different_fields
from olmkit.api.meta import Object


@pytest.mark.parametrize(
    ("found", "applied", "expected"),
    [
        pytest.param({"rules": [{"verbs": ["get"]}]}, {"rules": [{"verbs": ["get"]}]}, [], id="equal"),
        pytest.param({"rules": None}, {"rules": [{"verbs": ["get"]}]}, ["rules"], id="an emptied list"),
        pytest.param(
            {"rules": [{"verbs": []}]}, {"rules": [{"verbs": ["get"]}]}, ["rules[0].verbs"], id="within a list"
        ),
        pytest.param({"spec": {"a": 1}}, {"spec": {"a": 1, "b": 2}}, ["spec.b"], id="a field that is missing"),
        pytest.param({"spec": {"a": 1, "b": 2}}, {"spec": {"a": 1}}, ["spec.b"], id="a field that is too much"),
        pytest.param({"roleRef": {"name": "b"}}, {"roleRef": {"name": "a"}}, ["roleRef.name"], id="another text"),
        pytest.param(
            {"metadata": {"generation": 1}, "status": {}}, {"metadata": {}, "status": {"a": 1}}, [], id="not compared"
        ),
    ],
)
def test_different_fields(found: Object, applied: Object, expected: list[str]) -> None:
    assert list(different_fields(found, applied)) == expected
