"""Log lines are JSON with the keys that log pipelines of Kubernetes expect."""

from __future__ import annotations

import json
import logging
import sys
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


def test_a_line_has_time_level_logger_message_and_what_it_adds() -> None:
    found = line("took %d s", 3, catalog="a")
    assert found.pop("ts").endswith("Z")
    assert found == {"level": "warning", "logger": "olmkit.test", "msg": "took 3 s", "catalog": "a"}


def test_a_line_of_a_pass_names_controller_object_and_pass() -> None:
    with pass_facts("catalogd", "community", "123"):
        inside = line()
    assert {key: inside[key] for key in ("controller", "name", "reconcileID")} == {
        "controller": "catalogd",
        "name": "community",
        "reconcileID": "123",
    }
    assert "controller" not in line()


def test_an_exception_becomes_its_text_and_its_stack_in_the_same_line() -> None:
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
        pytest.param({3: object()}, id="an odd mapping"),
        pytest.param(b"\xff", id="bytes"),
    ],
)
def test_whatever_a_line_adds_it_is_written(value: object) -> None:
    assert "thing" in line(thing=value)
