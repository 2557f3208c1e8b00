"""Schemas of CustomResourceDefinitions that the API server refuses, and others."""

from __future__ import annotations

from typing import Any

import pytest

LIST_TYPE, KEYS = "x-kubernetes-list-type", "x-kubernetes-list-map-keys"
PRESERVES, EITHER, EMBEDDED = (
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-int-or-string",
    "x-kubernetes-embedded-resource",
)
TEXT = {"type": "string"}


def root(**fields: Any) -> dict[str, Any]:
    return {"type": "object", "properties": fields}


def keyed(**changes: Any) -> dict[str, Any]:
    items = {"type": "object", "required": ["name"], "properties": {"name": TEXT}}
    return {"type": "array", LIST_TYPE: "map", KEYS: ["name"], "items": items, **changes}


FAULTY = [
    pytest.param({}, "type", id="no type at the root"),
    pytest.param({"type": "string"}, "type", id="a scalar at the root"),
    pytest.param({**root(), "nullable": True}, "nullable", id="null at the root"),
    pytest.param({**root(), "additionalProperties": TEXT}, "additionalProperties", id="any field at the root"),
    pytest.param(root(metadata={"type": "object", "required": ["name"]}), "properties.metadata", id="more of metadata"),
    pytest.param(root(metadata=root(labels=root())), "properties.metadata", id="labels of metadata"),
    pytest.param(root(kind={"type": "integer"}), "properties.kind.type", id="a kind that is no text"),
    pytest.param(root(a={}), "properties.a.type", id="no type of a field"),
    pytest.param(root(a={"type": "text"}), "properties.a.type", id="an unknown type"),
    pytest.param(root(a={"type": "null"}), "properties.a.type", id="null as a type"),
    pytest.param(root(a={"type": "array"}), "properties.a.items", id="a list of anything"),
    pytest.param(root(a={"type": "array", "items": {}}), "properties.a.items.type", id="no type of items"),
    pytest.param(
        root(a={**root(b=TEXT), "additionalProperties": TEXT}),
        "properties.a.additionalProperties",
        id="fields and others",
    ),
    pytest.param(root(a={**TEXT, "uniqueItems": True}), "properties.a.uniqueItems", id="unique items"),
    pytest.param(root(a={**TEXT, "$ref": "#/b"}), "properties.a.$ref", id="a reference"),
    pytest.param(root(a={**root(), PRESERVES: False}), f"properties.a.{PRESERVES}", id="no unknown fields"),
    pytest.param(root(a={EITHER: True, PRESERVES: True}), f"properties.a.{PRESERVES}", id="a port with fields"),
    pytest.param(root(a={**TEXT, EMBEDDED: True}), "properties.a.type", id="a text that is an object"),
    pytest.param(root(a={**TEXT, "default": 1}), "properties.a.default", id="a default of another type"),
    pytest.param(
        root(a={**TEXT, "enum": ["b"], "default": "c"}), "properties.a.default", id="a default that is not listed"
    ),
    pytest.param(
        root(a={**root(b=TEXT), "default": {"c": "d"}}), "properties.a.default", id="a default with another field"
    ),
    pytest.param(root(kind={**TEXT, "default": "A"}), "properties.kind.default", id="a default of the kind"),
    pytest.param(root(a={**TEXT, "pattern": "(?!a)"}), "properties.a.pattern", id="a pattern that looks ahead"),
    pytest.param(root(a={**TEXT, "pattern": "(a"}), "properties.a.pattern", id="a pattern that is not closed"),
    pytest.param(root(a={**TEXT, LIST_TYPE: "set"}), f"properties.a.{LIST_TYPE}", id="a text as a set"),
    pytest.param(root(a=keyed(**{LIST_TYPE: "bag"})), f"properties.a.{LIST_TYPE}", id="an unknown kind of list"),
    pytest.param(root(a=keyed(**{LIST_TYPE: None})), f"properties.a.{LIST_TYPE}", id="keys of no mapping"),
    pytest.param(root(a=keyed(**{KEYS: []})), f"properties.a.{KEYS}", id="a mapping without keys"),
    pytest.param(root(a=keyed(**{KEYS: ["b"]})), f"properties.a.{KEYS}", id="an unknown key"),
    pytest.param(root(a=keyed(**{KEYS: ["name", "name"]})), f"properties.a.{KEYS}", id="a key twice"),
    pytest.param(
        root(a=keyed(items=root(name=TEXT))), "properties.a.items.properties.name.default", id="an optional key"
    ),
    pytest.param(
        root(a={"type": "array", LIST_TYPE: "set", "items": root(b=TEXT)}),
        "properties.a.items.x-kubernetes-map-type",
        id="a set of objects",
    ),
    pytest.param(root(a={**TEXT, "anyOf": [{"type": "string"}]}), "properties.a.anyOf.0.type", id="a type in anyOf"),
    pytest.param(root(a={**TEXT, "not": {"description": "b"}}), "properties.a.not.description", id="a text in not"),
    pytest.param(
        {**root(a=TEXT), "oneOf": [{"properties": {"b": {"minLength": 1}}}]},
        "oneOf.0.properties.b",
        id="a field in oneOf",
    ),
]
"""Schemas with a fault, and its place."""

RIGHT = [
    pytest.param({**root(), PRESERVES: True}, id="anything"),
    pytest.param(root(metadata={"type": "object"}, spec={PRESERVES: True}), id="any spec"),
    pytest.param(root(metadata=root(name={**TEXT, "maxLength": 3})), id="a short name"),
    pytest.param(root(a={EITHER: True, "anyOf": [{"type": "integer"}, {"type": "string"}]}), id="a port"),
    pytest.param(
        root(a={EITHER: True, "allOf": [{"anyOf": [{"type": "integer"}, {"type": "string"}]}, {"pattern": "a"}]}),
        id="a port with a pattern",
    ),
    pytest.param(root(a=keyed()), id="a list with keys"),
    pytest.param(root(a=keyed(items=root(name={**TEXT, "default": ""}))), id="a key with a default"),
    pytest.param(root(a={**root(b={**TEXT, "default": "c"}), "default": {}}), id="a default with defaults"),
    pytest.param(root(a={**root(b=TEXT), "oneOf": [{"required": ["b"]}, {"required": ["c"]}]}), id="one of two fields"),
    pytest.param(root(a={**TEXT, "pattern": r"^(?i)(a|\(|[)(])*(?P<b>c)\Q(\E$"}), id="a pattern of Go"),
    pytest.param(root(a={"type": "object", EMBEDDED: True, PRESERVES: True}), id="an object in an object"),
    pytest.param(root(a={"type": "object", "additionalProperties": True}), id="any fields"),
]
"""Schemas without one."""
