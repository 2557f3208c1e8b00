"""The faults of schemas that the API server refuses."""

from __future__ import annotations

from typing import Any

import pytest

from olmctl.validation.extra.schema_faults import schema_faults, value_problem
from tests.unit.olmctl.validation.extra.schemas import FAULTY, RIGHT, root


@pytest.mark.parametrize(("schema", "place"), FAULTY)
def test_a_fault(schema: dict[str, Any], place: str) -> None:
    assert [".".join(map(str, path)) for path, _ in schema_faults(schema)] == [place]


@pytest.mark.parametrize("schema", RIGHT)
def test_what_is_no_fault(schema: dict[str, Any]) -> None:
    assert list(schema_faults(schema)) == []


def test_the_problem_of_a_value_names_its_place() -> None:
    schema = root(a={"type": "array", "items": root(b={"type": "integer"})})
    assert value_problem(schema, {"a": [{"b": 1}, {"b": "c"}]}, "it") == (
        'it does not fit the schema at a[1].b: "c" is not of type "integer"'
    )
    assert value_problem(schema, {"a": []}, "it") == ""
