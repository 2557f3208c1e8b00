"""Documents of a catalog as blobs: the envelope of all schemas, and the line that catalogd stores and serves (formats 1.3).

Reads the three keys of the envelope and nothing else of any schema. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from olmkit.fbc.documents import MAX_DOCUMENT_BYTES, MAX_VALUES, Document, holds_too_many_values
from olmkit.fbc.errors import BadDocument
from olmkit.gocompat.numbers import exact_json
from olmkit.gocompat.parse_errors import shorten
from olmkit.gocompat.text import quoted
from olmkit.gocompat.values import format_t, format_v
from olmkit.gocompat.yaml_composer import MAX_DEPTH

_OPTIONS = orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE
_LINE_SEPARATOR, _PARAGRAPH_SEPARATOR = "\u2028".encode(), "\u2029".encode()
"""Go escapes them, so that every reader sees one line."""
_ENVELOPE_KEYS: dict[tuple[str, ...], tuple[str | None, str | None, str | None]] = {}
"""A cache: the keys of a blob -> those of its envelope."""
_MAX_CACHED_KEYS = 64
"""Entries of the cache, and keys of an entry."""
_MAX_LISTED_DUPLICATES = 3
"""Duplicate keys, and spellings of each, that an error names."""


@dataclass(frozen=True, slots=True)
class Blob:
    """One blob: its envelope ("" where a key is absent), its value, and the line it is stored as, newline included.

    The line is compact JSON with sorted keys and nothing escaped for HTML; integers are exact. Numbers in the value that orjson
    would write in another way are orjson.Fragment, so that orjson can write the value as it is.
    """

    schema: str
    package: str
    name: str
    value: Mapping[str, Any]
    line: bytes


def parse_blob(document: Document) -> Blob:
    """The blob in a document. Raises BadDocument when it is no mapping, has no schema, or two keys of it differ only in case."""
    value = document.value
    if not isinstance(value, dict):
        raise BadDocument(_not_a_mapping(value), document.line)
    try:
        schema, package, name = _envelope(value)
        value, line = _stored_line(value, document.text)
        return Blob(schema, package, name, value, line)
    except _EnvelopeError as error:
        raise BadDocument(str(error), document.line, opm_message=error.opm_message) from error
    except ValueError as error:
        raise BadDocument(str(error), document.line) from error


class _EnvelopeError(ValueError):
    """`opm_message` is what opm prints: it contains the whole blob and the newline at its end."""

    def __init__(self, text: str, opm_message: str) -> None:
        super().__init__(text)
        self.opm_message = opm_message


def _not_a_mapping(value: Any) -> str:
    if value is None:
        return "object '' is missing root schema field"
    return f"a blob must be a mapping, not {_kind(value)}: {'[' if isinstance(value, list) else _excerpt(value)} <=="


def _envelope(value: dict[str, Any]) -> tuple[str, str, str]:
    """schema, package and name, whatever the case of their keys."""
    keys = _envelope_keys(value)
    schema, package, name = _text(value, keys[0]), _text(value, keys[1]), _text(value, keys[2])
    if not schema:
        text = "object '{}' is missing root schema field"
        raise _EnvelopeError(text.format(_excerpt(value)), text.format(_whole(value)))
    return schema, package, name


def _envelope_keys(value: dict[str, Any]) -> tuple[str | None, str | None, str | None]:
    """The keys that stand for schema, package and name. Blobs of a schema nearly always have the same keys."""
    keys = tuple(value)
    known = _ENVELOPE_KEYS.get(keys)
    if known is None:
        folded = {key.casefold(): key for key in keys}
        if len(folded) != len(keys):
            raise _duplicate_keys(value)
        known = folded.get("schema"), folded.get("package"), folded.get("name")
        if len(_ENVELOPE_KEYS) < _MAX_CACHED_KEYS and len(keys) < _MAX_CACHED_KEYS:
            _ENVELOPE_KEYS[keys] = known
    return known


def _text(value: dict[str, Any], key: str | None) -> str:
    if key is None:
        return ""
    text = value[key]
    if type(text) is not str:
        try:
            shown = f"{format_t(text)}: {format_v(text)}"
        except RecursionError as error:
            raise ValueError(f"nests deeper than {MAX_DEPTH} levels") from error
        message = f"expected value for key {quoted(key)} to be a string, got "
        raise _EnvelopeError(message + shorten(shown), message + shown)
    return text


def _duplicate_keys(value: dict[str, Any]) -> _EnvelopeError:
    keys: dict[str, list[str]] = {}
    for key in value:
        keys.setdefault(key.casefold(), []).append(key)
    same = [(fold, sorted(forms)) for fold, forms in sorted(keys.items()) if len(forms) > 1]
    full = [_duplicate(fold, forms) for fold, forms in same]
    listed = same[:_MAX_LISTED_DUPLICATES]
    short = [_duplicate(shorten(fold), _first_few([shorten(form) for form in forms])) for fold, forms in listed]
    text = short[0] if len(same) == 1 else f"[{', '.join([*short, *_and_more(same)])}]"
    # Several errors as Kubernetes writes them.
    return _EnvelopeError(text, full[0] if len(full) == 1 else f"[{', '.join(full)}]")


def _duplicate(key: str, forms: Sequence[str]) -> str:
    return f"duplicate keys for key {quoted(key)}: [{' '.join(forms)}]"


def _first_few(forms: list[str]) -> list[str]:
    return [*forms[:_MAX_LISTED_DUPLICATES], *_and_more(forms)]


def _and_more(items: Sequence[Any]) -> list[str]:
    """Say how many items are not named."""
    more = len(items) - _MAX_LISTED_DUPLICATES
    return [f"and {more} more"] if more > 0 else []


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
    return shorten(text)


def _whole(value: dict[str, Any]) -> str:
    """The blob as it would be stored."""
    try:
        return _stored_line(value, orjson.dumps(value))[1].decode()
    except ValueError:
        return _excerpt(value)


def _stored_line(value: dict[str, Any], text: bytes | memoryview) -> tuple[dict[str, Any], bytes]:
    """The value, and the line it is stored as."""
    try:
        line = orjson.dumps(value, option=_OPTIONS)
    except orjson.JSONEncodeError:  # strings are valid here, so it is an integer beyond 64 bits, or the depth
        try:
            value = exact_json(bytes(text).decode())
            line = orjson.dumps(value, option=_OPTIONS)
        except (orjson.JSONEncodeError, RecursionError) as error:
            raise ValueError(f"nests deeper than {MAX_DEPTH} levels") from error
    if len(line) > MAX_DOCUMENT_BYTES:
        raise ValueError(f"a blob is larger than {MAX_DOCUMENT_BYTES // 1024 // 1024} MiB")
    if not text and holds_too_many_values(line, 0, len(line)):  # the line contains YAML's aliases expanded
        raise ValueError(f"a blob holds more than {MAX_VALUES:,} values")
    if b"\xa8" in line or b"\xa9" in line:  # these bytes are rare, so most lines are not searched for the separators
        line = line.replace(_LINE_SEPARATOR, b"\\u2028").replace(_PARAGRAPH_SEPARATOR, b"\\u2029")
    return value, line
