"""The Go types of the table that have decoders of their own: quantities, ports, times, versions. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import orjson

from olmkit.gocompat.versions import BadVersion, parse_version


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A JSON value of another kind than the type's. `text` is there for an error that names neither."""

    kind: str
    type_name: str
    struct: str = ""
    path: tuple[str, ...] = ()
    text: str = ""

    def within(self, struct: str, path: tuple[str, ...]) -> Mismatch:
        """The error as the decoder of an outer struct reports it: its name, and the whole path."""
        return replace(self, struct=struct or self.struct, path=(*path, *self.path))

    def __str__(self) -> str:
        """Go's text."""
        place = f"Go struct field {self.struct}.{'.'.join(self.path)} of" if self.path else "Go value of"
        return self.text or f"json: cannot unmarshal {self.kind} into {place} type {self.type_name}"


@dataclass(frozen=True, slots=True)
class Refusal:
    """The error of a type with a decoder of its own. It ends the decoding of the whole value."""

    text: str


class Leaf(NamedTuple):
    """A type: the error for a value (None for a right one), and the pattern of texts that are right for certain."""

    problem: Callable[[Any], Mismatch | Refusal | None]
    plain: str


_QUANTITY_FORM = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_QUANTITY_SUFFIX = "unable to parse quantity's suffix"
_NUMBER = re.compile(r"[+-]?[0-9]*(?:\.[0-9]*)?")
_LETTERS = "eEinumkKMGTP"
_SUFFIXES = frozenset(("", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"))
_EXPONENT = re.compile(r"[eE][+-]?[0-9]+")
_RFC3339 = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]+)?(?:Z|[+-][0-9]{2}:[0-9]{2})"
)
_NO_NUMBER = re.compile(r'Invalid character\(s\) found in (?:major|minor|patch) number ""')
_TOO_LARGE = re.compile(r'(?:Major|Minor|Patch|Prerelease) number is too large ("[0-9]+")')
_LAYOUT = "2006-01-02T15:04:05Z07:00"
_PARTS = (
    (r"[0-9]{4}", "2006"), ("-", "-"), (r"[0-9]{2}", "01"), ("-", "-"), (r"[0-9]{2}", "02"), ("T", "T"),
    (r"[0-9]{2}", "15"), (":", ":"), (r"[0-9]{2}", "04"), (":", ":"), (r"[0-9]{2}(?:[.,][0-9]+)?", "05"),
    (r"Z|[+-][0-9]{2}:[0-9]{2}", "Z07:00"),
)  # fmt: skip
"""The parts of a time, and their names in Go."""


def json_kind(value: Any) -> str:
    """The kind of a JSON value as Go names it: string, number, bool, array, object."""
    kinds = {bool: "bool", str: "string", list: "array", dict: "object"}
    return kinds.get(type(value), "number")


def quantity_error(text: str) -> str:
    """The error of Kubernetes for a text that is no quantity; "" for a quantity. A suffix alone is zero."""
    if not text:
        return _QUANTITY_FORM
    match = _NUMBER.match(text)
    number = match[0] if match else ""
    rest = text[len(number) :]
    letters = len(rest) - len(rest.lstrip(_LETTERS))
    digits = rest[letters:].removeprefix("-" if rest[letters : letters + 1] == "-" else "+").lstrip("0123456789")
    if digits:
        return _QUANTITY_FORM
    return "" if rest in _SUFFIXES or _EXPONENT.fullmatch(rest) else _QUANTITY_SUFFIX


def _quantity(value: Any) -> Mismatch | Refusal | None:
    if value is None:
        return None
    text = value if isinstance(value, str) else orjson.dumps(value).decode()
    problem = quantity_error(text.strip())
    return Refusal(problem) if problem else None


def _int_or_string(value: Any) -> Mismatch | Refusal | None:
    if value is None or isinstance(value, str):
        return None
    if type(value) is int and -(2**31) <= value < 2**31:
        return None
    kind = json_kind(value)
    return Mismatch(f"number {orjson.dumps(value).decode()}" if kind == "number" else kind, "int32")


def _time(value: Any) -> Mismatch | Refusal | None:
    if value is None:
        return None
    if not isinstance(value, str):
        return Mismatch(json_kind(value), "string")
    if _RFC3339.fullmatch(value):
        return None
    at = 0
    for pattern, name in _PARTS:
        match = re.compile(pattern).match(value, at)
        if match is None:
            return Refusal(f'parsing time "{value}" as "{_LAYOUT}": cannot parse "{value[at:]}" as "{name}"')
        at = match.end()
    return Refusal(f'parsing time "{value}": extra text: "{value[at:]}"')


def _version(value: Any) -> Mismatch | Refusal | None:
    if value is not None and not isinstance(value, str):
        return Mismatch(json_kind(value), "string")
    problem = tolerant_version_error(value or "")
    return Refusal(problem) if problem else None


def tolerant_version_error(text: str) -> str:
    """The error of blang/semver for a text that its tolerant parser refuses; "" for a version. It puts a zero before a part that
    begins with no digit."""
    parts = [_padded(part) for part in text.strip().removeprefix("v").split(".", 2)]
    if len(parts) < 3 and any(mark in parts[-1] for mark in "-+"):
        return "Short version cannot contain PreRelease/Build meta data"
    try:
        parse_version(".".join([*parts, "0", "0"][: max(3, len(parts))]))
    except BadVersion as error:
        message = str(error)
        if _NO_NUMBER.fullmatch(message):
            return 'strconv.ParseUint: parsing "": invalid syntax'
        if match := _TOO_LARGE.fullmatch(message):
            return f"strconv.ParseUint: parsing {match[1]}: value out of range"
        return message
    return ""


def _padded(part: str) -> str:
    if len(part) < 2:
        return part
    stripped = part.lstrip("0")
    return stripped if stripped[:1].isdigit() and stripped.isascii() else f"0{stripped}"


LEAVES: Final = {
    "quantity": Leaf(_quantity, r"^[0-9]+(\.[0-9]+)?(m|k|M|G|T|Ki|Mi|Gi|Ti)?$"),
    "intorstring": Leaf(_int_or_string, ""),
    "time": Leaf(_time, rf"^{_RFC3339.pattern}$"),
    "version": Leaf(_version, r"^(0|[1-9][0-9]{0,17})\.(0|[1-9][0-9]{0,17})\.(0|[1-9][0-9]{0,17})$"),
}
