"""Finds the line of a key or an item in a YAML or JSON file, for findings.

Block style is followed by its indentation, without parsing, because a finding needs one line of a file that was parsed already.
Text in flow style, such as JSON, is followed by libyaml's events, which are read once for all findings of a file. Never fails: a
path that is not there has the line of the nearest part that is. Pure.
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


class _Value(NamedTuple):
    """The line of a key or an item, from 0, and the values in it."""

    line: int
    inner: dict[str, _Value] | list[_Value] | None


def _flow_line(data: bytes, path: Path) -> int:
    if len(data) > _MAX_FLOW_BYTES:
        return 1
    place = _flow_places(data)
    for step in path:
        inner: _Value | None = None
        if isinstance(place.inner, dict) and isinstance(step, str):
            inner = place.inner.get(step)
        elif isinstance(place.inner, list) and isinstance(step, int) and step < len(place.inner):
            inner = place.inner[step]
        if inner is None:
            break
        place = inner
    return place.line + 1


@lru_cache(maxsize=2)
def _flow_places(data: bytes) -> _Value:
    """The places in the first document, as far as it can be read."""
    root: list[_Value] = []
    parser = CParser(data)
    try:
        _add_places(parser, root)
    except yaml.YAMLError:
        pass
    finally:
        parser.dispose()
    return _Value(0, root[0].inner if root else None)


def _add_places(parser: Any, root: list[_Value]) -> None:
    """Add the value of the document to the list `root`, and to each value those in it."""
    opened: list[dict[str, _Value] | list[_Value]] = [root]
    key: tuple[str, int] | None = None
    while (event := parser.get_event()) is not None and not isinstance(event, yaml.DocumentEndEvent):
        if isinstance(event, yaml.CollectionEndEvent):
            opened.pop()
            continue
        if not isinstance(event, yaml.NodeEvent):
            continue
        holder, line = opened[-1], event.start_mark.line  # type: ignore[union-attr]
        if isinstance(holder, dict) and key is None:
            if not isinstance(event, yaml.ScalarEvent):
                return  # no key of JSON: what follows has the line of what it is in
            key = (event.value, line)
            continue
        is_mapping, is_list = isinstance(event, yaml.MappingStartEvent), isinstance(event, yaml.SequenceStartEvent)
        inner: dict[str, _Value] | list[_Value] | None = {} if is_mapping else [] if is_list else None
        if isinstance(holder, dict):
            assert key is not None
            holder.setdefault(key[0], _Value(key[1], inner))
            key = None
        else:
            holder.append(_Value(line, inner))
        if inner is not None:
            opened.append(inner)
