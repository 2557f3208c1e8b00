"""Prints the results of commands: tables as kubectl's, and objects as JSON, YAML or names.

Text of catalogs and of the cluster is shown without characters that control a terminal; in JSON and YAML they are escaped.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import orjson
import yaml

from olmctl.terminal import clean, width
from olmctl.terminal_output import coloured
from olmkit.api.meta import Object
from olmkit.gocompat.yaml_dumper import UNLIMITED_WIDTH, TreeDumper
from olmkit.gocompat.yaml_scalars import is_plain_string

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
        print(_SEPARATOR.join(cells).rstrip())


def _cell(value: object) -> str:
    if isinstance(value, Indented):
        return value.prefix + clean(value.text)
    return clean("" if value is None else str(value))


def print_object(value: Any, form: str) -> None:
    """Print a value as JSON or YAML."""
    sys.stdout.write(as_json(value) if form == "json" else as_yaml(value))


def object_list(items: Iterable[Object]) -> Object:
    """The objects as kubectl prints several of them."""
    return {"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": list(items)}


def without_managed_fields(obj: Object) -> Object:
    """The object as kubectl prints it: without metadata.managedFields."""
    metadata = {key: value for key, value in obj["metadata"].items() if key != "managedFields"}
    return {**obj, "metadata": metadata}


def as_json(value: Any) -> str:
    """JSON with an indent of 2, as orjson writes it, in which characters that are not printable are escaped."""
    text = orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()
    if text.replace("\n", "").isprintable():
        return text
    return re.sub(r"[^\n]", lambda match: match[0] if match[0].isprintable() else _escaped(match[0]), text)


def _escaped(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


class _Dumper(TreeDumper):
    """Quotes every string that a reader of YAML 1.1 or 1.2 could read as another type."""

    def style(self, text: str) -> str | None:
        return None if is_plain_string(text) else "'"


def as_yaml(value: Any) -> str:
    """A YAML document without a start marker, in which characters that are not printable are escaped."""
    for is_unicode_kept in (True, False):
        text: str = yaml.dump(
            value, Dumper=_Dumper, sort_keys=False, allow_unicode=is_unicode_kept, width=UNLIMITED_WIDTH
        )
        if text.replace("\n", "").isprintable():
            break
    return text


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
