"""Sentences as Go's fmt writes them: opm's words hold names in its quotes. Called by the model check of olmkit.fbc. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

_VERB = re.compile("%[qsd]")
_UNPRINTABLE = re.compile(r"[^ !#-\[\]-~]")
_ESCAPES = {
    **{'"': '\\"', "\\": "\\\\"},
    **dict(zip("\a\b\f\n\r\t\v", (f"\\{letter}" for letter in "abfnrtv"), strict=True)),
}

Argument = str | int | Sequence[str]


def sprintf(sentence: str, *arguments: Argument) -> str:
    """`sentence` with its %q, %s and %d filled in; several strings for one %s stand in brackets with blanks between."""
    rest = iter(arguments)
    return _VERB.sub(lambda verb: _word(verb[0], next(rest)), sentence)


def _word(verb: str, argument: Argument) -> str:
    if isinstance(argument, str):
        return quoted(argument) if verb == "%q" else argument
    return str(argument) if isinstance(argument, int) else f"[{' '.join(argument)}]"


def quoted(text: str) -> str:
    """As %q: in double quotes, what cannot be printed escaped."""
    return f'"{_UNPRINTABLE.sub(_escape, text)}"'


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
