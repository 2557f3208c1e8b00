"""merge_patch: the patch that turns one document into another."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.api.merge_patch import merge_patch


@pytest.mark.parametrize(
    ("before", "after", "patch"),
    [
        pytest.param({"a": 1}, {"a": 1}, {}, id="equal documents need no patch"),
        pytest.param({"a": 1}, {"a": 2, "b": 3}, {"a": 2, "b": 3}, id="changed and added fields are in it"),
        pytest.param({"a": 1, "b": 2}, {"a": 1}, {"b": None}, id="a removed field is null"),
        pytest.param({"a": {"b": 1, "c": 2}}, {"a": {"b": 1}}, {"a": {"c": None}}, id="mappings are merged"),
        pytest.param({"a": [1, 2]}, {"a": [1]}, {"a": [1]}, id="a list is replaced as a whole"),
        pytest.param({"a": {"b": 1}}, {"a": "text"}, {"a": "text"}, id="another type is replaced"),
    ],
)
def test_merge_patch(before: dict[str, Any], after: dict[str, Any], patch: dict[str, Any]) -> None:
    assert merge_patch(before, after) == patch
