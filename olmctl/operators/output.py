"""Prints the results of commands: tables as kubectl's, and objects as JSON, YAML or names.

Text of catalogs and of the cluster is shown without characters that control a terminal; in JSON and YAML they are escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from olmctl.object_text import as_json, as_yaml
from olmctl.terminal import clean, width
from olmctl.terminal_output import coloured, write_document
from olmkit.gocompat.json_depth import MAX_LEVELS, is_deeper, shallow

NONE = "<none>"
"""The text that kubectl shows in a cell without a value."""
_SEPARATOR = "   "
_UNITS = ((86_400, "d"), (3_600, "h"), (60, "m"))
_COLOURS = {"True": "green", "Ready": "green", "Healthy": "green", "False": "red", "Stalled": "red", "Failed": "red"}


@dataclass(frozen=True)
class Column:
    """A column of a table; `is_wide` ones are shown by `-o wide` only. `empty` stands in a cell without a value."""

    name: str
    is_wide: bool = False
    is_status: bool = False
    empty: str = NONE


@dataclass(frozen=True)
class Indented:
    """A cell whose text stands behind a prefix, such as the branches of a tree."""

    prefix: str
    text: str


def print_table(
    columns: Sequence[Column], rows: Iterable[Sequence[object]], *, is_wide: bool = False, headers: bool = True
) -> None:
    """Print an aligned table, with cleaned text."""
    shown = [index for index, column in enumerate(columns) if is_wide or not column.is_wide]
    lines = [[_cell(row[index]) or columns[index].empty for index in shown] for row in rows]
    if headers:
        lines.insert(0, [columns[index].name for index in shown])
    widths = [max(width(line[place]) for line in lines) for place in range(len(shown))] if lines else []
    for number, line in enumerate(lines):
        cells = []
        for place, text in enumerate(line):
            is_status = columns[shown[place]].is_status and (number > 0 or not headers)
            padding = " " * (widths[place] - width(text)) if place < len(line) - 1 else ""
            cells.append((coloured(text, _COLOURS.get(text, "yellow")) if is_status else text) + padding)
        write_document(f"{_SEPARATOR.join(cells).rstrip()}\n")


def _cell(value: object) -> str:
    if isinstance(value, Indented):
        return value.prefix + clean(value.text)
    return clean("" if value is None else str(value))


def print_object(value: Any, form: str) -> None:
    """Print a value as JSON or YAML. What nests too deep for a writer is null: it must not keep others from being printed."""
    if is_deeper(value, MAX_LEVELS):
        value = shallow(value)
    write_document(as_json(value) if form == "json" else as_yaml(value))


def age(timestamp: str, now: datetime | None = None) -> str:
    """The time since a timestamp of the API server, such as `5m`, `3h` or `12d`; "" if there is none."""
    try:
        then = datetime.fromisoformat(timestamp)
    except ValueError:
        return ""
    seconds = int(((now or datetime.now(UTC)) - then).total_seconds())
    for size, unit in _UNITS:
        if seconds >= 2 * size:
            return f"{seconds // size}{unit}"
    return f"{max(seconds, 0)}s"
