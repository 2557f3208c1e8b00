"""The first document of a text as Kubernetes' YAML decoder reads it, with the errors of Go's YAML library.

Documents end at lines that begin with `---`; a text before the first one that holds only comments is a document, too. Pure.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

import yaml
from yaml._yaml import CParser

from olmkit.gocompat import yaml_reader
from olmkit.gocompat.parse_errors import ParseError
from olmkit.gocompat.yaml_composer import MAX_DEPTH, ReadOptions

_SEPARATOR: Final = b"---"
_UNKNOWN_ANCHOR = re.compile(r"unknown anchor '(.*)'")
_RECURSION = re.compile(r"anchor '(.*)' contains itself")


@dataclass
class GoYamlError(Exception):
    """A text cannot be read. `text` is Go's error; `line` counts from 1, 0 is unknown."""

    text: str
    line: int = 0

    def __str__(self) -> str:
        return self.text


def first_document(data: bytes) -> bytes:
    """The part of the text that Kubernetes decodes first, with its lines where they are in the text. Raises GoYamlError for an
    empty text, and for text behind a separator."""
    if not data:
        raise GoYamlError("EOF")
    if _SEPARATOR not in data:
        return data if data.endswith(b"\n") else data + b"\n"
    at = 0
    while at < len(data):
        end = data.find(b"\n", at) + 1 or len(data)
        if data.startswith(_SEPARATOR, at):
            rest = data[at + len(_SEPARATOR) : end].decode(errors="replace").strip()
            if rest and not rest.startswith("#"):
                raise GoYamlError(f"invalid Yaml document separator: {rest}", data.count(b"\n", 0, at) + 1)
            if at:
                return data[:at]
        at = end
    return data if data.endswith(b"\n") else data + b"\n"


def load(text: bytes, options: ReadOptions) -> Any:
    """The value of the first document; None for comments alone. Raises GoYamlError."""
    try:
        return yaml_reader.load(text, options)
    except ParseError as error:
        raise _go_error(text, error) from error


def _go_error(text: bytes, error: ParseError) -> GoYamlError:
    """Go's words for an error of the reader: its own faults are searched with libyaml, from which Go's library was made."""
    parser = CParser(text)
    try:
        _read(parser)
    except yaml.MarkedYAMLError as found:
        return GoYamlError(
            f"yaml: {_place(found)}{found.problem or 'unknown problem parsing YAML content'}", error.line
        )
    except yaml.reader.ReaderError as found:
        return GoYamlError(f"yaml: {found.reason}", error.line)
    except (yaml.YAMLError, ValueError):
        pass
    finally:
        parser.dispose()
    sentence = error.text.partition(": ")[0]
    if match := _UNKNOWN_ANCHOR.fullmatch(sentence):
        sentence = f"unknown anchor '{match[1]}' referenced"
    elif match := _RECURSION.fullmatch(sentence):
        sentence = f"anchor '{match[1]}' value contains itself"
    elif "when its aliases are expanded" in sentence:
        sentence = "document contains excessive aliasing"
    return GoYamlError(f"yaml: {sentence}", error.line)


def _read(parser: Any) -> None:
    """Read the events up to the first error, an unknown anchor, or a text that nests deeper than the reader goes: libyaml
    compares each token with every open one."""
    depth, anchors = 0, set()
    while depth <= MAX_DEPTH and not isinstance(event := parser.get_event(), yaml.StreamEndEvent):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if isinstance(event, yaml.AliasEvent) and event.anchor not in anchors:
            return
        anchors.add(getattr(event, "anchor", None))


def _place(error: yaml.MarkedYAMLError) -> str:
    """The line as Go's library counts it: from 1 in errors of the scanner, else from 0, where line 0 is not written."""
    is_scanner = isinstance(error, yaml.scanner.ScannerError)
    line = 0
    if error.problem_mark is not None and error.problem_mark.line:
        line = error.problem_mark.line + is_scanner
    elif error.context_mark is not None:
        line = error.context_mark.line
    return f"line {line}: " if line else ""
