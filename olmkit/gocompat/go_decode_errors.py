"""Checks whether Go's JSON decoder accepts a value as a Go type, with Go's error if it does not.

Keys may differ in upper and lower case; unknown keys are ignored. A quick check accepts nearly all values. Only for the others
the error is searched, with keys in sorted order, as blobs are stored. A mismatch of types is the error only if no type with a
decoder of its own refuses a value anywhere. The types are those of olmkit.gocompat.go_types. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Final

import msgspec
import orjson

from olmkit.gocompat.base64_text import base64_error
from olmkit.gocompat.go_leaf_types import LEAVES, Mismatch, Refusal
from olmkit.gocompat.go_shapes import shape_of
from olmkit.gocompat.go_types import (
    BYTES,
    CSV_STRUCTS,
    EMBEDDED_FIELDS,
    LIST,
    NAMED_TYPES,
    POINTER,
    STRUCTS,
    split_type,
)

_INTEGERS: Final = {
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "uint8": (0, 255),
}
"""The least and the largest value of a type."""
_NONE = type(None)
_STRINGS: Final = frozenset({"string", "v1alpha1.InstallModeType"})
_PRINTED: Final = {"float": "float64", "map[string]quantity": "v1.ResourceList", "json": "json.RawMessage"}
"""The types that have another name in the table."""
_OF_DEFINITIONS: Final = re.compile(
    r"\bv1\.(?=JSONSchema|CustomResource|SelectableField|Webhook|ServiceReference|External|Validation|ResourceScope|ConversionStrategyType)"
)
"""The package of the types that v1 and v1beta1 definitions share in the table."""
_SCHEMAS: Final = {"SchemaOrBool": "", "SchemaOrArray": "[]JSONSchemaProps", "SchemaOrStrings": "[]string"}
"""A type that is a schema or something else -> the type of a list; none if a list is refused."""


@dataclass(slots=True)
class _Type:
    """`name` as Go prints it. `python`: what a value is an instance of (None: anything). `inner`: what a list or map holds."""

    name: str
    python: type | None
    is_right: Callable[[Any], bool] | None = None
    """True if the members of a value are right too; None for a type without members."""
    inner: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)
    """The types of the fields by their names in the table."""
    folded: Mapping[str, str] = field(default_factory=dict)

    def field_name(self, key: str) -> str | None:
        """The name of the field that a key means."""
        return key if key in self.fields else self.folded.get(key.casefold())


Error = Mismatch | Refusal


def decode_error(type_name: str, value: Any) -> str:
    """Go's error for `value` as this struct of the table; "" when Go accepts it."""
    if is_exact(type_name, value):
        return ""
    wanted = _type(type_name)
    if type(value) is wanted.python and (wanted.is_right is None or wanted.is_right(value)):
        return ""
    trail: _Trail = []
    first, _ = _first(_errors(type_name, value, "", (), trail), trail)
    text = "" if first is None else first.text if isinstance(first, Refusal) else str(first)
    return _OF_DEFINITIONS.sub("v1beta1.", text) if type_name.startswith("v1beta1.") else text


@dataclass(frozen=True, slots=True)
class WrongValue:
    """The value that Go's error is about: its keys and indexes, and the type of the table that it should have."""

    path: tuple[str | int, ...]
    type_name: str


def wrong_value(type_name: str, value: Any) -> WrongValue | None:
    """The value that decode_error() is about, for people; None if Go accepts the whole value."""
    trail: _Trail = []
    error, place = _first(_errors(type_name, value, "", (), trail), trail)
    if error is None:
        return None
    return WrongValue(tuple(key for key, _ in place), place[-1][1] if place else type_name)


_Trail = list[tuple[str | int, str]]
"""The keys and indexes that lead to a value, with the type of each: where the search is while it yields an error."""


def _first(errors: Iterator[Error], trail: _Trail) -> tuple[Error | None, _Trail]:
    """The error that Go reports, a refusal, else the first mismatch; and its trail."""
    first: Error | None = None
    place: _Trail = []
    for error in errors:
        if isinstance(error, Refusal):
            return error, list(trail)
        if first is None:
            first, place = error, list(trail)
    return first, place


def is_exact(type_name: str, value: Any) -> bool:
    """Report whether Go accepts the value, all its keys are the names of fields, and each string is one. May be False for other
    values that Go accepts."""
    try:
        msgspec.convert(value, shape_of(type_name))
    except (msgspec.MsgspecError, RecursionError):
        return False
    return True


def printed_type(name: str) -> str:
    """A type of the table as Go prints it, with its package."""
    if name in _PRINTED:
        return _PRINTED[name]
    form, of = split_type(name)
    if form:
        return f"{form.removeprefix(POINTER)}{printed_type(of)}"
    return name if name not in STRUCTS or "." in name else f"{'v1alpha1' if name in CSV_STRUCTS else 'v1'}.{name}"


def _errors(name: str, value: Any, struct: str, path: tuple[str, ...], trail: _Trail) -> Iterator[Error]:
    """The errors in the order in which Go meets them. While one is yielded, the trail leads to its value."""
    name = name.removeprefix(POINTER)
    if name in _SCHEMAS:
        yield from _schema_errors(name, value, struct, path, trail)
    elif name in LEAVES:
        problem = LEAVES[name].problem(value)
        if problem is not None:
            yield Refusal(str(problem.within(struct, path))) if isinstance(problem, Mismatch) else problem
    elif value is not None:
        yield from _plain_errors(_type(name), value, struct, path, trail)


def _plain_errors(wanted: _Type, value: Any, struct: str, path: tuple[str, ...], trail: _Trail) -> Iterator[Error]:
    """The errors of a value, not null, of a type without a decoder of its own."""
    if wanted.python is None:
        return
    if wanted.name == BYTES and isinstance(value, str):
        if text := base64_error(value):
            yield Mismatch("", "", text=text)
    elif wanted.fields:
        yield from _struct_errors(wanted, value, struct, path, trail)
    elif wanted.inner and isinstance(value, dict if wanted.python is dict else list):
        members = sorted(value.items()) if isinstance(value, dict) else enumerate(value)
        for key, member in members:
            trail.append((key, wanted.inner))
            yield from _errors(wanted.inner, member, struct, path, trail)
            trail.pop()
    elif not _is_right_scalar(wanted, value):
        yield Mismatch(_kind(wanted, value), wanted.name, struct, path)


def _struct_errors(wanted: _Type, value: Any, struct: str, path: tuple[str, ...], trail: _Trail) -> Iterator[Error]:
    if not isinstance(value, dict):
        yield Mismatch(_kind(wanted, value), wanted.name, struct, path)
        return
    inner = wanted.name.rpartition(".")[2]
    for key in sorted(value):
        name = wanted.field_name(key)
        if name is None:
            continue
        named = NAMED_TYPES.get(f"{inner}.{name}")
        own = (*path, "TypeMeta", name) if name in EMBEDDED_FIELDS.get(inner, ()) else (*path, name)
        trail.append((key, wanted.fields[name]))
        for error in _errors(wanted.fields[name], value[key], inner, own, trail):
            if named and isinstance(error, Mismatch) and error.path == own:
                error = replace(error, type_name=named)
            yield error
        trail.pop()


def _schema_errors(name: str, value: Any, struct: str, path: tuple[str, ...], trail: _Trail) -> Iterator[Error]:
    """The error of a schema's own decoder, which names the field of the type that holds the schema."""
    of = "JSONSchemaProps" if isinstance(value, dict) else _SCHEMAS[name] if isinstance(value, list) else ""
    if not of:
        if name == "SchemaOrBool" and not isinstance(value, bool | None):
            yield Refusal("boolean or JSON schema expected")
        return
    here = list(trail)
    first, place = _first(_errors(of, value, "", (), trail), trail)
    trail[:] = place
    if isinstance(first, Mismatch):
        yield Refusal(str(first.within(struct, path)))
    elif first is not None:
        yield first
    trail[:] = here


def _is_right_scalar(wanted: _Type, value: Any) -> bool:
    if wanted.name in _INTEGERS:
        lowest, highest = _INTEGERS[wanted.name]
        return type(value) is int and lowest <= value <= highest
    if wanted.python is float:
        return isinstance(value, int | float | orjson.Fragment) and not isinstance(value, bool)
    return type(value) is wanted.python


def _kind(wanted: _Type, value: Any) -> str:
    kinds = {bool: "bool", str: "string", list: "array", dict: "object"}
    if type(value) in kinds:
        return kinds[type(value)]
    return f"number {orjson.dumps(value).decode()}" if wanted.name in _INTEGERS else "number"


@cache
def _type(name: str) -> _Type:
    name = name.removeprefix(POINTER)
    if name in _STRINGS:
        return _Type(name, str)
    if name == "bool":
        return _Type(name, bool)
    if name == "float":
        return _Type(_PRINTED[name], float)
    if name == "json" or name in LEAVES or name in _SCHEMAS:
        made = _Type(name, None)
        made.is_right = None if name == "json" else _leaf_check(name)
        return made
    if name == BYTES:
        return _Type(name, str, lambda value: not base64_error(value), "uint8")
    if name in _INTEGERS:
        made = _Type(name, int)
        made.is_right = lambda value: _is_right_scalar(made, value)
        return made
    form, of = split_type(name)
    if not form:
        return _struct(name)
    check = _list_check(of)
    if form == LIST:
        return _Type(printed_type(name), list, check, of)
    return _Type(printed_type(name), dict, lambda value: check(value.values()), of)


def _leaf_check(name: str) -> Callable[[Any], bool]:
    return lambda value: next(_errors(name, value, "", (), []), None) is None


def _struct(name: str) -> _Type:
    fields = {each.name: each.type_name for each in STRUCTS[name]}
    made = _Type(printed_type(name), dict, fields=fields, folded={each.casefold(): each for each in fields})
    made.is_right = _struct_check(made)
    return made


def _list_check(of: str) -> Callable[[Any], bool]:
    """A check that is True only for right members. It may be False for right ones too."""

    def check(values: Any) -> bool:
        inner = _type(of)
        is_right = inner.is_right
        if inner.python is not None and not {inner.python, _NONE}.issuperset(map(type, values)):
            return False
        return is_right is None or all(is_right(each) for each in values if each is not None)

    return check


def _struct_check(of: _Type) -> Callable[[Any], bool]:
    """A check that is True only for a right mapping. It may be False for a right one too."""
    folded = of.folded

    def check(value: dict[str, Any]) -> bool:
        for key, held in value.items():
            if key not in of.fields:
                if key.casefold() in folded:
                    return False
                continue
            if held is None and of.fields[key].removeprefix(POINTER) not in LEAVES:
                continue
            each = _type(of.fields[key])
            if each.python is not None and type(held) is not each.python:
                return False
            if each.is_right is not None and not each.is_right(held):
                return False
        return True

    return check
