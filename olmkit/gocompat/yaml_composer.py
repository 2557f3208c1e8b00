"""YAML to JSON values, as go-yaml v2 reads it, which is what sigs.k8s.io/yaml and with it opm, kubectl and rukpak's upstream use.

The reference for olmkit.gocompat.yaml_reader, which calls this module for every text that its faster parser may read differently.
libyaml makes the events; values are built here without recursion, so that depth, and what aliases expand to, are limited before
anything large exists. Never opens a file and never makes an object of a tag. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import yaml
from yaml._yaml import CParser

from olmkit.gocompat.numbers import int64_or_float64
from olmkit.gocompat.parse_errors import ParseError, excerpt_before, shorten
from olmkit.gocompat.yaml_scalars import is_merge, key, resolve, resolve_key, tagged

MAX_DEPTH = 250
"""Levels of mappings and sequences; orjson writes no more than 254."""

_MARK_IN_TEXT = re.compile(rb"(?:[\n\r]|\xc2\x85|\xe2\x80[\xa8\xa9])(\xef\xbb\xbf)")
"""A byte order mark that libyaml skips and that is text to go-yaml v2."""


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """The options in which the callers of the YAML reader differ. All read the same language."""

    max_bytes: int
    """About how many bytes the values of one text may take as JSON, aliases expanded."""
    max_depth: int = MAX_DEPTH
    """Levels of mappings and sequences."""
    max_values: int | None = None
    """Values and keys of one text, aliases not expanded; None is no limit. Each takes a few hundred bytes of memory."""
    bytes_per_value: int = 1
    """The bytes that `max_bytes` counts for each value in addition to its text."""
    exact_numbers: bool = True
    """Numbers as olmkit.gocompat.numbers holds them, which keeps every digit; False: int64, else float64, as Kubernetes' own
    decoder of objects holds them."""
    text_in_binary: bool = False
    """Refuse `!!binary` that is not UTF-8; False: U+FFFD replaces such bytes, as in Go."""


def compose(text: bytes, options: ReadOptions) -> Any:
    """The first document of `text`; None when it contains only comments.

    Mappings are dicts with string keys. Of equal keys the last one counts. Raises ParseError with a place within `text`.
    """
    return next(_composed(text, options), None)


def compose_all(text: bytes, options: ReadOptions) -> list[Any]:
    """All documents of `text` in order, without empty ones. Raises ParseError with a place within `text`."""
    return [document for document in _composed(text, options) if document is not None]


def _composed(text: bytes, options: ReadOptions) -> Iterator[Any]:
    if found := _MARK_IN_TEXT.search(text):
        at = len(_decoded(text[: found.start(1)]))
        raise _placed("a byte order mark begins a line: remove it", text, at)
    parser = CParser(text)
    try:
        yield from _Composer(text, parser, options).documents()
    except _Fault as error:
        raise _placed(str(error), text, error.at) from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        sentence = ", ".join(part for part in (error.context, error.problem) if part)
        raise _placed(_with_character(sentence, text, mark), text, mark.index if mark else None) from error
    except yaml.reader.ReaderError as error:
        # libyaml's error for a byte or character that no YAML may hold; its offset counts bytes.
        raise _placed(str(error.reason), text, len(_decoded(text[: error.position]))) from error
    except yaml.YAMLError as error:
        raise ParseError(shorten(str(error))) from error
    finally:
        parser.dispose()


class _Fault(ValueError):
    """An error at a character of the text, as libyaml counts them: from 0, without a byte order mark at the start."""

    def __init__(self, sentence: str, at: int) -> None:
        super().__init__(sentence)
        self.at = at


def _placed(sentence: str, text: bytes, at: int | None) -> ParseError:
    """The error with its line and column as editors count them, which have fewer line breaks than YAML."""
    if at is None:
        return ParseError(sentence)
    decoded = _decoded(text)
    start = decoded.rfind("\n", 0, at) + 1
    excerpt = f": {excerpt_before(decoded, at)}" if decoded[:at].strip() else ""
    return ParseError(f"{sentence}{excerpt}", decoded.count("\n", 0, at) + 1, at - start + 1)


def _with_character(sentence: str, text: bytes, mark: yaml.Mark | None) -> str:
    """The sentence with the character that it is about: what is quoted ends before it."""
    character = _decoded(text)[mark.index : mark.index + 1] if mark is not None else ""
    return sentence.replace("found character that", f"found character {character!r}, which") if character else sentence


def _decoded(text: bytes) -> str:
    return text.decode("utf-16" if text.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig", errors="replace")


@dataclass(slots=True)
class _Open:
    """A mapping or sequence whose end has not been read. `start_bytes` is the count of bytes before it."""

    value: Any
    anchor: str | None
    key: Any
    start_bytes: int


_NO_KEY, _MERGE = object(), object()
_MARK = re.compile(rb"!(?=[\s,\x80-\xff]|\Z)")


class _Composer:
    """Builds values from the parser's events, with an explicit stack. One for each text."""

    def __init__(self, text: bytes, parser: CParser, options: ReadOptions) -> None:
        # libyaml does not report the tag `!`, which makes a string: whether it stands before a scalar is looked up here.
        self._has_mark = _MARK.search(text) is not None
        self._text = text
        self._decoded = ""
        self._parser = parser
        self._options = options
        self._count = 0
        self._bytes = 0
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

    def documents(self) -> Iterator[Any]:
        """The value of each document."""
        get_event, handlers = self._parser.get_event, self._handlers
        while True:
            event = get_event()
            handler = handlers.get(type(event))
            if handler is not None:
                handler(event)
            elif event is None or isinstance(event, yaml.StreamEndEvent):
                return
            elif isinstance(event, yaml.DocumentEndEvent):
                yield self._result
                self._result, self._anchors = None, {}

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
        size = len(text) + self._options.bytes_per_value
        if event.anchor is not None:
            self._anchors[event.anchor] = (value, size)
        self._add(event, value, size)

    def _value(self, event: Any, text: str, is_key: bool) -> Any:
        if not (text or event.style) and event.end_mark.index > event.start_mark.index:
            self._check_tag(event)
        if event.tag is not None:
            return tagged(event.tag, text, text_in_binary=self._options.text_in_binary)
        if not event.implicit[0] or event.style:
            return text
        if self._has_mark and "!" in self._source()[event.start_mark.index : event.end_mark.index]:
            return text
        return resolve_key(text) if is_key else resolve(text)

    def _source(self) -> str:
        """The text as characters, which marks count. Decoded at the first use, because most texts do not need it."""
        self._decoded = self._decoded or _decoded(self._text)
        return self._decoded

    def _check_tag(self, event: Any) -> None:
        """Refuse a tag before a comma in flow style: go-yaml v2 reads the comma as part of the tag, and tags the next value."""
        source, end = self._source(), event.end_mark.index
        properties = source[event.start_mark.index : end].split()
        if properties and properties[-1].startswith("!") and source.startswith(",", end):
            raise _Fault("a tag touches a comma: put a space between them", end)

    def _expects_key(self) -> bool:
        return bool(self._open) and self._open[-1].key is _NO_KEY and type(self._open[-1].value) is dict

    def _start_mapping(self, event: Any) -> None:
        self._start(event, {})

    def _start_sequence(self, event: Any) -> None:
        self._start(event, [])

    def _start(self, event: Any, value: Any) -> None:
        if len(self._open) >= self._options.max_depth:
            raise _fault(event, f"nests deeper than {self._options.max_depth} levels")
        if self._expects_key():
            raise _fault(event, "a mapping's key must be a scalar")
        self._open.append(_Open(value, event.anchor, _NO_KEY, self._bytes))
        if event.anchor is not None:
            self._anchors.pop(event.anchor, None)

    def _end(self, event: Any) -> None:
        done = self._open.pop()
        size = self._options.bytes_per_value
        if done.anchor is not None:
            self._anchors[done.anchor] = (done.value, self._bytes - done.start_bytes + size)
        self._add(event, done.value, size)

    def _alias(self, event: Any) -> None:
        name = event.anchor
        if name in self._anchors:
            self._add(event, *self._anchors[name])
        elif any(frame.anchor == name for frame in self._open):
            raise _fault(event, f"anchor '{shorten(name)}' contains itself")
        else:
            raise _fault(event, f"unknown anchor '{shorten(name)}'")

    def _add(self, event: Any, value: Any, size: int) -> None:
        """Add a complete value to the mapping or sequence that contains it, or use it as the next key."""
        self._measure(event, size)
        frame = self._open[-1] if self._open else None
        if frame is not None and frame.key is _NO_KEY and type(frame.value) is dict:
            try:
                frame.key = key(value)
            except ValueError as error:
                raise _fault(event, str(error)) from error
            return
        if not self._options.exact_numbers and type(value) not in (str, dict, list):
            value = int64_or_float64(value)
        if frame is None:
            self._result = value
        elif type(frame.value) is list:
            frame.value.append(value)
        elif frame.key is _MERGE:
            frame.key = _NO_KEY
            _merge(event, frame.value, value)
        else:
            frame.value[frame.key] = value
            frame.key = _NO_KEY

    def _measure(self, event: Any, size: int) -> None:
        """Count a value of this size in bytes, and check the limits."""
        self._count += 1
        self._bytes += size
        options = self._options
        if options.max_values is not None and self._count > options.max_values:
            raise _fault(event, f"holds more than {options.max_values:,} values")
        if self._bytes > options.max_bytes:
            raise _fault(event, f"exceeds {options.max_bytes:,} bytes when its aliases are expanded")


def _fault(event: Any, sentence: str) -> _Fault:
    return _Fault(sentence, event.start_mark.index)


def _merge(event: Any, into: dict[str, Any], value: Any) -> None:
    """Merge for the key `<<`, as go-yaml v2 does, in place: of equal keys the later one in the mapping counts, in a list the
    earlier one."""
    sources = reversed(value) if isinstance(value, list) else (value,)
    for source in sources:
        if not isinstance(source, dict):
            raise _fault(event, "map merge requires map or sequence of maps as the value")
        into.update(source)
