"""Structural schemas of Kubernetes as JSON schemas, and their defaults.

Not part of the JSON schema: format, what only the API server evaluates (x-kubernetes-validations), and the keys of lists, which
`repeated` checks. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import orjson

Schema = Mapping[str, Any]

_PLAIN = (
    "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength",
    "pattern", "minItems", "maxItems", "minProperties", "maxProperties",
)  # fmt: skip
_SETS, _LISTS, _ONE = ("enum", "required"), ("allOf", "anyOf", "oneOf"), ("items", "not")
UNCHECKED = ("format", "x-kubernetes-validations")
"""Keys of a schema that are not evaluated."""


def json_schema(schema: Schema, left_out: Collection[str] = ()) -> dict[str, Any]:
    """The schema in the words of JSON schema's draft 4, where a set is never empty and has no value twice.

    `left_out`: patterns that it shall not have.
    """
    result: dict[str, Any] = {key: schema[key] for key in _PLAIN if schema.get(key) is not None}
    if result.get("pattern") in left_out:
        del result["pattern"]
    result |= {key: _unique(schema[key]) for key in _SETS if schema.get(key)}
    kinds = _types(schema)
    if kinds:
        result["type"] = kinds
    result |= {key: [json_schema(entry, left_out) for entry in schema[key]] for key in _LISTS if schema.get(key)}
    result |= {key: json_schema(schema[key], left_out) for key in _ONE if isinstance(schema.get(key), Mapping)}
    if schema.get("properties"):
        result["properties"] = {name: json_schema(entry, left_out) for name, entry in schema["properties"].items()}
    if isinstance(schema.get("additionalProperties"), Mapping):
        result["additionalProperties"] = json_schema(schema["additionalProperties"], left_out)
    if schema.get("x-kubernetes-embedded-resource"):
        result["required"] = sorted({"apiVersion", "kind", *result.get("required", ())})
    return result


def _unique(values: Sequence[Any]) -> list[Any]:
    return list({orjson.dumps(value, option=orjson.OPT_SORT_KEYS): value for value in values}.values())


def patterns(schema: Schema) -> frozenset[str]:
    """The patterns in a result of json_schema(), at any depth."""
    found = (entry.get("pattern") for entry in _mappings(schema))
    return frozenset(pattern for pattern in found if isinstance(pattern, str))


def _types(schema: Schema) -> list[str]:
    kinds = ["integer", "string"] if schema.get("x-kubernetes-int-or-string") else [schema.get("type")]
    known = [kind for kind in kinds if kind]
    return [*known, "null"] if known and schema.get("nullable") else known


def with_defaults(schema: Schema, value: Any) -> Any:
    """The value as the API server reads it: missing fields have their defaults, also those that are null and may not be."""
    if isinstance(value, list) and isinstance(schema.get("items"), Mapping):
        return [with_defaults(schema["items"], entry) for entry in value]
    if not isinstance(value, Mapping):
        return value
    fields: Mapping[str, Schema] = schema.get("properties") or {}
    others = schema.get("additionalProperties")
    others = others if isinstance(others, Mapping) else {}
    result = {
        name: entry
        for name, entry in value.items()
        if entry is not None or not _replaces_null(fields.get(name, others))
    }
    for name, entry in fields.items():
        if name not in result and entry.get("default") is not None:
            result[name] = entry["default"]
    return {name: with_defaults(fields.get(name, others), entry) for name, entry in result.items()}


def repeated(schema: Schema, obj: Any) -> Iterator[str]:
    """The lists of the object that have an item or a key twice, and may not: `spec.ports: repeated item`."""
    pending: list[tuple[str, Schema, Any]] = [("", schema, obj)]
    while pending:
        path, known, value = pending.pop()
        if isinstance(value, list):
            keys = _keys(known, value)
            if len(set(keys)) < len(keys):
                yield f"{path}: repeated item"
            items = known.get("items")
            if isinstance(items, Mapping):
                pending += [(f"{path}[{number}]", items, entry) for number, entry in enumerate(value)]
        elif isinstance(value, Mapping):
            fields, others = known.get("properties") or {}, known.get("additionalProperties")
            others = others if isinstance(others, Mapping) else {}
            pending += [
                (f"{path}.{name}".removeprefix("."), fields.get(name, others), each) for name, each in value.items()
            ]


def _keys(schema: Schema, items: Sequence[Any]) -> list[bytes]:
    """The keys that no two items of a set or a map may have in common; none for another list."""
    if schema.get("x-kubernetes-list-type") == "set":
        return [orjson.dumps(item, option=orjson.OPT_SORT_KEYS) for item in items]
    if schema.get("x-kubernetes-list-type") != "map":
        return []
    names = schema.get("x-kubernetes-list-map-keys") or ()
    return [
        orjson.dumps([item.get(name) for name in names], option=orjson.OPT_SORT_KEYS)
        for item in items
        if isinstance(item, Mapping)
    ]


def _replaces_null(schema: Schema) -> bool:
    return schema.get("default") is not None and not schema.get("nullable")


def unchecked(schema: Schema) -> frozenset[str]:
    """The keys in the schema, at any depth, that are not evaluated."""
    return frozenset(key for entry in _mappings(schema) for key in UNCHECKED if entry.get(key) is not None)


def _mappings(schema: Schema) -> Iterator[Mapping[str, Any]]:
    """All mappings in the schema, itself included."""
    pending: list[Any] = [schema]
    while pending:
        entry = pending.pop()
        if isinstance(entry, Mapping):
            yield entry
            pending += entry.values()
        elif isinstance(entry, list):
            pending += entry
