"""The Go types of the table as types for msgspec, which checks a value at the speed of C.

A shape accepts only values that Go accepts as they are, but not all of them: no keys in another case, no unknown keys, no
unusual quantities, times and versions. Pure.
"""

from __future__ import annotations

import sys
import typing
from functools import cache
from types import ModuleType
from typing import Any, Final

import msgspec

from olmkit.gocompat.go_leaf_types import LEAVES
from olmkit.gocompat.go_types import LIST, MAP, STRUCTS, split_type

_WORDS: Final = {
    "json": "typing.Any",
    "string": "str | None",
    "v1alpha1.InstallModeType": "str | None",
    "bool": "bool | None",
    "float": "float | int | None",
    "int32": f"typing.Annotated[int, msgspec.Meta(ge={-(2**31)}, le={2**31 - 1})] | None",
    "int64": "int | None",
    "[]uint8": "typing.Annotated[str, msgspec.Meta(max_length=0)] | None",  # base64 is not for msgspec to check
    "quantity": f"int | float | typing.Annotated[str, msgspec.Meta(pattern={LEAVES['quantity'].plain!r})] | None",
    "intorstring": f"typing.Annotated[int, msgspec.Meta(ge={-(2**31)}, le={2**31 - 1})] | str | None",
    "time": f"typing.Annotated[str, msgspec.Meta(pattern={LEAVES['time'].plain!r})] | None",
    "version": f"typing.Annotated[str, msgspec.Meta(pattern={LEAVES['version'].plain!r})]",
    "SchemaOrBool": "JSONSchemaProps | bool | None",
    "SchemaOrArray": "JSONSchemaProps | list[JSONSchemaProps | None] | None",
    "SchemaOrStrings": "JSONSchemaProps | list[str | None] | None",
}
_HOME: Final = ModuleType(f"{__name__}.made")
"""The module in which msgspec finds the types by name: a type may contain itself."""
_HOME.__dict__.update(msgspec=msgspec, typing=typing)
sys.modules[_HOME.__name__] = _HOME


@cache
def shape_of(type_name: str) -> Any:
    """The shape of a struct."""
    pending, done = [type_name], set()
    while pending:
        name = pending.pop()
        if name in done:
            continue
        done.add(name)
        if _python_name(name) in _HOME.__dict__:
            continue
        words = [_word(each.type_name, pending) for each in STRUCTS[name]]
        renamed = {f"field_{number}": each.name for number, each in enumerate(STRUCTS[name])}
        fields = [(f"field_{number}", word, None) for number, word in enumerate(words)]
        made = msgspec.defstruct(
            _python_name(name), fields, rename=renamed, forbid_unknown_fields=True, gc=False, module=_HOME.__name__
        )
        setattr(_HOME, _python_name(name), made)
    return getattr(_HOME, _python_name(type_name))


def _python_name(name: str) -> str:
    return name.replace(".", "_")


def _word(name: str, pending: list[str]) -> str:
    """The annotation of a field; structs that it names are added to `pending`."""
    if name in _WORDS:
        if name.startswith("SchemaOr"):
            pending.append("JSONSchemaProps")
        return _WORDS[name]
    form, inner = split_type(name)
    if form == LIST:
        return f"list[{_word(inner, pending)}] | None"
    if form == MAP:
        return f"dict[str, {_word(inner, pending)}] | None"
    if form:
        return _word(inner, pending)
    pending.append(name)
    return f"{_python_name(name)} | None"
