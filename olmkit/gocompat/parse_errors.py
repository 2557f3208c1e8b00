"""The error of a text that cannot be parsed, and what it quotes: little, on one line, and only printable characters.

Raised by the readers of YAML and JSON in olmkit.gocompat, olmkit.fbc and rukpak.format. Knows no format. Pure.
"""

from __future__ import annotations

import re
from typing import Final

MAX_QUOTED_CHARACTERS: Final = 100
"""Characters of a key, scalar or blob that an error quotes."""
MAX_EXCERPT_CHARACTERS: Final = 80
"""Characters before the error that an excerpt shows."""
_MAX_SEARCHED_CHARACTERS: Final = 1000
"""Characters before the error that an excerpt is made from: most of them may be blanks."""
_BLANKS = re.compile(r"\s+")


class ParseError(ValueError):
    """A text cannot be parsed. `line` and `column` count from 1, in lines and characters as editors do; 0 is unknown."""

    def __init__(self, text: str, line: int = 0, column: int = 0) -> None:
        super().__init__(text)
        self.text = text
        self.line = line
        self.column = column

    def __str__(self) -> str:
        if not self.line:
            return self.text
        place = f"line {self.line}, column {self.column}" if self.column else f"line {self.line}"
        return f"{place}: {self.text}"


def shorten(text: str) -> str:
    """The first MAX_QUOTED_CHARACTERS, with an ellipsis if there are more."""
    shown = _on_one_line(text[:MAX_QUOTED_CHARACTERS])
    return shown if len(text) <= MAX_QUOTED_CHARACTERS else f"{shown}…"


def excerpt_before(text: str, at: int) -> str:
    """The last MAX_EXCERPT_CHARACTERS before `text[at]`, and ` <==`, with which opm marks the place of an error."""
    start = max(at - _MAX_SEARCHED_CHARACTERS, 0)
    before = _on_one_line(text[start:at]).strip()
    if start or len(before) > MAX_EXCERPT_CHARACTERS:
        before = f"…{before[-MAX_EXCERPT_CHARACTERS:]}"
    return f"{before} <==".lstrip()


def _on_one_line(text: str) -> str:
    shown = _BLANKS.sub(" ", text)
    return shown if shown.isprintable() else "".join(each if each.isprintable() else "\ufffd" for each in shown)
