"""The faults of the schema of a CustomResourceDefinition of v1 that the API server refuses, and upstream's validator passes over.

The rules are those of structural schemas. Expressions of x-kubernetes-validations are not evaluated. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from jsonschema_rs import Draft4Validator, RegexOptions

from olmctl.validation.extra.report import Path, shown
from olmkit.crd_safety.dropped_fields import dropped
from olmkit.crd_safety.structural import json_schema, with_defaults

Fault = tuple[Path, str]
"""The path in the schema, and the text."""
Schema = Mapping[str, Any]

TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")
MAX_NODES: Final = 200_000
"""Schemas within one schema that are looked through; an object of 1.5 MB has fewer."""
_PRESERVES, _INT_OR_STRING, _EMBEDDED = (
    "x-kubernetes-preserve-unknown-fields", "x-kubernetes-int-or-string", "x-kubernetes-embedded-resource",
)  # fmt: skip
_LIST_TYPE, _LIST_KEYS, _MAP_TYPE = (
    "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type",
)  # fmt: skip
_METADATA: Final = frozenset({"apiVersion", "kind", "metadata"})
"""Fields of a whole object, whose schema has no defaults."""
_MAX_PATTERN: Final = 2_000
"""Characters of a regular expression that are looked through."""
_QUANTIFIERS: Final = ("allOf", "anyOf", "oneOf")
_UNSUPPORTED: Final = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")
_ONLY_OUTSIDE: Final = (
    "type", "default", "title", "description", "nullable", _PRESERVES, _EMBEDDED, _INT_OR_STRING, _LIST_KEYS, _LIST_TYPE,
    _MAP_TYPE,
)  # fmt: skip
"""Keys that no schema within allOf, anyOf, oneOf and not may have."""
_ALTERNATIVES: Final = [{"type": "integer"}, {"type": "string"}]
_HARMLESS: Final = frozenset({
    "description", "type", "properties", "items", "additionalProperties", "format", "enum", "required", "minimum", "maximum",
    "minLength", "maxLength", "minItems", "maxItems", "title", "example", "externalDocs", "nullable", "x-kubernetes-validations",
    "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minProperties", "maxProperties",
})  # fmt: skip
"""The keys of nearly all schemas, whose values can only be wrong in their types."""


@dataclass(frozen=True)
class _Node:
    """A schema within a schema. `level` is root, item or field."""

    path: Path
    schema: Schema
    level: str
    in_metadata: bool = False


def schema_faults(schema: Schema) -> Iterator[Fault]:
    """The faults of the schema at openAPIV3Schema."""
    pending = [_Node((), schema, "root")]
    seen = 0
    while pending and seen < MAX_NODES:
        node = pending.pop()
        seen += 1
        yield from _type_faults(node)
        if not _HARMLESS.issuperset(node.schema):
            yield from _rare_faults(node)
        if node.level == "root" or node.schema.get(_EMBEDDED):
            yield from _resource_faults(node)
        yield from _mapping_faults(node)
        pending += _inner(node)


def _inner(node: _Node) -> Iterator[_Node]:
    schema, path = node.schema, node.path
    fields = schema.get("properties")
    if isinstance(fields, dict):
        for name, each in fields.items():
            if isinstance(each, dict):
                in_metadata = node.in_metadata or (node.level == "root" and name in _METADATA)
                yield _Node((*path, "properties", name), each, "field", in_metadata)
    if isinstance(items := schema.get("items"), dict):
        yield _Node((*path, "items"), items, "item", node.in_metadata)
    if isinstance(others := schema.get("additionalProperties"), dict):
        yield _Node((*path, "additionalProperties"), others, "field", node.in_metadata)


def _type_faults(node: _Node) -> Iterator[Fault]:
    schema, kind = node.schema, node.schema.get("type")
    path = (*node.path, "type")
    if not kind:
        if schema.get(_EMBEDDED):
            yield path, f"must be object if {_EMBEDDED} is true"
        elif not schema.get(_INT_OR_STRING) and not schema.get(_PRESERVES):
            place = {"root": "at the root", "item": "for the items of a list", "field": "for a field"}[node.level]
            yield path, f"is missing {place}"
        return
    if kind not in TYPES:
        yield path, f"{shown(kind)} is no type: use one of {', '.join(TYPES)}, and nullable for null"
    elif node.level == "root" and kind != "object":
        yield path, f"must be object at the root, and is {kind}"
    elif schema.get(_EMBEDDED) and kind != "object":
        yield path, f"must be object if {_EMBEDDED} is true"
    elif kind == "array" and not isinstance(schema.get("items"), dict):
        yield (*node.path, "items"), "must be one schema, for all items of the list"


def _mapping_faults(node: _Node) -> Iterator[Fault]:
    others = node.schema.get("additionalProperties")
    if others is None:
        return
    path = (*node.path, "additionalProperties")
    if node.level == "root" or node.schema.get(_EMBEDDED):
        yield path, "must not be used for a whole object"
    if node.schema.get("properties") and others is not True:
        yield path, "excludes properties: a mapping has either named fields or any"


def _resource_faults(node: _Node) -> Iterator[Fault]:
    """The faults of a schema for a whole object."""
    if node.level == "root" and node.schema.get("nullable"):
        yield (*node.path, "nullable"), "must not be true at the root"
    fields = node.schema.get("properties")
    if not isinstance(fields, dict):
        return
    for name in ("apiVersion", "kind"):
        if isinstance(fields.get(name), dict) and fields[name].get("type") != "string":
            yield (*node.path, "properties", name, "type"), "must be string"
    metadata = fields.get("metadata")
    if not isinstance(metadata, dict):
        return
    path = (*node.path, "properties", "metadata")
    if metadata.get("type") != "object":
        yield (*path, "type"), "must be object"
    inner = metadata.get("properties")
    restricted = set(inner) <= {"name", "generateName"} if isinstance(inner, dict) else True
    known = {"type", "properties", "description", "title"}
    if node.level == "root" and (not restricted or not known.issuperset(metadata)):
        extra = sorted(set(metadata) - known) or sorted(set(inner or ()) - {"name", "generateName"})
        yield path, f"may restrict only name and generateName, and has {', '.join(extra)}"


def _rare_faults(node: _Node) -> Iterator[Fault]:
    """The faults of keys that few schemas have."""
    schema, path = node.schema, node.path
    for name in _UNSUPPORTED:
        if schema.get(name) not in (None, "", {}):
            yield (*path, name), "is not supported"
    if schema.get("uniqueItems"):
        yield (*path, "uniqueItems"), f"must not be true: use {_LIST_TYPE}: set"
    if schema.get(_PRESERVES) is False:
        yield (*path, _PRESERVES), "must be true or missing"
    if schema.get(_INT_OR_STRING):
        for other in (_PRESERVES, _EMBEDDED):
            if schema.get(other):
                yield (*path, other), f"must not be true if {_INT_OR_STRING} is true"
    yield from _pattern_faults(node)
    yield from _list_faults(node)
    yield from _quantifier_faults(node)
    yield from _default_faults(node)


def _default_faults(node: _Node) -> Iterator[Fault]:
    path = (*node.path, "default")
    if node.schema.get("default") is None:
        return
    if node.in_metadata:
        yield path, "must not be set for apiVersion, kind and metadata"
    elif problem := default_problem(node.schema):
        yield path, problem


def _pattern_faults(node: _Node) -> Iterator[Fault]:
    pattern = node.schema.get("pattern")
    if isinstance(pattern, str) and (problem := _pattern_problem(pattern)):
        yield (*node.path, "pattern"), f"is no regular expression that the API server reads: {problem}"


_PERL_ONLY: Final = ("(?=", "(?!", "(?<=", "(?<!", "(?>")
"""Forms of regular expressions that Go refuses."""


def _pattern_problem(pattern: str) -> str:
    """The reason why Go refuses a regular expression, as far as it is certain."""
    plain = re.sub(r"\\.", "", pattern[:_MAX_PATTERN])
    if form := next((each for each in _PERL_ONLY if each in plain), ""):
        return f"Go has no {form}"
    if "\\Q" in pattern:
        return ""
    outside = re.sub(r"\[\^?\]?[^\]]*\]", "", plain)
    if outside.count("(") != outside.count(")"):
        return "its parentheses do not match"
    return ""


def _list_faults(node: _Node) -> Iterator[Fault]:
    schema, path = node.schema, node.path
    kind, keys, map_type = schema.get(_LIST_TYPE), schema.get(_LIST_KEYS), schema.get(_MAP_TYPE)
    if map_type is not None and (map_type not in ("atomic", "granular") or schema.get("type") != "object"):
        yield (*path, _MAP_TYPE), "must be atomic or granular, for an object"
    if kind is not None and (kind not in ("atomic", "set", "map") or schema.get("type") != "array"):
        yield (*path, _LIST_TYPE), "must be atomic, set or map, for a list"
        return
    if kind != "map" and keys:
        yield (*path, _LIST_TYPE), f"must be map if {_LIST_KEYS} is set"
    items = schema.get("items")
    items = items if isinstance(items, dict) else {}
    if kind in ("set", "map") and items.get("nullable"):
        yield (*path, "items", "nullable"), f"must not be true for the items of a {kind}"
    if kind == "set":
        yield from _set_faults(path, items)
    if kind == "map":
        yield from _key_faults(path, items, keys)


def _set_faults(path: Path, items: Schema) -> Iterator[Fault]:
    if items.get("type") == "object" and items.get(_MAP_TYPE) != "atomic":
        yield (*path, "items", _MAP_TYPE), "must be atomic for the objects of a set"
    if items.get("type") == "array" and items.get(_LIST_TYPE) not in (None, "atomic"):
        yield (*path, "items", _LIST_TYPE), "must be atomic for the lists of a set"


def _key_faults(path: Path, items: Schema, keys: Any) -> Iterator[Fault]:
    if not isinstance(keys, list) or not keys:
        yield (*path, _LIST_KEYS), "must name at least one key of the items"
        return
    if items.get("type") != "object":
        yield (*path, "items", "type"), f"must be object if {_LIST_TYPE} is map"
    if len(set(map(str, keys))) < len(keys):
        yield (*path, _LIST_KEYS), "must name each key once"
    fields, required = items.get("properties") or {}, items.get("required") or ()
    for key in dict.fromkeys(map(str, keys)):
        place = (*path, "items", "properties", key)
        field = fields.get(key) if isinstance(fields, dict) else None
        if not isinstance(field, dict):
            yield (*path, _LIST_KEYS), f"names {shown(key)}, which the items do not have"
        elif field.get("type") in ("array", "object"):
            yield (*place, "type"), "must be a scalar for a key of a list"
        elif key not in required and field.get("default") is None:
            yield (*place, "default"), f"must be set, or {shown(key)} must be required: it is a key of the list"
        elif field.get("nullable"):
            yield (*place, "nullable"), "must not be true for a key of a list"


def _quantifier_faults(node: _Node) -> Iterator[Fault]:
    """The faults of schemas in allOf, anyOf, oneOf and not, which may only restrict values."""
    schema = node.schema
    outer = schema if node.level == "root" else None  # the API server compares the fields only there
    for name in _QUANTIFIERS:
        nested = schema.get(name)
        if name == "anyOf" and schema.get(_INT_OR_STRING) and nested == _ALTERNATIVES:
            continue
        for index, each in enumerate(nested if isinstance(nested, list) else ()):
            is_alternative = name == "allOf" and index == 0 and schema.get(_INT_OR_STRING)
            if isinstance(each, dict) and not (is_alternative and each.get("anyOf") == _ALTERNATIVES):
                yield from _nested_faults((*node.path, name, index), each, outer)
    if isinstance(inner := schema.get("not"), dict):
        yield from _nested_faults((*node.path, "not"), inner, outer)


class _Nested(NamedTuple):
    """A schema that only restricts values. `known` is the schema of the same value outside; None if that is not compared."""

    path: Path
    schema: Schema
    known: Schema | None


def _nested_faults(path: Path, nested: Schema, outer: Schema | None) -> Iterator[Fault]:
    pending = [_Nested(path, nested, outer)]
    while pending:
        each = pending.pop()
        for name in (*_ONLY_OUTSIDE, "additionalProperties"):
            if each.schema.get(name) not in (None, "", False, []):
                yield (*each.path, name), "must stand outside of allOf, anyOf, oneOf and not"
        for below, is_known in _below(each):
            if not is_known:
                yield below.path, "must be there outside of allOf, anyOf, oneOf and not, too"
            pending.append(below)


def _below(nested: _Nested) -> Iterator[tuple[_Nested, bool]]:
    """The schemas in a nested one, and whether their values have one outside, too."""
    path, schema, known = nested
    fields = schema.get("properties")
    outside = known.get("properties") if known is not None else None
    for name, field in fields.items() if isinstance(fields, dict) else ():
        inner = _schema(outside.get(name)) if isinstance(outside, dict) else None
        if isinstance(field, dict):
            yield _Nested((*path, "properties", name), field, inner), known is None or inner is not None
    if isinstance(items := schema.get("items"), dict):
        inner = _schema(known.get("items")) if known is not None else None
        yield _Nested((*path, "items"), items, inner), known is None or inner is not None
    for name in _QUANTIFIERS:
        listed = schema.get(name)
        for index, one in enumerate(listed if isinstance(listed, list) else ()):
            if isinstance(one, dict):
                yield _Nested((*path, name, index), one, known), True
    if isinstance(inverse := schema.get("not"), dict):
        yield _Nested((*path, "not"), inverse, known), True


def _schema(value: Any) -> Schema | None:
    return value if isinstance(value, dict) else None


_PLAIN: Final = frozenset({"type", "default", "description", "enum", "format", "title", "nullable"})
"""The keys of most schemas with a default."""
_SCALARS: Final = {"string": str, "boolean": bool, "integer": int}


def default_problem(schema: Schema) -> str:
    """The reason why the API server refuses the default of a schema; empty if it does not."""
    value = schema["default"]
    if type(value) is _SCALARS.get(str(schema.get("type"))) and _PLAIN.issuperset(schema):
        enum = schema.get("enum")
        if not isinstance(enum, list) or value in enum:
            return ""  # most defaults
    return value_problem(schema, value, "the default") or _dropped_problem(schema, value)


def _dropped_problem(schema: Schema, value: Any) -> str:
    lost = lost_fields(schema, value) if isinstance(value, dict) else []
    return f"the default has the field {lost[0]}, which the schema does not have" if lost else ""


def lost_fields(schema: Schema, value: Mapping[str, Any]) -> list[str]:
    """The fields of an object that the schema does not keep, sorted; none if the schema cannot be read."""
    try:
        return sorted(set(dropped(schema, value)))
    except (TypeError, AttributeError):
        return []


def value_problem(schema: Schema, value: Any, what: str) -> str:
    """The first reason why a value does not fit a schema, defaults filled in; empty if it fits or the schema cannot be read."""
    try:
        whole = with_defaults(schema, value)
        used = json_schema(_used(schema, whole))
        validator = Draft4Validator(used, validate_formats=False, pattern_options=RegexOptions())
        error = next(iter(validator.iter_errors(whole)), None)
    except (ValueError, TypeError, AttributeError, RecursionError, KeyError):
        return ""
    if error is None:
        return ""
    at = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.instance_path).removeprefix(".")
    return f"{what} does not fit the schema{f' at {at}' if at else ''}: {error.message[:200]}"


def _used(schema: Schema, value: Any) -> Schema:
    """The schema without the fields that the value does not have: most of a long schema."""
    fields = schema.get("properties")
    if not isinstance(fields, dict) or not isinstance(value, dict):
        return schema
    kept = {name: _used(fields[name], each) for name, each in value.items() if isinstance(fields.get(name), dict)}
    return {**schema, "properties": kept}


def without_nulls(schema: Schema, value: Any) -> Any:
    """The value without the nulls of fields that may not be null and have no default, which the API server drops."""
    if not schema:
        return value
    if isinstance(value, list):
        items = schema.get("items")
        return [without_nulls(items, each) for each in value] if isinstance(items, dict) else value
    if not isinstance(value, dict):
        return value
    fields, others = schema.get("properties"), schema.get("additionalProperties")
    fields = fields if isinstance(fields, dict) else {}
    others = others if isinstance(others, dict) else {}
    made: dict[str, Any] = {}
    for name, each in value.items():
        inner = fields.get(name, others)
        inner = inner if isinstance(inner, dict) else {}
        if each is not None or not inner or inner.get("nullable") or inner.get("default") is not None:
            made[name] = without_nulls(inner, each)
    return made
