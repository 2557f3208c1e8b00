"""The documents of one file, the keys that it has twice, the numbers that lose digits, and the fault that keeps it from being
read. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml
from yaml._yaml import CParser

from olmkit.gocompat import documents, yaml_reader
from olmkit.gocompat.parse_errors import ParseError

MAX_DUPLICATES = 20
"""Keys of one file that are reported."""
MAX_ROUNDED = 20
"""Numbers of one file that are reported."""
_LONG_NUMBER = re.compile(rb"(?<![\w.])[0-9]{19}")
_INTEGER = re.compile(r"[-+]?[0-9]{19,400}")
_FLOATS = ("maximum", "minimum", "multipleOf")
"""Fields of schemas that are floating-point numbers in any case."""


@dataclass(frozen=True)
class Duplicate:
    """A key that a mapping has twice: the later line counts."""

    key: str
    line: int
    first_line: int


@dataclass(frozen=True)
class Rounded:
    """An integer of more than 64 bits, and the number that Kubernetes reads instead."""

    text: str
    value: float
    line: int


@dataclass(frozen=True)
class ParsedFile:
    """A file."""

    documents: tuple[Any, ...] = ()
    """Without empty ones."""
    duplicates: tuple[Duplicate, ...] = ()
    error: ParseError | None = None

    @property
    def first(self) -> Any:
        """The first document; None if there is none."""
        return self.documents[0] if self.documents else None


def parse_file(data: bytes) -> ParsedFile:
    """The file. Only a file that the fast reader cannot read may have a key twice, and is searched for it."""
    if not yaml_reader.may_hold_several(data):
        try:
            document = yaml_reader.load_fast(data, documents.OPTIONS)
        except yaml_reader.Unsure:
            pass
        else:
            return ParsedFile(() if document is None else (document,))
    try:
        read = tuple(documents.read(data))
    except ParseError as error:
        return ParsedFile(error=error)
    return ParsedFile(read, tuple(_duplicates(data)))


def rounded_numbers(data: bytes) -> Iterator[Rounded]:
    """The first integers that Kubernetes reads as floating-point numbers of other digits."""
    if not _LONG_NUMBER.search(data):
        return
    found, before = 0, ""
    for event in _node_events(data):
        is_scalar = isinstance(event, yaml.ScalarEvent)
        text = event.value if is_scalar and not event.style and _INTEGER.fullmatch(event.value) else ""
        if text and before not in _FLOATS and not -(2**63) <= int(text) < 2**63 and float(text) != int(text):
            yield Rounded(text, float(text), event.start_mark.line + 1)
            found += 1
        if found == MAX_ROUNDED:
            return
        before = event.value if is_scalar else ""


def _node_events(data: bytes) -> Iterator[Any]:
    """The events of nodes, as far as the file can be read."""
    parser = CParser(data if data.endswith(b"\n") else data + b"\n")
    try:
        while (event := parser.get_event()) is not None:
            if isinstance(event, yaml.NodeEvent):
                yield event
    except yaml.YAMLError:
        return
    finally:
        parser.dispose()


def _duplicates(data: bytes) -> Iterator[Duplicate]:
    """The first keys that a mapping has twice."""
    parser = CParser(data if data.endswith(b"\n") else data + b"\n")
    levels: list[_Level] = []
    left = MAX_DUPLICATES
    try:
        while left and (event := parser.get_event()) is not None:
            if isinstance(event, yaml.CollectionEndEvent):
                levels.pop()
            if not isinstance(event, yaml.NodeEvent):
                continue
            node: Any = event
            if levels and (first := levels[-1].first_line(node)):
                left -= 1
                yield Duplicate(node.value, node.start_mark.line + 1, first)
            if isinstance(event, yaml.CollectionStartEvent):
                levels.append(_Level({} if isinstance(event, yaml.MappingStartEvent) else None))
    except yaml.YAMLError:
        return
    finally:
        parser.dispose()


@dataclass
class _Level:
    """A collection that is not read to its end. `keys`: key -> its line; None for a sequence."""

    keys: dict[str, int] | None
    is_key_next: bool = True

    def first_line(self, event: Any) -> int:
        """Take a node of this collection; the line of an equal key before it, 0 if there is none."""
        if self.keys is None:
            return 0
        is_key, self.is_key_next = self.is_key_next, not self.is_key_next
        key = event.value if is_key and isinstance(event, yaml.ScalarEvent) else "<<"
        if key == "<<" or key in self.keys:
            return self.keys.get(key, 0)
        self.keys[key] = event.start_mark.line + 1
        return 0
