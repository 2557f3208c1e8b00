"""One YAML document to a JSON value, read as go-yaml v2 reads it: the dialect of file-based catalogs (formats 1.2).

Called by olmkit.fbc.documents; the reference that any faster reader has to equal. libyaml makes the events; values are built
here without recursion, so that depth and what aliases grow to are bounded before anything large exists. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import yaml
from yaml._yaml import CParser

from olmkit.fbc.errors import BadDocument
from olmkit.gocompat.excerpts import excerpt_before, shorten
from olmkit.gocompat.yaml_scalars import is_merge, key, resolve, resolve_key, tagged

MAX_DEPTH = 250
"""Levels of mappings and sequences; orjson writes no more than 254."""
MAX_VALUES = 200_000
"""Values and keys of one document, aliases not written out. Each takes a few hundred bytes of memory, however short it is."""

_MARK_IN_TEXT = re.compile(rb"(?:[\n\r]|\xc2\x85|\xe2\x80[\xa8\xa9])(\xef\xbb\xbf)")
"""A byte order mark that libyaml would not read and that is text to go-yaml v2."""


def load(text: bytes, weight_limit: int) -> Any:
    """The first document of `text`; None when it holds nothing but comments.

    Mappings come as dicts with string keys, numbers as olmkit.gocompat.numbers holds them. `weight_limit` bounds about how many
    bytes the value takes when its aliases are written out. Raises BadDocument with a place within `text`.
    """
    if found := _MARK_IN_TEXT.search(text):
        at = len(_decoded(text[: found.start(1)]))
        raise _placed("a byte order mark begins a line: take it out", text, at)
    parser = CParser(text)
    try:
        return _Composer(text, parser, weight_limit).compose()
    except _Fault as error:
        raise _placed(str(error), text, error.at) from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        sentence = ", ".join(part for part in (error.context, error.problem) if part)
        raise _placed(sentence, text, mark.index if mark else None) from error
    except yaml.reader.ReaderError as error:
        # libyaml's complaint about a byte or character that no YAML may hold; its offset counts bytes.
        raise _placed(str(error.reason), text, len(_decoded(text[: error.position]))) from error
    except yaml.YAMLError as error:
        raise BadDocument(shorten(str(error))) from error
    finally:
        parser.dispose()


class _Fault(ValueError):
    """What is wrong at a character of the text, as libyaml counts them: from 0, without a byte order mark at the start."""

    def __init__(self, sentence: str, at: int) -> None:
        super().__init__(sentence)
        self.at = at


def _placed(sentence: str, text: bytes, at: int | None) -> BadDocument:
    """That fault with its line and column, as editors count them, which know fewer line breaks than YAML."""
    if at is None:
        return BadDocument(sentence)
    decoded = _decoded(text)
    start = decoded.rfind("\n", 0, at) + 1
    return BadDocument(f"{sentence}: {excerpt_before(decoded, at)}", decoded.count("\n", 0, at) + 1, at - start + 1)


def _decoded(text: bytes) -> str:
    return text.decode("utf-16" if text.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig", errors="replace")


@dataclass(slots=True)
class _Open:
    """A mapping or sequence whose end has not come yet."""

    value: Any
    anchor: str | None
    key: Any
    weight: int = 1


_NO_KEY, _MERGE = object(), object()
_MARK = re.compile(rb"!(?=[\s,\x80-\xff]|\Z)")


class _Composer:
    """Events to one value, with an explicit stack."""

    def __init__(self, text: bytes, parser: CParser, weight_limit: int) -> None:
        # libyaml does not tell of the tag `!`, which makes a string: that one stands before a scalar is looked up here.
        self._has_mark = _MARK.search(text) is not None
        self._text = text
        self._decoded = ""
        self._parser = parser
        self._limit = weight_limit
        self._count = 0
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
        is_key = self._expects_key()
        if is_key and is_merge(text, event.tag, event.implicit[0]):
            self._open[-1].key = _MERGE
            return
        try:
            value = self._value(event, text, is_key)
        except _Fault:
            raise
        except ValueError as error:
            raise _fault(event, str(error)) from error
        self._add(event, value, len(text) + 1, event.anchor)

    def _value(self, event: Any, text: str, is_key: bool) -> Any:
        if not (text or event.style) and event.end_mark.index > event.start_mark.index:
            self._check_tag(event)
        if event.tag is not None:
            return tagged(event.tag, text)
        if not event.implicit[0] or event.style:
            return text
        if self._has_mark and "!" in self._source()[event.start_mark.index : event.end_mark.index]:
            return text
        return resolve_key(text) if is_key else resolve(text)

    def _source(self) -> str:
        """The text by characters, as marks count them; most documents are read without."""
        self._decoded = self._decoded or _decoded(self._text)
        return self._decoded

    def _check_tag(self, event: Any) -> None:
        """Refuse a tag that touches a comma in flow style: to go-yaml v2 the comma is part of it, and the next value is its."""
        source, end = self._source(), event.end_mark.index
        properties = source[event.start_mark.index : end].split()
        if properties and properties[-1].startswith("!") and source.startswith(",", end):
            raise _Fault("a tag touches a comma: put a blank between them", end)

    def _expects_key(self) -> bool:
        return bool(self._open) and self._open[-1].key is _NO_KEY and type(self._open[-1].value) is dict

    def _start_mapping(self, event: Any) -> None:
        self._start(event, {})

    def _start_sequence(self, event: Any) -> None:
        self._start(event, [])

    def _start(self, event: Any, value: Any) -> None:
        if len(self._open) >= MAX_DEPTH:
            raise _fault(event, f"nests deeper than {MAX_DEPTH} levels")
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
            raise _fault(event, f"anchor '{shorten(name)}' contains itself")
        else:
            raise _fault(event, f"unknown anchor '{shorten(name)}'")

    def _add(self, event: Any, value: Any, weight: int, anchor: str | None) -> None:
        """Put a finished value where it belongs."""
        self._count += 1
        if self._count > MAX_VALUES:
            raise _fault(event, f"holds more than {MAX_VALUES:,} values")
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
            try:
                frame.key = key(value)
            except ValueError as error:
                raise _fault(event, str(error)) from error
        elif frame.key is _MERGE:
            frame.key = _NO_KEY
            _merge(event, frame.value, value)
        else:
            frame.value[frame.key] = value
            frame.key = _NO_KEY


def _fault(event: Any, sentence: str) -> _Fault:
    return _Fault(sentence, event.start_mark.index)


def _merge(event: Any, into: dict[str, Any], value: Any) -> None:
    """`<<`: as go-yaml v2 does, in place: what comes later in the mapping wins, in a list what comes earlier."""
    sources = reversed(value) if isinstance(value, list) else (value,)
    for source in sources:
        if not isinstance(source, dict):
            raise _fault(event, "map merge requires map or sequence of maps as the value")
        into.update(source)
