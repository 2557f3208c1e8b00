"""The fields of a kind from schemas of any form."""

from __future__ import annotations

from typing import Any

import pytest

from console.views.kind_schema import MAX_DEPTH, MAX_FIELDS, MAX_LISTED, SchemaField, kind_schema, type_of

TEXT = {"type": "string"}


def schema(**fields: Any) -> dict[str, Any]:
    return {"type": "object", "properties": fields}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(TEXT, "text", id="a text"),
        pytest.param({"type": "integer"}, "integer", id="a number"),
        pytest.param({"type": "array", "items": TEXT}, "list of texts", id="a list"),
        pytest.param({"type": "array", "items": schema(a=TEXT)}, "list of objects", id="a list of objects"),
        pytest.param({"type": "object", "additionalProperties": TEXT}, "map of texts", id="a map"),
        pytest.param(
            {"type": "array", "items": {"type": "array", "items": TEXT}}, "list of lists of texts", id="lists"
        ),
        pytest.param({"x-kubernetes-int-or-string": True}, "integer or text", id="a port"),
        pytest.param({"type": "object"}, "object of any fields", id="an object without a schema"),
        pytest.param({}, "any value", id="nothing"),
        pytest.param({"type": ["string"]}, "any value", id="a type that is none"),
        pytest.param({"type": "array", "items": 5}, "list of any values", id="items that are none"),
    ],
)
def test_types_in_words(given: dict[str, Any], expected: str) -> None:
    assert type_of(given) == expected


def test_required_fields_come_first_with_their_limits() -> None:
    size = {"type": "integer", "minimum": 1, "maximum": 9, "default": 3, "description": "How\n many."}
    spec = {**schema(mode={**TEXT, "enum": ["A", "B"], "pattern": "^.$"}, size=size), "required": ["size"]}
    (found,) = kind_schema(schema(apiVersion=TEXT, metadata={"type": "object"}, spec=spec)).fields

    assert (found.name, found.type) == ("spec", "object")
    assert found.fields == (
        SchemaField("size", "integer", True, "How many.", ("default 3", "at least 1", "at most 9")),
        SchemaField("mode", "text", False, "", ('one of "A", "B"', "must match ^.$")),
    )


def test_descriptions_are_those_of_the_second_schema_where_the_first_has_none() -> None:
    one = schema(list={"type": "array", "items": schema(description=TEXT)})
    other = schema(list={"description": "All.", "items": schema(description={"description": "One."}, gone=TEXT)})
    (found,) = kind_schema(one, other, "the summary").fields

    assert (found.description, [(each.name, each.description) for each in found.fields]) == (
        "All.",
        [("description", "One.")],
    )


def test_deep_schemas_are_cut() -> None:
    deep: dict[str, Any] = {"type": "object", "properties": {}}
    for _ in range(5_000):
        deep = schema(a=deep, b={"type": "array", "items": {"items": deep}})
    found, levels = kind_schema(deep).fields[0], 1
    while found.fields:
        found, levels = found.fields[0], levels + 1

    assert (levels, found.more) == (MAX_DEPTH, "2 fields below it are not shown.")


def test_wide_schemas_are_cut() -> None:
    found = kind_schema(schema(**{f"f{number}": schema(x=TEXT) for number in range(50_000)}))

    assert (len(found.fields), found.more) == (MAX_LISTED, f"{50_000 - MAX_LISTED} more fields are not shown.")
    many = kind_schema(schema(**{f"f{one}": schema(**{f"g{two}": TEXT for two in range(150)}) for one in range(99)}))
    assert sum(1 + len(each.fields) for each in many.fields) == MAX_FIELDS


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(None, id="none"),
        pytest.param([], id="a list"),
        pytest.param({"properties": []}, id="properties that are none"),
        pytest.param({"properties": {"apiVersion": {}, "kind": {}}}, id="no fields of its own"),
    ],
)
def test_without_fields_it_says_so(given: object) -> None:
    assert kind_schema(given).problem == "Its definition names no fields: any are accepted."


def test_hostile_fields_are_ignored() -> None:
    odd = {
        "description": ["x"],
        "enum": {},
        "minimum": True,
        "maximum": "9",
        "pattern": 5,
        "required": "abc",
        "properties": {"x" * 1_000_000: {"default": "y" * 1_000_000, "description": "z" * 1_000_000}, 5: 6},
    }
    found = kind_schema(schema(odd=odd)).fields[0]

    assert (found.facts, len(found.fields)) == ((), 1)
    assert len(found.fields[0].name) + len(found.fields[0].description) + len(found.fields[0].facts[0]) < 1_000
