"""Finds the fields of a custom resource that the API server drops by a schema, as it does when it reads and writes an object.

Values are never part of the answer. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from olmkit.crd_safety.schemas import KEPT_OF_RESOURCES, PRESERVES, join

Schema = Mapping[str, Any]


def dropped(schema: Schema, obj: Mapping[str, Any]) -> Iterator[str]:
    """The fields of the custom resource that the schema does not keep, each with its path: `spec.items[*].size`. What is below a
    field that is dropped is not named."""
    pending: list[tuple[str, Schema, Any, bool]] = [("", schema, obj, True)]
    while pending:
        path, known, value, is_resource = pending.pop()
        if isinstance(value, list):
            items = known.get("items")
            below = items if isinstance(items, Mapping) else _without(known)
            pending += [(join(path, "[*]"), below, entry, _is_resource(below)) for entry in value]
        elif isinstance(value, Mapping):
            for name, entry in value.items():
                if is_resource and name in KEPT_OF_RESOURCES:
                    continue
                place, found = _field(known, name)
                if found is None:
                    yield join(path, name)
                else:
                    pending.append((join(path, place), found, entry, _is_resource(found)))


def has_value(value: Any, path: str) -> bool:
    """Report whether the object has a value at the path, as rules name it: `spec.items[*].size`, `spec.labels.*`. Names may have
    dots: if the path stands for several fields, one of them is enough."""
    pending = [(value, path)]
    while pending:
        entry, left = pending.pop()
        if not left:
            return True
        if isinstance(entry, list) and left.startswith("[*]"):
            pending += [(item, left[3:].removeprefix(".")) for item in entry]
        elif isinstance(entry, Mapping):
            names = {"*": left} | {name: left for name in entry if left.startswith(name)}
            for name in names:
                rest = left[len(name) :]
                if left.startswith(name) and rest[:1] in ("", ".", "["):
                    found = entry.values() if name == "*" else [entry[name]]
                    pending += [(item, rest.removeprefix(".")) for item in found]
    return False


def _field(schema: Schema, name: str) -> tuple[str, Schema | None]:
    """The name of the field in paths, and its schema; None if it is dropped."""
    fields = schema.get("properties") or {}
    if name in fields:
        return name, fields[name]
    others = schema.get("additionalProperties")
    if isinstance(others, Mapping) or others is True:
        return "*", others if isinstance(others, Mapping) else {}  # `true` keeps a value, but no fields of it
    if schema.get(PRESERVES):
        return name, {PRESERVES: True}
    return name, None


def _without(schema: Schema) -> Schema:
    """The schema of the items of a list that has none for them."""
    return {PRESERVES: True} if schema.get(PRESERVES) else {}


def _is_resource(schema: Schema) -> bool:
    return bool(schema.get("x-kubernetes-embedded-resource"))
