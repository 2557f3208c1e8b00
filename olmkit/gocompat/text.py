"""Text as Go's fmt writes it, which opm's messages contain: quoted names and lists in brackets; untrusted text on
one line; and lists of names in messages.

Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import timedelta

from olmkit.errors import encodable

MAX_NAMES_SHOWN = 5
_UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|ms|s|m|h)")


ELLIPSIS = "…"
_VERB = re.compile("%[qsd]")
_UNPRINTABLE = re.compile(r"[^ !#-\[\]-~]")
_ESCAPES = {
    **{'"': '\\"', "\\": "\\\\"},
    **dict(zip("\a\b\f\n\r\t\v", (f"\\{letter}" for letter in "abfnrtv"), strict=True)),
}

Argument = str | int | Sequence[str]


def sprintf(sentence: str, *arguments: Argument) -> str:
    """`sentence` with its %q, %s and %d filled in; %s takes a list too."""
    rest = iter(arguments)
    return _VERB.sub(lambda verb: _formatted(verb[0], next(rest)), sentence)


def _formatted(verb: str, argument: Argument) -> str:
    if isinstance(argument, str):
        return quoted(argument) if verb == "%q" else argument
    return str(argument) if isinstance(argument, int) else format_list(argument)


def format_list(items: Iterable[object]) -> str:
    """The list as %s and %v write it: `[a b]`."""
    return f"[{' '.join(map(str, items))}]"


def quoted(text: str) -> str:
    """The text as %q writes it: in double quotes, with unprintable characters escaped."""
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


def printable(text: str) -> str:
    """Untrusted text on one line, with characters that are not printable escaped; surrogates too, so it is valid UTF-8."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


def one_line(text: str) -> str:
    """The same for a text of sentences: whitespace with a line end, a tab or the like becomes one blank."""
    return text if text.isprintable() else printable(" ".join(text.split()))


def printable_lines(text: str) -> str:
    """Untrusted text whose lines are kept, with all other characters that are not printable escaped."""
    return "\n".join(map(printable, text.split("\n")))


def truncate(text: str, limit: int, suffix: str = ELLIPSIS) -> str:
    """The text cut to at most `limit` bytes of UTF-8, without a partial character; the suffix marks a truncated text.

    Lone surrogates, as an OSError has for a file name that is no UTF-8, become escapes.
    """
    text = encodable(text)
    data = text.encode()
    if len(data) <= limit:
        return text
    mark = suffix if limit >= len(suffix.encode()) else ""
    return data[: limit - len(mark.encode())].decode(errors="ignore") + mark


def list_names(
    names: Iterable[str], separator: str = ", ", limit: int = MAX_NAMES_SHOWN, count: int | None = None
) -> str:
    """The first `limit` names, sorted, and how many more there are. `count`: of all, if `names` are only the first."""
    known = sorted(names)
    more = (len(known) if count is None else count) - limit
    return separator.join(known[:limit]) + (f"{separator}and {more} more" if more > 0 else "")


def parse_duration(text: str) -> timedelta:
    """A duration without sign, such as 1h30m or 0. Raises ValueError for anything else."""
    parts = _PART.findall(text)
    if text != "0" and (not parts or "".join(number + unit for number, unit in parts) != text):
        raise ValueError(f'"{text}" is not a duration: write it as 10m or 1h30m')
    try:
        return timedelta(seconds=sum(float(number) * _UNITS[unit] for number, unit in parts))
    except OverflowError:
        return timedelta.max / 2
