"""A document of a catalog to a blob: the envelope every schema shares, and the form blobs are kept and served in (formats 1.3).

Called by olmkit.fbc.reading for each document. Knows the three keys of the envelope and nothing else of any schema. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from olmkit.fbc.documents import DOCUMENT_LIMIT, Document
from olmkit.fbc.errors import BadDocument
from olmkit.fbc.numbers import exact_json, may_hold_float
from olmkit.fbc.yaml_values import DEPTH_LIMIT

_OPTIONS = orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE
_LINE_SEPARATOR, _PARAGRAPH_SEPARATOR = "\u2028".encode(), "\u2029".encode()
"""Go escapes them; so a line is one line to every reader."""
_SHOWN = 200
"""Characters of a blob that an error quotes."""


@dataclass(frozen=True, slots=True)
class Blob:
    """One blob: its envelope ("" where a key is absent), its value, and the line it is kept as, newline included.

    The line is compact JSON with sorted keys and nothing escaped for HTML; integers are exact.
    """

    schema: str
    package: str
    name: str
    value: Mapping[str, Any]
    line: bytes


def blob(document: Document) -> Blob:
    """The blob a document holds. Raises BadDocument when it is no mapping, lacks a schema or has keys that fold together."""
    value = document.value
    if not isinstance(value, dict):
        raise BadDocument(_no_mapping(value), document.line)
    try:
        schema, package, name = _envelope(value)
        return Blob(schema, package, name, value, _line(document))
    except ValueError as error:
        raise BadDocument(str(error), document.line) from error


def _no_mapping(value: Any) -> str:
    if value is None:
        return "object '' is missing root schema field"
    return f"a blob must be a mapping, not {_kind(value)}: {_excerpt(value)}"


def _envelope(value: dict[str, Any]) -> tuple[str, str, str]:
    """schema, package and name, whatever the case of their keys."""
    folded = {key.casefold(): key for key in value}
    if len(folded) != len(value):
        raise ValueError(_duplicates(value))
    schema, package, name = (_text(value, folded.get(key)) for key in ("schema", "package", "name"))
    if not schema:
        raise ValueError(f"object '{_excerpt(value)}' is missing root schema field")
    return schema, package, name


def _text(value: dict[str, Any], key: str | None) -> str:
    if key is None:
        return ""
    text = value[key]
    if type(text) is not str:
        raise ValueError(f"expected value for key {_quoted(key)} to be a string, got {_kind(text)}: {_excerpt(text)}")
    return text


def _duplicates(value: dict[str, Any]) -> str:
    keys: dict[str, list[str]] = {}
    for key in value:
        keys.setdefault(key.casefold(), []).append(key)
    return "; ".join(
        f"duplicate keys for key {_quoted(fold)}: [{' '.join(sorted(same))}]"
        for fold, same in sorted(keys.items())
        if len(same) > 1
    )


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _kind(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case str():
            return "a string"
        case list():
            return "a list"
        case dict():
            return "a mapping"
        case _:
            return "a number"


def _excerpt(value: Any) -> str:
    try:
        text = orjson.dumps(value).decode()
    except TypeError:  # too deep
        text = "…"
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


def _line(document: Document) -> bytes:
    line = _dump(document.value)
    if document.text and may_hold_float(line) and _holds_float(document.value):
        line = _dump(exact_json(document.text.decode()))
    if len(line) > DOCUMENT_LIMIT:
        raise ValueError(f"a blob is larger than {DOCUMENT_LIMIT // 1024 // 1024} MiB")
    if b"\xa8" in line or b"\xa9" in line:  # as these bytes are rare, most lines are not searched for the separators
        line = line.replace(_LINE_SEPARATOR, b"\\u2028").replace(_PARAGRAPH_SEPARATOR, b"\\u2029")
    return line


def _dump(value: Any) -> bytes:
    try:
        return orjson.dumps(value, option=_OPTIONS)
    except orjson.JSONEncodeError as error:  # strings are valid by now and numbers have been seen to
        raise ValueError(f"nests deeper than {DEPTH_LIMIT} levels") from error


def _holds_float(value: Any) -> bool:
    """Whether any number came out of orjson as a float: those with a fraction or exponent, and integers beyond 64 bits."""
    containers = [value]
    while containers:
        container = containers.pop()
        members = container.values() if type(container) is dict else container
        kinds = set(map(type, members))
        if float in kinds:
            return True
        if dict in kinds or list in kinds:
            containers.extend(member for member in members if type(member) is dict or type(member) is list)
    return False
