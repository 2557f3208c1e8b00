"""A YAML document as sigs.k8s.io/yaml reads it into a Go type: the value, or Go's error.

Before the document becomes JSON, numbers and booleans become text where the type has a string. Unknown fields stay in the value.
The types are those of olmkit.gocompat.go_types. Pure.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from olmkit.gocompat.go_decode_errors import decode_error, is_exact
from olmkit.gocompat.go_types import EMBEDDED_FIELDS, LIST, MAP, POINTER, STRUCTS, split_type
from olmkit.gocompat.yaml_scalars import float_key

_STRINGS = frozenset({"string", "v1alpha1.InstallModeType"})
_LEAVES = frozenset({
    "bool", "int32", "int64", "uint8", "float", "json", "quantity", "intorstring", "time", "version", "[]uint8",
    "SchemaOrBool", "SchemaOrArray", "SchemaOrStrings",
})  # fmt: skip
"""Types whose values stay as they are. A schema in a type with its own decoder is read from JSON, which changes no scalar."""


def unmarshal(type_name: str, value: Any) -> tuple[Any, str]:
    """The value with its fields under their names, and Go's error; "" when Go accepts it."""
    if is_exact(type_name, value):
        return value, ""
    made = _converted(type_name, value)
    return made, decode_error(type_name, made)


def is_zero(type_name: str, value: Any) -> bool:
    """Report whether a value that Go has read is the zero value of the type."""
    form, of = split_type(type_name)
    if form or value is None:
        return value is None
    if of == "version":
        return value in ("", "0.0.0", "v0.0.0")
    if of in STRUCTS:
        return all(is_zero(each.type_name, value.get(each.name)) for each in STRUCTS[of])
    return value in ("", 0, False) if isinstance(value, str | int | float) else False


def _converted(type_name: str, value: Any) -> Any:
    form, of = split_type(type_name)
    if form == POINTER:
        return _converted(of, value)
    if form == LIST and isinstance(value, list):
        return value if of in _LEAVES else [_converted(of, each) for each in value]
    if form == MAP and isinstance(value, dict):
        return value if of in _LEAVES else {key: _converted(of, each) for key, each in value.items()}
    if of in _STRINGS and not form:
        return _text(value)
    if form or not isinstance(value, dict) or of not in STRUCTS:
        return value
    types, folded = _fields(of)
    made: dict[str, Any] = {}
    key: str
    for key, held in value.items():
        name = key if key in types else folded.get(key.casefold(), key)
        if name != key and name in value:
            continue
        is_converted = name in types and name not in EMBEDDED_FIELDS.get(of.rpartition(".")[2], ())
        made[name] = _converted(types[name], held) if is_converted else held
    return made


@cache
def _fields(of: str) -> tuple[dict[str, str], dict[str, str]]:
    """The types of the fields, and the names of the fields by their folded names."""
    return {each.name: each.type_name for each in STRUCTS[of]}, {
        each.name.casefold(): each.name for each in STRUCTS[of]
    }


def _text(value: Any) -> Any:
    """A scalar as the text that Go makes of it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    return float_key(value) if isinstance(value, float) else value
