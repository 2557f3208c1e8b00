"""Text for a terminal: what comes from a catalog or a cluster never controls it, and colours are used only where they are wanted.

Characters that are not printable (control characters, escape sequences, marks of writing direction, invisible characters) are
replaced; scripts and letters of all languages stay.
"""

from __future__ import annotations

import io
import os
import re
import sys
import unicodedata
from typing import IO

import click

REPLACEMENT = "\ufffd"
DEFAULT_COLUMNS = 80
"""The width of a terminal that does not say how wide it is."""
_CONTROLS = re.compile(
    "[\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
"""C1 controls, marks of writing direction, and characters that are not seen."""
_WIDE = frozenset("WF")
"""East Asian widths of characters that take two columns."""


def clean(text: str) -> str:
    """The text as one line: whitespace becomes single blanks, other characters that are not printable become U+FFFD."""
    return "".join(each if each.isprintable() else REPLACEMENT for each in " ".join(text.split()))


def clean_lines(text: str) -> str:
    """The text with its line ends and tabs; other characters that are not printable become U+FFFD."""
    return "".join(each if each.isprintable() or each in "\n\t" else REPLACEMENT for each in text)


def escape_controls(text: str) -> str:
    r"""The text of a document as a terminal shows it: characters that could control it, or the order of letters, as \uXXXX.

    Line ends, tabs and the escape sequences of colours stay: documents escape those themselves.
    """
    return text if text.isascii() else _CONTROLS.sub(lambda found: _escaped(found[0]), text)


def _escaped(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


class TerminalStream(io.TextIOWrapper):
    """Standard output or error on a terminal: whatever is printed, `escape_controls` is applied to it."""

    def write(self, text: str) -> int:
        """Print the text."""
        super().write(escape_controls(text))
        return len(text)


def shorten(text: str, limit: int) -> str:
    """At most `limit` characters; an ellipsis marks a truncated text."""
    return text if len(text) <= limit else f"{text[: limit - 1].rstrip()}…"


def width(text: str) -> int:
    """The columns that a printable text takes in a terminal."""
    return sum((unicodedata.east_asian_width(each) in _WIDE) + (not unicodedata.combining(each)) for each in text)


def has_colours(stream: IO[str]) -> bool:
    """Report whether the stream is a terminal that shows colours, and $NO_COLOR does not forbid them."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def coloured(text: str, colour: str) -> str:
    """The text in a colour of click, for standard output; unchanged where there are no colours, or if `colour` is empty."""
    return click.style(text, fg=colour) if colour and has_colours(sys.stdout) else text


class ProgressLine:
    """One line on standard error that is rewritten on a terminal; elsewhere a line for each text that differs from the last, or
    nothing with `is_for_terminal`."""

    def __init__(self, *, is_for_terminal: bool = False) -> None:
        """Prints nothing yet."""
        self._last = ""
        self._is_for_terminal = is_for_terminal

    def show(self, text: str) -> None:
        """Show this text instead of the last one."""
        shown = clean(text)
        if shown == self._last:
            return
        self._last = shown
        if sys.stderr.isatty():
            print(f"\r\x1b[K{shorten(shown, max(_columns() - 1, 2))}", end="", file=sys.stderr, flush=True)
        elif not self._is_for_terminal:
            print(shown, file=sys.stderr, flush=True)

    def end(self) -> None:
        """Remove the line from a terminal, so that the result stands in its place."""
        if self._last and sys.stderr.isatty():
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
        self._last = ""


def _columns() -> int:
    try:
        columns = os.get_terminal_size(sys.stderr.fileno()).columns
    except OSError:
        columns = 0
    return columns or DEFAULT_COLUMNS
