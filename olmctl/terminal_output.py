"""Prints what commands say: texts, documents, and on a terminal colours and the line of progress.

Whatever a text is made of, the name of a file or the words of a publisher, it never controls a terminal, nor one that shows it
later from a file.
"""

from __future__ import annotations

import io
import os
import sys
from typing import IO

import click

from olmctl.terminal import clean, clean_lines, escape_controls, shorten

DEFAULT_COLUMNS = 80
"""The width of a terminal that does not say how wide it is."""


class TerminalStream(io.TextIOWrapper):
    """Standard output or error on a terminal: whatever is printed, `escape_controls` is applied to it."""

    def write(self, text: str) -> int:
        """Print the text."""
        super().write(escape_controls(text))
        return len(text)

    def write_controls(self, text: str) -> None:
        """Print the text with what it has to control the terminal."""
        super().write(text)
        self.flush()


def say(text: object = "", *, err: bool = False, end: str = "\n", flush: bool = False) -> None:
    """Print a text for people to standard output or error. What is not printable is replaced, wherever the text goes."""
    print(clean_lines(str(text)), file=sys.stderr if err else sys.stdout, end=end, flush=flush or err)


def write_document(text: str | bytes) -> None:
    """Print a document, or lines that are clean and may have colours, to standard output. On a terminal the stream escapes what
    would control it; elsewhere it is written as it is. Bytes go before what is still in the stream."""
    if isinstance(text, bytes) and not sys.stdout.isatty():
        sys.stdout.buffer.write(text)
    else:
        sys.stdout.write(text.decode() if isinstance(text, bytes) else text)


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
            _control(f"\r\x1b[K{shorten(shown, max(_columns() - 1, 2))}")
        elif not self._is_for_terminal:
            print(shown, file=sys.stderr, flush=True)

    def end(self) -> None:
        """Remove the line from a terminal, so that the result stands in its place."""
        if self._last and sys.stderr.isatty():
            _control("\r\x1b[K")
        self._last = ""


def _control(text: str) -> None:
    """Print to standard error, which is a terminal."""
    if isinstance(sys.stderr, TerminalStream):
        sys.stderr.write_controls(text)
    else:
        print(text, end="", file=sys.stderr, flush=True)


def _columns() -> int:
    try:
        columns = os.get_terminal_size(sys.stderr.fileno()).columns
    except OSError:
        columns = 0
    return columns or DEFAULT_COLUMNS
