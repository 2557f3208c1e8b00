"""Custom resources against the schema of a version."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from olmkit.jobs import JobContext
from rukpak.bundledeployment.validate_job import validate
from rukpak.bundledeployment.validate_request import ValidateRequest, ValidateResult
from rukpak.crd_safety.problem import InvalidObject

GO_PATTERNS = ["[[:alnum:]]+", "^(?i)(abort|warn)?$", "^[^\\0]+$"]

CASES: dict[str, tuple[dict[str, Any], Any, ValidateResult]] = {
    "an object that is valid": ({"properties": {"size": {"type": "integer"}}}, 1, ValidateResult([])),
    "an object that is not": (
        {"properties": {"size": {"type": "integer"}}},
        "a",
        ValidateResult([InvalidObject("sea", "boat", "size: type")]),
    ),
    "a schema with an empty set": (
        {"required": [], "properties": {"size": {"enum": [], "type": "integer"}}},
        "a",
        ValidateResult([InvalidObject("sea", "boat", "size: type")]),
    ),
    "patterns that only Go understands": (
        {"properties": {"size": {"allOf": [{"pattern": each} for each in GO_PATTERNS], "type": "integer"}}},
        "a",
        ValidateResult([InvalidObject("sea", "boat", "size: type")], unchecked_patterns=sorted(GO_PATTERNS)),
    ),
    "a schema that is none": (
        {"properties": {"size": {"type": "length"}}},
        "a",
        ValidateResult([], "the schema cannot be evaluated: ValidationError"),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_custom_resources_are_checked_with(name: str, tmp_path: Path) -> None:
    schema, size, expected = CASES[name]
    boat = {"metadata": {"namespace": "sea", "name": "boat"}, "size": size}
    assert validate(ValidateRequest(schema, [boat]), JobContext(tmp_path)) == expected
