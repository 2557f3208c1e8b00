"""Reads JSON that nests deeper than Python can follow, without its deepest values, and finds values that nest too deep.

The API server accepts 10,000 levels in a field of free form. An object with so many must not keep other objects from being read,
and is refused by itself. Pure.
"""

from __future__ import annotations

import re
from typing import Any, Final

import orjson

MAX_LEVELS: Final = 200
"""Levels that a value of free form may have: those that a file of a bundle may have. orjson writes no more than 254."""
_KEPT_LEVELS: Final = 250
"""Levels that are kept of a text that is too deep for orjson: a value in it still has more than MAX_LEVELS, and is refused."""
_STRING_OR_BRACKET = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[\]{}]', re.DOTALL)


def loads(raw: bytes) -> Any:
    """The value of a JSON text; the values below _KEPT_LEVELS of one that is too deep for orjson are null. Raises
    orjson.JSONDecodeError."""
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        cut = _without_deepest(raw)
        if cut is None:
            raise
    return orjson.loads(cut)


def _without_deepest(raw: bytes) -> bytes | None:
    """The text with null for each value that nests too deep; None if there is none."""
    parts: list[bytes] = []
    level = kept_from = 0
    for token in _STRING_OR_BRACKET.finditer(raw):
        character = raw[token.start()]
        if character in b"[{":
            level += 1
            if level == _KEPT_LEVELS + 1:
                parts.append(raw[kept_from : token.start()])
        elif character in b"]}":
            if level == _KEPT_LEVELS + 1:
                parts.append(b"null")
                kept_from = token.end()
            level -= 1
    return b"".join((*parts, raw[kept_from:])) if parts else None


def is_deeper(value: Any, levels: int) -> bool:
    """Report whether a JSON value nests deeper than so many levels."""
    pending = [(value, 1)]
    while pending:
        each, level = pending.pop()
        if isinstance(each, dict | list):
            if level > levels:
                return True
            pending += [(inner, level + 1) for inner in (each.values() if isinstance(each, dict) else each)]
    return False


def shallow(value: Any, levels: int = MAX_LEVELS) -> Any:
    """The JSON value with null for each list and object below so many levels."""
    if not isinstance(value, dict | list):
        return value
    if not levels:
        return None
    if isinstance(value, dict):
        return {name: shallow(inner, levels - 1) for name, inner in value.items()}
    return [shallow(inner, levels - 1) for inner in value]
