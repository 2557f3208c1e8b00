"""A document of a catalog to a blob: the envelope every schema shares, and the form blobs are kept and served in (formats 1.3).

Called by olmkit.fbc.folder for each document. Knows the three keys of the envelope and nothing else of any schema. Pure.
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
"""Go escapes them; so a line is one line to every reader."""
_KEYS: dict[tuple[str, ...], tuple[str | None, str | None, str | None]] = {}
_KEYS_KEPT = 64
"""Of so many combinations of keys it is remembered what they stand for."""
_LISTED = 3
"""Keys that are there twice, and forms of each, that an error names."""


@dataclass(frozen=True, slots=True)
class Blob:
    """One blob: its envelope ("" where a key is absent), its value, and the line it is kept as, newline included.

    The line is compact JSON with sorted keys and nothing escaped for HTML; integers are exact. Numbers in the value that orjson
    would not write so are orjson.Fragment: the value can be written as it is.
    """

    schema: str
    package: str
    name: str
    value: Mapping[str, Any]
    line: bytes


def parse_blob(document: Document) -> Blob:
    """The blob a document holds. Raises BadDocument when it is no mapping, lacks a schema or has keys that fold together."""
    value = document.value
    if not isinstance(value, dict):
        raise BadDocument(_no_mapping(value), document.line)
    try:
        schema, package, name = _envelope(value)
        value, line = _kept(value, document.text)
        return Blob(schema, package, name, value, line)
    except _Fault as error:
        raise BadDocument(str(error), document.line, opm_message=error.opm_message) from error
    except ValueError as error:
        raise BadDocument(str(error), document.line) from error


class _Fault(ValueError):
    """`opm_message` is what opm prints, which holds the whole blob and the newline at its end."""

    def __init__(self, text: str, opm_message: str) -> None:
        super().__init__(text)
        self.opm_message = opm_message


def _no_mapping(value: Any) -> str:
    if value is None:
        return "object '' is missing root schema field"
    return f"a blob must be a mapping, not {_kind(value)}: {'[' if isinstance(value, list) else _excerpt(value)} <=="


def _envelope(value: dict[str, Any]) -> tuple[str, str, str]:
    """schema, package and name, whatever the case of their keys."""
    keys = _envelope_keys(value)
    schema, package, name = _text(value, keys[0]), _text(value, keys[1]), _text(value, keys[2])
    if not schema:
        text = "object '{}' is missing root schema field"
        raise _Fault(text.format(_excerpt(value)), text.format(_whole(value)))
    return schema, package, name


def _envelope_keys(value: dict[str, Any]) -> tuple[str | None, str | None, str | None]:
    """The keys that stand for schema, package and name. Blobs of a schema have the same keys, nearly always."""
    keys = tuple(value)
    known = _KEYS.get(keys)
    if known is None:
        folded = {key.casefold(): key for key in keys}
        if len(folded) != len(keys):
            raise _duplicates(value)
        known = folded.get("schema"), folded.get("package"), folded.get("name")
        if len(_KEYS) < _KEYS_KEPT and len(keys) < _KEYS_KEPT:
            _KEYS[keys] = known
    return known


def _text(value: dict[str, Any], key: str | None) -> str:
    if key is None:
        return ""
    text = value[key]
    if type(text) is not str:
        try:
            words = f"{format_t(text)}: {format_v(text)}"
        except RecursionError as error:
            raise ValueError(f"nests deeper than {MAX_DEPTH} levels") from error
        sentence = f"expected value for key {quoted(key)} to be a string, got "
        raise _Fault(sentence + shorten(words), sentence + words)
    return text


def _duplicates(value: dict[str, Any]) -> _Fault:
    keys: dict[str, list[str]] = {}
    for key in value:
        keys.setdefault(key.casefold(), []).append(key)
    same = [(fold, sorted(forms)) for fold, forms in sorted(keys.items()) if len(forms) > 1]
    words = [_duplicate(fold, forms) for fold, forms in same]
    short = [_duplicate(shorten(fold), _few([shorten(form) for form in forms])) for fold, forms in same[:_LISTED]]
    text = short[0] if len(same) == 1 else f"[{', '.join([*short, *_rest(same)])}]"
    return _Fault(text, words[0] if len(words) == 1 else f"[{', '.join(words)}]")  # as Kubernetes writes several errors


def _duplicate(key: str, forms: Sequence[str]) -> str:
    return f"duplicate keys for key {quoted(key)}: [{' '.join(forms)}]"


def _few(forms: list[str]) -> list[str]:
    return [*forms[:_LISTED], *_rest(forms)]


def _rest(all_of_them: Sequence[Any]) -> list[str]:
    """How many are not named."""
    more = len(all_of_them) - _LISTED
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
    """The blob as it would be kept."""
    try:
        return _kept(value, orjson.dumps(value))[1].decode()
    except ValueError:
        return _excerpt(value)


def _kept(value: dict[str, Any], text: bytes | memoryview) -> tuple[dict[str, Any], bytes]:
    """The value, and the line it is kept as."""
    try:
        line = orjson.dumps(value, option=_OPTIONS)
    except orjson.JSONEncodeError:  # strings are valid by now, so it is an integer beyond 64 bits, or the depth
        try:
            value = exact_json(bytes(text).decode())
            line = orjson.dumps(value, option=_OPTIONS)
        except (orjson.JSONEncodeError, RecursionError) as error:
            raise ValueError(f"nests deeper than {MAX_DEPTH} levels") from error
    if len(line) > MAX_DOCUMENT_BYTES:
        raise ValueError(f"a blob is larger than {MAX_DOCUMENT_BYTES // 1024 // 1024} MiB")
    if not text and holds_too_many_values(line, 0, len(line)):  # aliases of YAML are written out in it
        raise ValueError(f"a blob holds more than {MAX_VALUES:,} values")
    if b"\xa8" in line or b"\xa9" in line:  # as these bytes are rare, most lines are not searched for the separators
        line = line.replace(_LINE_SEPARATOR, b"\\u2028").replace(_PARAGRAPH_SEPARATOR, b"\\u2029")
    return value, line
