"""Log lines are JSON with the keys that log pipelines of Kubernetes expect."""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path
from typing import Any

import pytest

from olmkit.runtime.logs import JsonFormatter, pass_facts


def line(message: str = "hello", *arguments: object, **extra: object) -> dict[str, Any]:
    record = logging.getLogger("olmkit.test").makeRecord(
        "olmkit.test", logging.WARNING, "file.py", 1, message, arguments, sys.exc_info(), extra=dict(extra)
    )
    text = JsonFormatter().format(record)
    assert "\n" not in text
    parsed: dict[str, Any] = json.loads(text)
    return parsed


def test_a_line_has_time_level_logger_message_and_extra_fields() -> None:
    found = line("took %d s", 3, catalog="a")
    assert found.pop("ts").endswith("Z")
    assert found == {"level": "warning", "logger": "olmkit.test", "msg": "took 3 s", "catalog": "a"}


def test_a_line_during_a_pass_has_controller_name_and_reconcile_id() -> None:
    with pass_facts("catalogd", "community", "123"):
        inside = line()
    assert {key: inside[key] for key in ("controller", "name", "reconcileID")} == {
        "controller": "catalogd",
        "name": "community",
        "reconcileID": "123",
    }
    assert "controller" not in line()


def test_an_exception_becomes_error_and_stacktrace() -> None:
    try:
        raise ValueError("bad\nvalue")
    except ValueError:
        found = line()
    assert found["error"] == "bad\nvalue"
    assert "ValueError" in found["stacktrace"]


@pytest.mark.parametrize(
    "value",
    [
        pytest.param({1, 2}, id="a set"),
        pytest.param({3: object()}, id="a mapping with other keys than strings"),
        pytest.param(b"\xff", id="bytes"),
    ],
)
def test_extra_fields_of_any_type_are_written(value: object) -> None:
    assert "thing" in line(thing=value)


def test_a_lone_surrogate_anywhere_does_not_lose_the_line() -> None:
    """It stands for a byte of a file name that is no UTF-8."""
    try:
        raise ValueError("name \udcff")
    except ValueError:
        found = line("hello \udcff", path="\udcff", more={"\udcff": ["\ud800", 7, None]}, other=Path("/\udcff"))
    assert (found["msg"], found["path"], found["error"]) == ("hello \\udcff", "\\udcff", "name \\udcff")
    assert (found["more"], found["other"]) == ({"\\udcff": ["\\ud800", 7, None]}, "/\\udcff")
