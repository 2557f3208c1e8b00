"""The fields of a value that its type does not have. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, Final

import msgspec

from olmkit.gocompat.go_shapes import shape_of
from olmkit.gocompat.go_types import LIST, MAP, POINTER, STRUCTS, split_type

Path = tuple[str | int, ...]
Unknown = tuple[Path, Sequence[str]]
"""The path of a field, and the names that fields have there."""

_SCHEMA: Final = "JSONSchemaProps"
_MIXED: Final = frozenset({"SchemaOrBool", "SchemaOrArray", "SchemaOrStrings"})


def unknown_fields(type_name: str, value: Any) -> Iterator[Unknown]:
    """The unknown fields of a value and of what it contains. Names in another case are known."""
    try:
        msgspec.convert(value, shape_of(type_name))
    except (msgspec.ValidationError, RecursionError):
        yield from _walk(type_name, value)


def _walk(type_name: str, value: Any) -> Iterator[Unknown]:
    pending: list[tuple[Path, str, Any]] = [((), type_name, value)]
    while pending:
        path, name, item = pending.pop()
        form, inner = split_type(name.removeprefix(POINTER))
        if inner in _MIXED:
            inner = _SCHEMA
        if isinstance(item, list):
            if form == LIST or inner == _SCHEMA:
                pending += [((*path, index), inner, each) for index, each in enumerate(item)]
        elif not isinstance(item, dict):
            continue
        elif form == MAP:
            pending += [((*path, key), inner, each) for key, each in item.items()]
        elif not form and inner in STRUCTS:
            types = _fields(inner)
            for key, each in item.items():
                found = types.get(key.casefold())
                if found is None:
                    yield (*path, key), [field.name for field in STRUCTS[inner]]
                else:
                    pending.append(((*path, key), found, each))


@cache
def _fields(name: str) -> dict[str, str]:
    """The names of the fields without case -> their types."""
    return {field.name.casefold(): field.type_name for field in STRUCTS[name]}
