"""Prints the revisions of what Operators have installed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from olmctl.operators.output import Column, age, print_table
from olmctl.terminal_output import say
from olmkit.api.meta import Object

_COLUMNS = (
    Column("OPERATOR"),
    Column("REVISION"),
    Column("VERSION"),
    Column("OUTCOME"),
    Column("AGE"),
    Column("REASON", empty=""),
)


def print_revisions(operators: Sequence[Object]) -> None:
    """Print the values of with_revisions() as a table, the newest revision of each Operator first. Nothing if there is none."""
    if rows := [row for each in operators for row in _rows(each)]:
        say()
        print_table(_COLUMNS, rows)


def _rows(operator: Object) -> Iterator[tuple[object, ...]]:
    for each in operator.get("history") or ():
        number = each["revision"]
        shown = f"{number} (installed)" if number == operator.get("revision") else number
        ages = age(each["startedAt"])
        yield operator["name"], shown, each.get("version"), each["outcome"], ages, each.get("reason")
