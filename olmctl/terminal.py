"""Text for a terminal: what comes from a catalog or a cluster never controls it. Pure.

Characters that are not printable (control characters, escape sequences, marks of writing direction, invisible characters) are
replaced; scripts and letters of all languages stay.
"""

from __future__ import annotations

import re
import unicodedata

REPLACEMENT = "\ufffd"
_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
"""C0 and C1 controls but line ends and tabs, marks of writing direction, and characters that are not seen."""
_COLOURS = re.compile(r"(\x1b\[(?:[0-2]|[39][0-7])m)")
"""The escape sequences of colours."""
_WIDE = frozenset("WF")
"""East Asian widths of characters that take two columns."""


def clean(text: str) -> str:
    """The text as one line: whitespace becomes single blanks, other characters that are not printable become U+FFFD."""
    if text.isprintable() and "  " not in text:
        return text.strip()
    return "".join(each if each.isprintable() else REPLACEMENT for each in " ".join(text.split()))


def clean_lines(text: str) -> str:
    """The text with its line ends and tabs; other characters that are not printable become U+FFFD."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() or each in "\n\t" else REPLACEMENT for each in text)


def escape_controls(text: str) -> str:
    r"""The text of a document as a terminal shows it: characters that could control it, or the order of letters, as \uXXXX.

    Line ends, tabs and the escape sequences of colours stay.
    """
    if text.isprintable():
        return text
    parts = _COLOURS.split(text)
    parts[::2] = (_CONTROLS.sub(lambda found: _escaped(found[0]), each) for each in parts[::2])
    return "".join(parts)


def _escaped(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def shorten(text: str, limit: int) -> str:
    """At most `limit` characters; an ellipsis marks a truncated text."""
    return text if len(text) <= limit else f"{text[: limit - 1].rstrip()}…"


def width(text: str) -> int:
    """The columns that a printable text takes in a terminal."""
    return sum((unicodedata.east_asian_width(each) in _WIDE) + (not unicodedata.combining(each)) for each in text)
