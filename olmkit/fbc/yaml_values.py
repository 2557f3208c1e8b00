"""One YAML document to a JSON value, read as go-yaml v2 reads it: the dialect of file-based catalogs (formats 1.2).

Called by olmkit.fbc.documents; the reference that any faster reader has to equal. libyaml makes the events; values are built
here without recursion, so that depth and what aliases grow to are bounded before anything large exists. Pure.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import orjson
import yaml
from yaml._yaml import CParser

from olmkit.fbc.errors import BadDocument
from olmkit.fbc.numbers import float_text, integer, real

DEPTH_LIMIT = 250
"""Levels of mappings and sequences; orjson writes no more than 254."""

_TAG = "tag:yaml.org,2002:"
_WORDS: Final[dict[str, bool | None]] = {
    "": None,
    "~": None,
    **dict.fromkeys(("null", "Null", "NULL"), None),
    **{form: True for word in ("y", "yes", "true", "on") for form in (word, word.title(), word.upper())},
    **{form: False for word in ("n", "no", "false", "off") for form in (word, word.title(), word.upper())},
}
_UNWRITABLE = frozenset(sign + form for sign in ("", "+", "-") for form in (".inf", ".Inf", ".INF")) | {
    ".nan",
    ".NaN",
    ".NAN",
}
_NUMERIC = frozenset("+-.0123456789")
_INTEGER = re.compile(
    r"(?P<sign>[-+]?)"
    r"(?:0[xX](?P<hex>[0-9a-fA-F]+)|0[bB](?P<bin>[01]+)|0[oO]?(?P<oct>[0-7]+)|(?P<dec>0|[1-9][0-9]*))"
)
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_BASES = {"hex": 16, "bin": 2, "oct": 8}


def load(text: bytes, weight_limit: int) -> Any:
    """The first document of `text`; None when it holds nothing but comments.

    Mappings come as dicts with string keys, numbers as olmkit.fbc.numbers holds them. `weight_limit` bounds about how many
    bytes the value takes when its aliases are written out. Raises BadDocument with a place within `text`.
    """
    parser = CParser(text)
    try:
        return _Composer(parser, weight_limit).compose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        sentence = ", ".join(part for part in (error.context, error.problem) if part)
        raise BadDocument(sentence, *((mark.line + 1, mark.column + 1) if mark else ())) from error
    except yaml.YAMLError as error:
        raise _reader_fault(error, text) from error
    finally:
        parser.dispose()


def _reader_fault(error: yaml.YAMLError, text: bytes) -> BadDocument:
    """libyaml's complaint about a byte or character that no YAML may hold; its offset counts bytes."""
    if not isinstance(error, yaml.reader.ReaderError):
        return BadDocument(str(error))
    line_start = text.rfind(b"\n", 0, error.position) + 1
    return BadDocument(str(error.reason), text.count(b"\n", 0, error.position) + 1, error.position - line_start + 1)


def resolve(text: str) -> Any:
    """The value of a plain scalar: null, bool, int, a number as text, or the string itself. Raises ValueError for NaN and Inf."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _NUMERIC:
        return text
    if text in _UNWRITABLE:
        raise ValueError(f"{text} has no form in JSON")
    return _number(text)


def _number(text: str) -> Any:
    plain = text if text[0] == "." else text.replace("_", "")
    if match := _INTEGER.fullmatch(plain):
        value = _integer(match)
        if value is not None:
            return value
    if _FLOAT.fullmatch(plain):
        try:
            return real(plain)
        except ValueError:
            return text
    return text


def _integer(match: re.Match[str]) -> int | orjson.Fragment | None:
    sign = match["sign"].replace("+", "")
    if match["dec"]:
        return integer(sign + match["dec"])
    base = match.lastgroup or ""
    value = int(sign + match[base], _BASES[base])
    return value if -(2**63) <= value < 2**64 else None


@dataclass(slots=True)
class _Open:
    """A mapping or sequence whose end has not come yet."""

    value: Any
    anchor: str | None
    key: Any
    weight: int = 1


_NO_KEY, _MERGE = object(), object()


class _Composer:
    """Events to one value, with an explicit stack."""

    def __init__(self, parser: CParser, weight_limit: int) -> None:
        self._parser = parser
        self._limit = weight_limit
        self._open: list[_Open] = []
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._result: Any = None
        self._handlers: dict[type[Any], Callable[[Any], None]] = {
            yaml.ScalarEvent: self._scalar,
            yaml.MappingStartEvent: self._start_mapping,
            yaml.SequenceStartEvent: self._start_sequence,
            yaml.MappingEndEvent: self._end,
            yaml.SequenceEndEvent: self._end,
            yaml.AliasEvent: self._alias,
        }

    def compose(self) -> Any:
        """The value of the first document."""
        get_event, handlers = self._parser.get_event, self._handlers
        while True:
            event = get_event()
            handler = handlers.get(type(event))
            if handler is not None:
                handler(event)
            elif event is None or isinstance(event, yaml.DocumentEndEvent | yaml.StreamEndEvent):
                return self._result

    def _scalar(self, event: Any) -> None:
        text: str = event.value
        plain: bool = event.implicit[0]
        if plain and text == "<<" and self._expects_key():
            self._open[-1].key = _MERGE
            return
        try:
            value = resolve(text) if plain else text if event.tag is None else _tagged(event.tag, text)
        except ValueError as error:
            raise _fault(event, str(error)) from error
        self._add(event, value, len(text) + 1, event.anchor)

    def _expects_key(self) -> bool:
        return bool(self._open) and self._open[-1].key is _NO_KEY and type(self._open[-1].value) is dict

    def _start_mapping(self, event: Any) -> None:
        self._start(event, {})

    def _start_sequence(self, event: Any) -> None:
        self._start(event, [])

    def _start(self, event: Any, value: Any) -> None:
        if len(self._open) >= DEPTH_LIMIT:
            raise _fault(event, f"nests deeper than {DEPTH_LIMIT} levels")
        if self._expects_key():
            raise _fault(event, "a mapping's key must be a scalar")
        self._open.append(_Open(value, event.anchor, _NO_KEY))
        if event.anchor is not None:
            self._anchors.pop(event.anchor, None)

    def _end(self, event: Any) -> None:
        done = self._open.pop()
        self._add(event, done.value, done.weight, done.anchor)

    def _alias(self, event: Any) -> None:
        name = event.anchor
        if name in self._anchors:
            self._add(event, *self._anchors[name], None)
        elif any(frame.anchor == name for frame in self._open):
            raise _fault(event, f"anchor {name!r} contains itself")
        else:
            raise _fault(event, f"unknown anchor {name!r}")

    def _add(self, event: Any, value: Any, weight: int, anchor: str | None) -> None:
        """Put a finished value where it belongs."""
        if anchor is not None:
            self._anchors[anchor] = (value, weight)
        if not self._open:
            self._result = value
            return
        frame = self._open[-1]
        frame.weight += weight
        if frame.weight > self._limit:
            raise _fault(event, f"grows beyond {self._limit} bytes when its aliases are written out")
        if type(frame.value) is list:
            frame.value.append(value)
        elif frame.key is _NO_KEY:
            frame.key = _key(event, value)
        elif frame.key is _MERGE:
            frame.key = _NO_KEY
            _merge(event, frame.value, value)
        else:
            frame.value[frame.key] = value
            frame.key = _NO_KEY


def _fault(event: Any, text: str) -> BadDocument:
    return BadDocument(text, event.start_mark.line + 1, event.start_mark.column + 1)


def _tagged(tag: str, text: str) -> Any:
    """A scalar with an explicit tag, or a quoted one (no tag). Tags that are not YAML's own leave the text as it is."""
    match tag.removeprefix(_TAG) if tag.startswith(_TAG) else "":
        case "int" | "bool" | "null" | "float" as name:
            value = resolve(text) if text or name == "null" else text
            if name == "float" and isinstance(value, int) and not isinstance(value, bool):
                return orjson.Fragment(float_text(float(value)).encode())
            if _kind(value) != name:
                raise ValueError(f"cannot read `{text}` as !!{name}")
            return value
        case "binary":
            return _binary(text)
        case _:
            return text


def _kind(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "bool"
        case int():
            return "int"
        case str():
            return "str"
        case _:
            return "float"


def _binary(text: str) -> str:
    try:
        return base64.b64decode("".join(text.split()), validate=True).decode(errors="replace")
    except binascii.Error as error:
        raise ValueError("!!binary value is no base64") from error


def _key(event: Any, value: Any) -> str:
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case orjson.Fragment():
            return orjson.dumps(value).decode()
        case _:
            raise _fault(event, "a mapping's key must be a string, number or boolean")


def _merge(event: Any, into: dict[str, Any], value: Any) -> None:
    """`<<`: as go-yaml v2 does, in place: what comes later in the mapping wins, in a list what comes earlier."""
    sources = reversed(value) if isinstance(value, list) else (value,)
    for source in sources:
        if not isinstance(source, dict):
            raise _fault(event, "map merge requires map or sequence of maps as the value")
        into.update(source)
