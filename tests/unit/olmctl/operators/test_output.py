"""Tables and ages of the commands that use a cluster."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
import yaml

from olmctl.operators.output import Column, age, print_object, print_table

COLUMNS = (Column("NAME"), Column("STATUS", is_status=True), Column("MESSAGE", is_wide=True))


def test_a_table_is_aligned_and_empty_cells_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(COLUMNS, [("漢字", "True", "x"), ("long-name", None, "y")])
    assert capsys.readouterr().out == "NAME        STATUS\n漢字        True\nlong-name   <none>\n"


def test_a_wide_table_without_headers(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(COLUMNS, [("a", "True", "x\x1b[31m y")], is_wide=True, headers=False)
    assert capsys.readouterr().out == "a   True   x\ufffd[31m y\n"


def test_nothing_is_printed_for_no_rows_without_headers(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(COLUMNS, [], headers=False)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_what_is_beside_a_value_that_nests_too_deep_is_printed(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    deep: Any = []
    for _ in range(500):
        deep = {"a": [deep]}
    print_object([{"name": "a", "spec": deep}, {"name": "b", "spec": [{"c": []}]}], form)
    first, second = yaml.safe_load(capsys.readouterr().out)
    assert (first["name"], second) == ("a", {"name": "b", "spec": [{"c": []}]})


@pytest.mark.parametrize(
    ("timestamp", "shown"),
    [
        pytest.param("2026-01-01T00:00:00Z", "0s", id="just now"),
        pytest.param("2026-01-01T00:00:09Z", "0s", id="a clock that is behind"),
        pytest.param("2025-12-31T23:58:30Z", "90s", id="below two minutes in seconds"),
        pytest.param("2025-12-31T22:30:00Z", "90m", id="below two hours in minutes"),
        pytest.param("2025-12-20T00:00:00Z", "12d", id="days"),
        pytest.param("", "", id="no time"),
    ],
)
def test_ages(timestamp: str, shown: str) -> None:
    assert age(timestamp, datetime(2026, 1, 1, tzinfo=UTC)) == shown
