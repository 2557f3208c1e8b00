"""Finds the line of a key or an item in a YAML or JSON file, for findings.

Block style is followed by its indentation, without parsing, because a finding needs one line of a file that was parsed already.
Text in flow style, such as JSON, is followed by libyaml's events. Never fails: a path that is not there has the line of the
nearest part that is. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import yaml
from yaml._yaml import CParser

Path = Sequence[str | int]

_KEY = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s#'"{\[](?:[^:]|:(?=\S))*?)\s*:(?=\s|$)""")
_NO_CONTENT = 10**6
"""The indentation of a line without content: deeper than that of any line with content."""
_MAX_FLOW_BYTES = 4 * 1024**2
"""Bytes of the largest file in flow style that is followed; of a larger one every finding has line 1."""
_MAX_LINE = 10_000
"""Characters of a line that are searched for a key."""


class _Lines(NamedTuple):
    """The lines of a file, and the indentation of each."""

    texts: list[str]
    indents: list[int]


class _Start(NamedTuple):
    """The place where a collection or a scalar begins: an index of a line, and a column."""

    line: int
    column: int


def line_of(data: bytes, path: Path) -> int:
    """The line, from 1, of the value at a path of keys and indexes in the first document of a file."""
    if data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"["):
        return _flow_line(data, path)
    return _block_line(_lines(data), path) + 1


@lru_cache(maxsize=4)
def _lines(data: bytes) -> _Lines:
    texts = data.decode("utf-8-sig", errors="replace").split("\n")
    return _Lines(texts, [_indent(text) for text in texts])


def _indent(text: str) -> int:
    bare = text.lstrip(" ")
    return _NO_CONTENT if not bare or bare[0] in "#\r" else len(text) - len(bare)


def _block_line(lines: _Lines, path: Path) -> int:
    start = next((at for at, indent in enumerate(lines.indents) if _begins(lines, at, indent)), None)
    if start is None:
        return 0
    place, found = _Start(start, lines.indents[start]), start
    for step in path:
        after = _item(lines, place, step) if isinstance(step, int) else _key(lines, place, step)
        if after is None:
            return found
        found = after.line
        inner = _inner(lines, after, is_item=isinstance(step, int))
        if inner is None:
            return found
        place = inner
    return found


def _begins(lines: _Lines, at: int, indent: int) -> bool:
    """Report whether this line has content of a document."""
    return indent != _NO_CONTENT and not lines.texts[at].startswith(("---", "%"))


def _siblings(lines: _Lines, start: _Start) -> Any:
    """The indexes of the lines at the column of the collection that begins there, as far as it goes."""
    indents, column = lines.indents, start.column
    yield start.line
    for at in range(start.line + 1, len(indents)):
        indent = indents[at]
        if indent <= column:
            if indent < column or lines.texts[at].startswith(("---", "...")):
                return
            yield at


def _key(lines: _Lines, start: _Start, key: str) -> _Start | None:
    """The place after the colon of a key of the mapping that begins there."""
    for at in _siblings(lines, start):
        text = lines.texts[at]
        if key in text or text[start.column : start.column + 1] in ("'", '"'):
            match = _KEY.match(text[:_MAX_LINE], start.column)
            if match and _unquoted(match[1]) == key:
                return _Start(at, match.end())
    return None


def _unquoted(key: str) -> str:
    if key[:1] not in ("'", '"'):
        return key
    try:
        return str(yaml.load(key, Loader=yaml.CSafeLoader))
    except yaml.YAMLError:
        return key


def _item(lines: _Lines, start: _Start, index: int) -> _Start | None:
    """The place after the dash of an item of the sequence that begins there."""
    seen = -1
    for at in _siblings(lines, start):
        text = lines.texts[at]
        if text[start.column : start.column + 2].rstrip() != "-":
            return None
        seen += 1
        if seen == index:
            return _Start(at, start.column + 1)
    return None


def _inner(lines: _Lines, after: _Start, *, is_item: bool) -> _Start | None:
    """The place where the value after a key or a dash begins; None if it is a scalar or in flow style."""
    text = lines.texts[after.line]
    bare = text[after.column + (0 if is_item else 1) :].strip()
    if bare and bare[0] not in "#&!":
        column = len(text) - len(text[after.column :].lstrip())
        is_collection = bare.startswith("- ") or bare == "-" or _KEY.match(bare[:_MAX_LINE])
        return _Start(after.line, column) if is_item and is_collection else None
    parent = len(text) - len(text.lstrip(" -")) if not is_item else after.column - 1
    for at in range(after.line + 1, len(lines.indents)):
        indent = lines.indents[at]
        if indent != _NO_CONTENT:
            is_sequence = lines.texts[at][indent : indent + 2].rstrip() == "-"
            return _Start(at, indent) if indent > parent or (is_sequence and indent == parent) else None
    return None


def _flow_line(data: bytes, path: Path) -> int:
    if len(data) > _MAX_FLOW_BYTES:
        return 1
    parser = CParser(data)
    found = [0]
    try:
        _follow(parser, path, found)
    except yaml.YAMLError:
        pass
    finally:
        parser.dispose()
    return found[-1] + 1


def _follow(parser: Any, path: Path, found: list[int]) -> None:
    """Add the line, from 0, of each part of the path that the events lead to."""
    event = parser.get_event()
    while isinstance(event, yaml.StreamStartEvent | yaml.DocumentStartEvent):
        event = parser.get_event()
    for step in path:
        if isinstance(event, yaml.MappingStartEvent) and isinstance(step, str):
            event = _value_of(parser, step, found)
        elif isinstance(event, yaml.SequenceStartEvent) and isinstance(step, int):
            event = _item_of(parser, step, found)
        else:
            return


def _value_of(parser: Any, key: str, found: list[int]) -> Any:
    while isinstance(event := parser.get_event(), yaml.ScalarEvent):
        is_wanted, line = event.value == key, event.start_mark.line  # type: ignore[union-attr]
        event = parser.get_event()
        if is_wanted:
            found.append(line)
            return event
        _skip(parser, event)
    return None


def _item_of(parser: Any, index: int, found: list[int]) -> Any:
    while not isinstance(event := parser.get_event(), yaml.SequenceEndEvent | None):
        if index == 0:
            found.append(event.start_mark.line)
            return event
        index -= 1
        _skip(parser, event)
    return None


def _skip(parser: Any, event: Any) -> None:
    """Read the events of the value that this event begins."""
    depth = 0
    while event is not None:
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth <= 0:
            return
        event = parser.get_event()
