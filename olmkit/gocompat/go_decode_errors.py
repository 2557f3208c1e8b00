"""Checks whether Go's JSON decoder accepts a value as a Go type, with Go's error if it does not.

Keys may differ in upper and lower case; unknown keys are ignored. A quick check accepts nearly all values. Only for the others
the first error is searched, with keys in sorted order, as blobs are stored. The types are those of olmkit.gocompat.go_types.
Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Any, Final

import msgspec
import orjson

from olmkit.gocompat.base64_text import base64_error
from olmkit.gocompat.go_types import BYTES, LIST, MAP, STRUCTS, split_type

_INTEGERS: Final = {"int32": (-(2**31), 2**31 - 1), "uint8": (0, 255)}
"""The least and the largest value of a type."""
_NONE = type(None)


@dataclass(slots=True)
class _Type:
    """`name` as Go prints it. `python`: what a value is an instance of (None: anything). `inner`: what a list or map holds."""

    name: str
    python: type | None
    is_right: Callable[[Any], bool] | None = None
    """True if the members of a value are right too; None for a type without members."""
    inner: _Type | None = None
    fields: dict[str, _Type] = field(default_factory=dict)
    folded: dict[str, str] = field(default_factory=dict)

    def field_name(self, key: str) -> str | None:
        """The name of the field that a key means."""
        return key if key in self.fields else self.folded.get(key.casefold())


def decode_error(type_name: str, value: Any) -> str:
    """Go's error for `value` as this struct of the table; "" when Go accepts it.

    The struct may hold what opm's types hold; a type that contains itself is not supported.
    """
    try:
        msgspec.convert(value, _struct_shape(type_name))
        return ""
    except (msgspec.MsgspecError, RecursionError):
        pass  # also for unknown keys: they may be names in another case
    wanted = _type(type_name)
    if type(value) is wanted.python and (wanted.is_right is None or wanted.is_right(value)):
        return ""
    return _first_error(wanted, value, "", ())


def _first_error(wanted: _Type, value: Any, struct: str, path: tuple[str, ...]) -> str:
    """The first error that Go meets."""
    if value is None or wanted.python is None:
        return ""
    if wanted.name == BYTES and isinstance(value, str):
        return base64_error(value)
    if wanted.fields:
        return _struct_error(wanted, value, path) if isinstance(value, dict) else _mismatch(wanted, value, struct, path)
    if wanted.inner is not None and isinstance(value, dict if wanted.python is dict else list):
        members = [value[key] for key in sorted(value)] if isinstance(value, dict) else value
        errors = (_first_error(wanted.inner, member, struct, path) for member in members)
        return next(filter(None, errors), "")
    return "" if _is_right_scalar(wanted, value) else _mismatch(wanted, value, struct, path)


def _struct_error(wanted: _Type, value: Mapping[str, Any], path: tuple[str, ...]) -> str:
    struct = wanted.name.rpartition(".")[2]
    for key in sorted(value):
        name = wanted.field_name(key)
        if name is not None and (found := _first_error(wanted.fields[name], value[key], struct, (*path, name))):
            return found
    return ""


def _is_right_scalar(wanted: _Type, value: Any) -> bool:
    if wanted.name in _INTEGERS:
        lowest, highest = _INTEGERS[wanted.name]
        return type(value) is int and lowest <= value <= highest
    return type(value) is wanted.python


def _mismatch(wanted: _Type, value: Any, struct: str, path: tuple[str, ...]) -> str:
    place = f"Go struct field {struct}.{'.'.join(path)} of" if path else "Go value of"
    return f"json: cannot unmarshal {_kind(wanted, value)} into {place} type {wanted.name}"


def _kind(wanted: _Type, value: Any) -> str:
    kinds = {bool: "bool", str: "string", list: "array", dict: "object"}
    if type(value) in kinds:
        return kinds[type(value)]
    return f"number {orjson.dumps(value).decode()}" if wanted.name in _INTEGERS else "number"


@cache
def _type(name: str) -> _Type:
    match name:
        case "json":
            return _Type(name, None)
        case "bool":
            return _Type(name, bool)
        case "string" | "v1alpha1.InstallModeType":
            return _Type(name, str)
        case "[]uint8":
            return _Type(name, str, lambda value: not base64_error(value), _type("uint8"))
    if name in _INTEGERS:
        made = _Type(name, int)
        made.is_right = lambda value: _is_right_scalar(made, value)
        return made
    form, of = split_type(name)
    if not form:
        return _struct(name)
    inner = _type(of)
    check = _list_check(inner)
    if form == LIST:
        return _Type(name, list, check, inner)
    return _Type(name, dict, lambda value: check(value.values()), inner)


def _struct(name: str) -> _Type:
    fields = {each.name: _type(each.type_name) for each in STRUCTS[name]}
    made = _Type(name, dict, fields=fields, folded={each.casefold(): each for each in fields})
    made.is_right = _struct_check(made)
    return made


def _list_check(inner: _Type) -> Callable[[Any], bool]:
    allowed, is_right = {inner.python, _NONE}, inner.is_right
    if is_right is None:
        return lambda values: allowed.issuperset(map(type, values))

    def check(values: Any) -> bool:
        return allowed.issuperset(map(type, values)) and all(is_right(each) for each in values if each is not None)

    return check


def _struct_check(of: _Type) -> Callable[[Any], bool]:
    """A check that is True only for a right mapping. It may be False for a right one too."""
    plain = {name: each.python for name, each in of.fields.items() if each.is_right is None and each.python is not None}
    deep = {name: each for name, each in of.fields.items() if each.is_right is not None}
    anything = {name for name, each in of.fields.items() if each.python is None}
    folded = of.folded

    def check(value: dict[str, Any]) -> bool:
        for key, held in value.items():
            kind = type(held)
            if plain.get(key) is kind or held is None or key in anything:
                continue
            if key in deep:
                each = deep[key]
                if not (kind is each.python and each.is_right and each.is_right(held)):
                    return False
            elif key in plain or key.casefold() in folded:
                return False
        return True

    return check


_PLAIN_SHAPES: Final[dict[str, Any]] = {
    "json": Any,
    "string": str | None,
    "v1alpha1.InstallModeType": str | None,
    "bool": bool | None,
    "int32": Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)] | None,
    "[]uint8": Annotated[str, msgspec.Meta(max_length=0)] | None,  # base64 is not for msgspec to check
}


def _shape(name: str) -> Any:
    """The type for msgspec: accepts only values that Go accepts, but not all of them."""
    if name in _PLAIN_SHAPES:
        return _PLAIN_SHAPES[name]
    form, inner = split_type(name)
    if form == LIST:
        return list[_shape(inner)] | None  # type: ignore[misc]
    return (dict[str, _shape(inner)] if form == MAP else _struct_shape(name)) | None  # type: ignore[misc]


@cache
def _struct_shape(name: str) -> Any:
    names = {f"field_{number}": each.name for number, each in enumerate(STRUCTS[name])}
    fields = [(f"field_{number}", _shape(each.type_name), None) for number, each in enumerate(STRUCTS[name])]
    return msgspec.defstruct(name.replace(".", "_"), fields, rename=names, forbid_unknown_fields=True, gc=False)
