"""Structural schemas as JSON schemas, and the defaults that the API server fills in."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.crd_safety.structural import json_schema, patterns, unchecked, with_defaults

STRING = {"type": "string"}

SCHEMAS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "a type and its bounds": (
        {"type": "integer", "minimum": 1, "exclusiveMinimum": True, "description": "a", "default": 2},
        {"type": ["integer"], "minimum": 1, "exclusiveMinimum": True},
    ),
    "null": ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
    "a number or a string": ({"x-kubernetes-int-or-string": True}, {"type": ["integer", "string"]}),
    "any value": ({"x-kubernetes-preserve-unknown-fields": True}, {}),
    "fields, items and maps": (
        {
            "properties": {
                "a": {"items": STRING},
                "b": {"additionalProperties": STRING},
                "c": {"additionalProperties": True},
            }
        },
        {
            "properties": {
                "a": {"items": {"type": ["string"]}},
                "b": {"additionalProperties": {"type": ["string"]}},
                "c": {},
            }
        },
    ),
    "alternatives": (
        {"anyOf": [{"required": ["a"]}], "not": {"maxLength": 3}},
        {"anyOf": [{"required": ["a"]}], "not": {"maxLength": 3}},
    ),
    "a whole object": (
        {"type": "object", "x-kubernetes-embedded-resource": True},
        {"type": ["object"], "required": ["apiVersion", "kind"]},
    ),
    "sets, which are never empty": (
        {"required": [], "enum": [], "properties": {"a": {"enum": ["x", "x", 1], "required": ["b", "b"]}}},
        {"properties": {"a": {"enum": ["x", 1], "required": ["b"]}}},
    ),
    "what only the API server evaluates": (
        {
            "type": "string",
            "format": "date",
            "$ref": "http://example.com",
            "x-kubernetes-validations": [{"rule": "true"}],
        },
        {"type": ["string"]},
    ),
}


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_has(name: str) -> None:
    structural, expected = SCHEMAS[name]
    assert json_schema(structural) == expected


def test_patterns_can_be_left_out_at_any_depth() -> None:
    structural = {"properties": {"pattern": {"pattern": "a"}, "b": {"items": {"pattern": "b"}}}}
    assert patterns(json_schema(structural)) == {"a", "b"}
    assert json_schema(structural, ["a"]) == {"properties": {"pattern": {}, "b": {"items": {"pattern": "b"}}}}


NAMED = {"properties": {"a": {**STRING, "default": "b"}, "c": {"properties": {"d": {"default": 1}}}}}

VALUES: dict[str, tuple[dict[str, Any], Any, Any]] = {
    "a missing field": (NAMED, {}, {"a": "b"}),
    "a field that is there": (NAMED, {"a": ""}, {"a": ""}),
    "a field that is null and may not be": (NAMED, {"a": None}, {"a": "b"}),
    "a field that is null and may be": (
        {"properties": {"a": {**STRING, "default": "b", "nullable": True}}},
        {"a": None},
        {"a": None},
    ),
    "a field of an object that is there": (NAMED, {"a": "x", "c": {}}, {"a": "x", "c": {"d": 1}}),
    "a default that has defaults": (
        {"properties": {"c": {"default": {}, "properties": {"d": {"default": 1}}}}},
        {},
        {"c": {"d": 1}},
    ),
    "items and maps": (
        {"items": {"additionalProperties": NAMED}},
        [{"x": {}}],
        [{"x": {"a": "b"}}],
    ),
}


@pytest.mark.parametrize("name", VALUES)
def test_the_default_is_that_of(name: str) -> None:
    schema, value, expected = VALUES[name]
    assert with_defaults(schema, value) == expected


def test_what_is_not_evaluated_is_known_at_any_depth() -> None:
    schema = {"properties": {"a": {"items": {"format": "date"}}, "b": {"x-kubernetes-list-type": "atomic"}}}
    assert unchecked(schema) == {"format"}
