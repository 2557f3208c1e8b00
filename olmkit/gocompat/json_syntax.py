"""The place at which Go's JSON scanner refuses a text, and its message. For what is no JSON: other code reads JSON. Pure."""

from __future__ import annotations

import re
from typing import Final

from olmkit.gocompat.text import quoted

_BLANKS = re.compile(rb"[ \t\r\n]*")
_PLAIN = re.compile(rb'[^"\\\x00-\x1f]*')
_ESCAPE = re.compile(rb'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})')
_ESCAPE_START = re.compile(rb"\\(?:u[0-9a-fA-F]{0,3})?")
_NUMBER = re.compile(rb"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_NUMBER_START = re.compile(
    rb"-(?![0-9])|-?(?:0|[1-9][0-9]*)(?:\.(?![0-9])|(?:\.[0-9]+)?[eE](?:[+-](?![0-9])|(?![+0-9-])))"
)
_WORDS: Final = {ord("t"): b"true", ord("f"): b"false", ord("n"): b"null"}
_MAX_DEPTH = 10_000

_VALUE, _VALUE_OR_END, _KEY, _KEY_OR_END, _COLON, _COMMA, _END = range(7)
"""The tokens that may come next."""
_PLACES: Final = {
    _KEY: "looking for beginning of object key string",
    _KEY_OR_END: "looking for beginning of object key string",
    _COLON: "after object key",
    _END: "after top-level value",
}
_TOO_DEEP = "exceeded max depth"


class _Refused(Exception):
    """The text is refused after so many bytes; `where` follows the character in Go's message."""

    def __init__(self, offset: int, where: str) -> None:
        super().__init__(offset)
        self.offset = offset
        self.where = where


def syntax_error_offset(data: bytes) -> int | None:
    """The number of bytes that Go has read when it refuses the text; None for JSON."""
    try:
        _scan(data)
    except _Refused as refused:
        return min(refused.offset, len(data))
    return None


def syntax_error(data: bytes) -> str:
    """The error of Go's decoder for the text; empty for JSON."""
    try:
        _scan(data)
    except _Refused as refused:
        if refused.where == _TOO_DEEP:
            return refused.where
        if refused.offset > len(data) or not refused.where:
            return "unexpected end of JSON input"
        return f"invalid character {_quoted(data[refused.offset - 1])} {refused.where}"
    return ""


def _quoted(character: int) -> str:
    """The byte as Go quotes it."""
    if character == ord("'"):
        return "'\\''"
    if character == ord('"'):
        return "'\"'"
    return f"'{quoted(chr(character))[1:-1]}'"


def _scan(data: bytes) -> None:
    open_ends: list[int] = []
    state, at = _VALUE, 0
    while True:
        at = _end(_BLANKS, data, at)
        if at == len(data):
            if state == _END:
                return
            raise _Refused(at, "")
        state, at = _step(data, at, state, open_ends)


def _step(data: bytes, at: int, state: int, open_ends: list[int]) -> tuple[int, int]:
    """The next state, and the place after the token."""
    character = data[at]
    if open_ends and character == open_ends[-1] and state in (_VALUE_OR_END, _KEY_OR_END, _COMMA):
        open_ends.pop()
        return (_COMMA if open_ends else _END), at + 1
    if state in (_KEY, _KEY_OR_END) and character == ord('"'):
        return _COLON, _string(data, at)
    if state == _COLON and character == ord(":"):
        return _VALUE, at + 1
    if state == _COMMA and character == ord(","):
        return (_KEY if open_ends[-1] == ord("}") else _VALUE), at + 1
    if state not in (_VALUE, _VALUE_OR_END):
        raise _Refused(at + 1, _PLACES[state] if state != _COMMA else _after_part(open_ends))
    if character in b"{[":
        open_ends.append(character + 2)
        if len(open_ends) > _MAX_DEPTH:
            raise _Refused(at + 1, _TOO_DEEP)
        return (_KEY_OR_END if character == ord("{") else _VALUE_OR_END), at + 1
    return (_COMMA if open_ends else _END), _scalar(data, at)


def _scalar(data: bytes, at: int) -> int:
    """The place after a string, number or word."""
    character = data[at]
    if character == ord('"'):
        return _string(data, at)
    if character in _WORDS:
        word = _WORDS[character]
        for offset, wanted in enumerate(word):
            if data[at + offset : at + offset + 1] != bytes([wanted]):
                raise _Refused(at + offset + 1, f"in literal {word.decode()} (expecting '{chr(wanted)}')")
        return at + len(word)
    if partial := _NUMBER_START.match(data, at):
        raise _Refused(partial.end() + 1, _number_place(partial[0]))
    number = _NUMBER.match(data, at)
    if number is None:
        raise _Refused(at + 1, "looking for beginning of value")
    return number.end()


def _string(data: bytes, at: int) -> int:
    at += 1
    while True:
        at = _end(_PLAIN, data, at)
        if data[at : at + 1] == b'"':
            return at + 1
        escape = _ESCAPE.match(data, at)
        if escape is None:
            start = _ESCAPE_START.match(data, at)
            raise _Refused(start.end() + 1 if start else at + 1, _string_place(start[0] if start else b""))
        at = escape.end()


def _after_part(open_ends: list[int]) -> str:
    return "after object key:value pair" if open_ends[-1] == ord("}") else "after array element"


def _number_place(start: bytes) -> str:
    if start.endswith(b"."):
        return "after decimal point in numeric literal"
    return "in numeric literal" if start == b"-" else "in exponent of numeric literal"


def _string_place(start: bytes) -> str:
    if not start:
        return "in string literal"
    return "in string escape code" if start == b"\\" else "in \\u hexadecimal character escape"


def _end(pattern: re.Pattern[bytes], data: bytes, at: int) -> int:
    match = pattern.match(data, at)
    return match.end() if match else at
