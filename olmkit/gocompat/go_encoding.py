"""The value of a Go type after Go has read and written it: fields by their names, without unknown and optional empty ones.

Called by rukpak.format, whose objects are what upstream's renderer writes, and by olmkit.fbc for olm.csv.metadata. Fields are
found by their names in any case of the letters, the exact name first, as Go's JSON decoder finds them; an unknown field is
dropped (a server-side apply of one is refused); quantities get their canonical form. The types are those of
olmkit.gocompat.go_types. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from typing import Any

from olmkit.gocompat.go_types import BYTES, LIST, MAP, POINTER, STRUCTS, split_type

_QUANTITY = re.compile(
    r"(?P<sign>[+-]?)(?P<digits>[0-9]+\.?[0-9]*|\.[0-9]+)(?P<suffix>[KMGTPE]i|[numkMGTPE]?|[eE][+-]?[0-9]+)"
)
_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_DECIMAL = {-9: "n", -6: "u", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P", 18: "E"}
_DECIMAL_EXPONENT = {suffix: exponent for exponent, suffix in _DECIMAL.items()}
_MAX_CHARACTERS = 64


Convert = Callable[[Any], Any]
"""Converts a value as it is read (None when absent) to the value as it is written."""


class Mismatch(Exception):
    """A field with a value of the wrong type; `path` is its place, as in `spec.replicas`."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.path = ""

    def within(self, step: str) -> Mismatch:
        """Add the next outer level to the path; `step` is `.name` or `[0]`."""
        self.path = step + self.path
        return self

    def __str__(self) -> str:
        return f"{self.path.lstrip('.')}: {self.problem}" if self.path else self.problem


def round_trip(type_name: str, value: Any) -> Any:
    """The value as the named type of the table, or a list `[]<type>`, writes it. Raises Mismatch for a value of another type."""
    return _converter(type_name)[0](value)


def _article(value: Any) -> str:
    names = {dict: "a mapping", list: "a list", str: "text", bool: "true or false", int: "a number", float: "a number"}
    return names.get(type(value), "nothing")


def _string(value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise Mismatch(
            f"must be text in quotes, not {_article(value)} ({value!r})" if _small(value) else _must("text", value)
        )
    return value


def _small(value: Any) -> bool:
    return isinstance(value, bool | int | float)


def _must(what: str, value: Any) -> str:
    return f"must be {what}, not {_article(value)}"


def _bool(value: Any) -> bool:
    if value is None:
        return False
    if not isinstance(value, bool):
        raise Mismatch(_must("true or false", value))
    return value


def _int(value: Any) -> int:
    if value is None:
        return 0
    if not isinstance(value, int) or isinstance(value, bool):
        raise Mismatch(_must("a whole number", value))
    return value


def _float(value: Any) -> float:
    if value is None:
        return 0
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise Mismatch(_must("a number", value))
    return value


def _int_or_string(value: Any) -> int | str:
    return value if isinstance(value, str) else _int(value)


def _quantity(value: Any) -> str:
    try:
        return canonical("0" if value is None else str(value))
    except ValueError as error:
        raise Mismatch(str(error)) from error


def _anything(value: Any) -> Any:
    return value


def _schema_or_bool(value: Any) -> Any:
    return value if isinstance(value, bool) else _schema(value)


def _schema_or_array(value: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, list):
        return _converter("[]JSONSchemaProps")[0](value) or None
    return _schema(value)


def _schema_or_strings(value: Any) -> Any:
    if isinstance(value, list):
        return _converter("[]string")[0](value)
    return _schema(value)


def _schema(value: Any) -> Any:
    return _converter("JSONSchemaProps")[0](value)


_NEVER, _WHEN_NONE, _WHEN_FALSY = range(3)
"""The values that count as empty, so that an optional field with one of them is left out."""

_LEAVES: dict[str, tuple[Convert, int]] = {
    "string": (_string, _WHEN_FALSY),
    "v1alpha1.InstallModeType": (_string, _WHEN_FALSY),
    "bool": (_bool, _WHEN_FALSY),
    "int32": (_int, _WHEN_FALSY),
    "int64": (_int, _WHEN_FALSY),
    "float": (_float, _WHEN_FALSY),
    "quantity": (_quantity, _NEVER),
    "intorstring": (_int_or_string, _NEVER),
    "time": (_anything, _NEVER),
    "version": (_anything, _WHEN_NONE),
    BYTES: (_anything, _WHEN_FALSY),
    "json": (_anything, _WHEN_NONE),
    "SchemaOrBool": (_schema_or_bool, _NEVER),
    "SchemaOrArray": (_schema_or_array, _NEVER),
    "SchemaOrStrings": (_schema_or_strings, _NEVER),
}


@cache
def _converter(type_name: str) -> tuple[Convert, int]:
    """Return the function that reads a type, and the rule for when a result of it counts as empty."""
    if type_name in _LEAVES:
        return _LEAVES[type_name]
    form, inner = split_type(type_name)
    if form == POINTER:
        return _optional(inner), _WHEN_NONE
    if form:
        return (_list_of if form == LIST else _map_of)(inner), _WHEN_FALSY
    return _struct(type_name), _NEVER


# Converters of items are resolved at each use, because a type may contain itself. A loop has one `try` around it, and no function
# but its converter is called for an item: a bundle may have a hundred thousand values.


def _optional(type_name: str) -> Convert:
    return lambda value: None if value is None else _converter(type_name)[0](value)


def _list_of(type_name: str) -> Convert:
    def convert(value: Any) -> Any:
        if value is None:
            return None
        if not isinstance(value, list):
            raise Mismatch(_must("a list", value))
        read, result = _converter(type_name)[0], []
        try:
            for item in value:
                result.append(read(item))
        except Mismatch as error:
            raise error.within(f"[{len(result)}]") from None
        return result

    return convert


def _map_of(type_name: str) -> Convert:
    def convert(value: Any) -> Any:
        if value is None:
            return None
        if not isinstance(value, dict):
            raise Mismatch(_must("a mapping", value))
        read, result, key = _converter(type_name)[0], {}, ""
        try:
            for key in sorted(value):
                result[key] = read(value[key])
        except Mismatch as error:
            raise error.within(f".{key}") from None
        return result

    return convert


def _struct(type_name: str) -> Convert:
    fields = dict(_fields(type_name))
    folded = {name.casefold(): name for name in fields}
    always = [(name, read) for name, (read, empty) in fields.items() if empty == _NEVER]

    def convert(value: Any) -> Any:
        if value is None:
            value = {}
        elif not isinstance(value, dict):
            raise Mismatch(_must("a mapping", value))
        result: dict[str, Any] = {}
        name = ""
        try:
            for key, item in value.items():
                name = key if key in fields else folded.get(key.casefold(), key)
                if name in fields and (name == key or name not in value):
                    read, empty = fields[name]
                    written = read(item)
                    if written or empty == _NEVER or (empty == _WHEN_NONE and written is not None):
                        result[name] = written
        except Mismatch as error:
            raise error.within(f".{name}") from None
        for name, read in always:
            if name not in result:
                result[name] = read(None)
        return result

    return convert


def _fields(type_name: str) -> Iterator[tuple[str, tuple[Convert, int]]]:
    """Name -> how it is read, and when it is left out."""
    for name, omits_empty, of in STRUCTS[type_name]:
        convert, empty = _converter(of)
        yield name, (convert, empty if omits_empty else _NEVER)


def unknown_fields(type_name: str, value: Any) -> list[str]:
    """The paths, as `.spec.replicas`, of fields in a value that the named type and its parts do not have: they are dropped."""
    form, of = split_type(type_name.removeprefix(POINTER))
    found: list[str] = []
    if form == LIST and isinstance(value, list):
        for index, item in enumerate(value):
            found += [f"[{index}]{path}" for path in unknown_fields(of, item)]
    elif form == MAP and isinstance(value, dict):
        for key, item in value.items():
            found += [f".{key}{path}" for path in unknown_fields(of, item)]
    elif not form and of in STRUCTS and isinstance(value, dict):
        types = {each.name.casefold(): each.type_name for each in STRUCTS[of]}
        for key, item in value.items():
            inner = types.get(key.casefold())
            found += [f".{key}"] if inner is None else [f".{key}{path}" for path in unknown_fields(inner, item)]
    return found


def canonical(text: str) -> str:
    """`1000m` -> `1`, `1024Mi` -> `1Gi`, `0.5` -> `500m`, `1000` -> `1k`. Raises ValueError on what is no quantity."""
    match = _QUANTITY.fullmatch(text.strip())
    if match is None or len(text) > _MAX_CHARACTERS:
        raise ValueError(f"{text[:_MAX_CHARACTERS]!r} is no quantity such as 100m, 1.5 or 64Mi")
    suffix = match["suffix"]
    value = Fraction(match["sign"] + match["digits"].rstrip("."))
    if suffix in _BINARY[1:]:
        return _binary(value * 1024 ** _BINARY.index(suffix))
    if suffix in _DECIMAL_EXPONENT:
        return _decimal(value * Fraction(10) ** _DECIMAL_EXPONENT[suffix], scientific=False)
    exponent = int(suffix[1:])
    if abs(exponent) > 99:
        raise ValueError(f"{text[:_MAX_CHARACTERS]!r} has an exponent beyond 99")
    return _decimal(value * Fraction(10) ** exponent, scientific=True)


def _binary(value: Fraction) -> str:
    if abs(value) < 1024 or value.denominator != 1:
        return _decimal(value, scientific=False)
    number, power = value.numerator, 0
    while number % 1024 == 0 and power < len(_BINARY) - 1:
        number, power = number // 1024, power + 1
    return f"{number}{_BINARY[power]}"


def _decimal(value: Fraction, *, scientific: bool) -> str:
    nanos = value * 10**9
    number = -(-nanos.numerator // nanos.denominator) if nanos > 0 else nanos.numerator // nanos.denominator
    if number == 0:
        return "0"
    exponent = -9
    while number % 1000 == 0 and exponent < max(_DECIMAL):
        number, exponent = number // 1000, exponent + 3
    if scientific:
        return f"{number}e{exponent}" if exponent else str(number)
    return f"{number}{_DECIMAL[exponent]}"
