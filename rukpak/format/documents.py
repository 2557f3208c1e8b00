"""YAML or JSON bytes -> the documents in them, as plain dicts, lists and scalars. Called by rukpak.format only. Pure.

The dialect is YAML 1.1 as Kubernetes tools read it: y, yes, on are booleans; `=`, dates and 1:30 are strings; 010 is 8, 0o10
too; 1.0 is 1; keys are strings whatever they look like; of two equal keys the last wins, merged ones too. Parsing is libyaml's;
what a scalar means is decided here. Never loads a Python object, and refuses what only eats memory: depth, aliases that multiply.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
from collections.abc import Callable, Iterator
from typing import Any

import orjson
import yaml
from yaml.cyaml import CParser  # type: ignore[attr-defined]
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    StreamEndEvent,
)

from olmkit.gocompat.yaml_scalars import is_merge

DEPTH_LIMIT = 200
"""Levels of nesting; the writer of JSON ends at 254."""
WEIGHT_LIMIT = 32 * 1024**2
"""Bytes, about, of one file's values as JSON, those that aliases repeat counted each time."""

Event = Any
"""One of libyaml's events: the classes of yaml.events share too little to be told apart by type."""

_TAG = "tag:yaml.org,2002:"
_INT = re.compile(r"[-+]?(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_WORDS: dict[str, Any] = dict.fromkeys(("", "~", "null", "Null", "NULL"), None)
_WORDS |= dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True)
_WORDS |= dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False)
_INFINITE = dict.fromkeys(
    (".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF", "-.inf", "-.Inf", "-.INF", ".nan", ".NaN", ".NAN")
)
_NUMBER_STARTS = frozenset("+-.0123456789")
_LARGEST_INT = 2**63
_PUNCTUATION = 4
"""Bytes of JSON around a value: quotes, comma, colon, brackets."""


class DocumentError(Exception):
    """The text cannot be read; the message says where: line and column, counted from 1."""


def read(data: bytes) -> list[Any]:
    """All documents of one file in order, empty ones left out. Raises DocumentError."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DocumentError(f"line {line}: not UTF-8 text") from error
    if text.lstrip()[:1] in ("{", "["):
        documents = _json_documents(text)
        if documents is not None:
            return documents
    try:
        return [document for document in _Reader(text).documents() if document is not None]
    except yaml.MarkedYAMLError as error:
        raise DocumentError(_yaml_problem(error)) from error
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise DocumentError(f"line {line}: {error.reason} (U+{error.character:04X})") from error
    except yaml.YAMLError as error:
        raise DocumentError(str(error).replace("\n", " ")) from error


def _yaml_problem(error: yaml.MarkedYAMLError) -> str:
    mark = error.problem_mark or error.context_mark
    where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
    what = ", ".join(part for part in (error.context, error.problem) if part)
    return where + what


def _json_documents(text: str) -> list[Any] | None:
    """Objects one after the other; None when this is no JSON (it may still be YAML in flow style)."""
    try:
        return [_bounded(orjson.loads(text))]
    except orjson.JSONDecodeError:
        pass
    decoder = json.JSONDecoder(parse_constant=_no_constant)
    documents: list[Any] = []
    position = 0
    try:
        while position < len(text):
            document, position = decoder.raw_decode(text, position)
            documents.append(_bounded(document))
            while position < len(text) and text[position].isspace():
                position += 1
        orjson.dumps(documents)
    except (ValueError, RecursionError):
        return None
    except TypeError as error:
        raise DocumentError(
            "a text holds half of a surrogate pair (\\ud800 to \\udfff), which is no character"
        ) from error
    return documents


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _bounded(value: Any, depth: int = 0) -> Any:
    """The value with whole floats as integers, as all numbers are read.

    Raises DocumentError when nested too deep, ValueError for a number beyond all floats.
    """
    if depth > DEPTH_LIMIT:
        raise DocumentError(f"nested deeper than {DEPTH_LIMIT} levels")
    if isinstance(value, dict):
        return {key: _bounded(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_bounded(item, depth + 1) for item in value]
    if isinstance(value, float | int) and not isinstance(value, bool):
        return _number(value)
    return value


def _number(value: float) -> float:
    """Whole numbers as int, those beyond 64 bits as float. Raises ValueError for those beyond all floats."""
    if isinstance(value, int) and -_LARGEST_INT <= value < _LARGEST_INT:
        return value
    try:
        number = float(value)
    except OverflowError as error:
        raise ValueError("too large for a number") from error
    if not math.isfinite(number):
        raise ValueError("too large for a number")
    return int(number) if isinstance(value, float) and number.is_integer() and abs(number) < _LARGEST_INT else number


def plain(text: str) -> Any:
    """What an unquoted scalar means: None, bool, int, float or the text itself, as for numbers beyond all floats."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _NUMBER_STARTS:
        return text
    digits = text.replace("_", "")
    try:
        if _INT.fullmatch(digits):
            return _number(_integer(digits))
        if _FLOAT.fullmatch(digits):
            return _number(float(digits))
    except ValueError:  # Python reads no more than 4,300 digits
        return text
    return text


def _integer(digits: str) -> int:
    """As Go reads an integer with a prefix: 0x, 0o, 0b, and a leading 0 for octal."""
    sign = -1 if digits[0] == "-" else 1
    body = digits.lstrip("+-").lower()
    if body.startswith("0") and len(body) > 1 and body[1] in "01234567":
        return sign * int(body, 8)
    return sign * int(body, 0)


class _Reader:
    """Builds values out of libyaml's events; one for each file."""

    def __init__(self, text: str) -> None:
        self._parser = CParser(text)
        self._next: Callable[[], Event] = self._parser.get_event
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._weight = 0

    def documents(self) -> Iterator[Any]:
        while True:
            event = self._next()
            if event.__class__ is StreamEndEvent:
                return
            if event.__class__ is DocumentStartEvent:
                self._anchors = {}
                yield self._value(self._next(), 0)
                self._next()  # the end of the document

    def _value(self, event: Event, depth: int) -> Any:
        kind = event.__class__
        if kind is ScalarEvent:
            weight = len(event.value) + _PUNCTUATION
            self._add(weight, event)
            value = self._scalar(event)
            if event.anchor is not None:
                self._anchors[event.anchor] = (value, weight)
            return value
        if kind is AliasEvent:
            return self._alias(event)
        if depth >= DEPTH_LIMIT:
            raise DocumentError(f"line {event.start_mark.line + 1}: nested deeper than {DEPTH_LIMIT} levels")
        before = self._weight
        value = self._mapping(depth) if kind is MappingStartEvent else self._sequence(depth)
        self._add(_PUNCTUATION, event)
        if event.anchor is not None:
            self._anchors[event.anchor] = (value, self._weight - before)
        return value

    def _add(self, weight: int, event: Event) -> None:
        self._weight += weight
        if self._weight > WEIGHT_LIMIT:
            megabytes = WEIGHT_LIMIT // 1024**2
            raise DocumentError(
                f"line {event.start_mark.line + 1}: the file makes more than {megabytes} MiB, aliases counted each time"
            )

    def _alias(self, event: Event) -> Any:
        if event.anchor not in self._anchors:
            raise DocumentError(f"line {event.start_mark.line + 1}: alias *{event.anchor} has no anchor before it")
        value, weight = self._anchors[event.anchor]
        self._add(weight, event)
        return value

    def _sequence(self, depth: int) -> list[Any]:
        items: list[Any] = []
        following = self._next
        while (event := following()).__class__ is not SequenceEndEvent:
            items.append(self._value(event, depth + 1))
        return items

    def _mapping(self, depth: int) -> dict[str, Any]:
        result: dict[str, Any] = {}
        following = self._next
        while (event := following()).__class__ is not MappingEndEvent:
            if event.__class__ is ScalarEvent and is_merge(event.value, event.tag, event.implicit[0]):
                for source in _merge_sources(self._value(following(), depth + 1), event):
                    result.update(source)
            else:
                key = self._key(event, depth)
                result[key] = self._value(following(), depth + 1)
        return result

    def _key(self, event: Event, depth: int) -> str:
        key = self._value(event, depth + 1)
        if isinstance(key, str):
            return key
        if isinstance(key, bool):
            return "true" if key else "false"
        if isinstance(key, int | float):
            return str(key)
        raise DocumentError(f"line {event.start_mark.line + 1}: a key must be text")

    def _scalar(self, event: Event) -> Any:
        text: str = event.value
        tag = event.tag
        if tag is None:
            if not event.implicit[0]:
                return text
            if text in _INFINITE:
                raise DocumentError(f"line {event.start_mark.line + 1}: {text} is no number that JSON can hold")
            return plain(text)
        return _tagged(tag, event)


def _merge_sources(value: Any, event: Event) -> list[dict[str, Any]]:
    """The mappings in the order in which they are taken over: of several in a list the first wins."""
    sources = value[::-1] if isinstance(value, list) else [value]
    if not all(isinstance(source, dict) for source in sources):
        raise DocumentError(f"line {event.start_mark.line + 1}: << needs a mapping or a list of mappings")
    return sources


def _tagged(tag: str, event: Event) -> Any:
    """A scalar whose kind is said by a tag; tags that are not YAML's own make text."""
    name = tag.removeprefix(_TAG)
    text: str = event.value
    if name == "binary":
        try:
            return base64.b64decode(text).decode()
        except (binascii.Error, UnicodeDecodeError) as error:
            raise DocumentError(f"line {event.start_mark.line + 1}: !!binary holds no UTF-8 text in base64") from error
    wanted: dict[str, tuple[type, ...]] = {"int": (int,), "float": (int, float), "bool": (bool,), "null": (type(None),)}
    if name not in wanted:
        return text
    value = plain(text)
    if not isinstance(value, wanted[name]) or (isinstance(value, bool) and name != "bool"):
        raise DocumentError(f"line {event.start_mark.line + 1}: {text[:100]!r} is no !!{name}")
    return value
