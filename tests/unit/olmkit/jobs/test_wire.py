"""Errors cross the wire as themselves, and nothing else does."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import orjson
import pytest

from olmkit.errors import Blocked, OlmError, Waiting
from olmkit.jobs import wire
from tests.unit.olmkit.jobs.work import Faults


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(OlmError("Reason", "text"), id="the base"),
        pytest.param(Blocked("Reason", 'with "quotes" and ünïcode'), id="Blocked"),
        pytest.param(Waiting("Reason", "text", timedelta(seconds=2.5)), id="Waiting keeps its time"),
        pytest.param(Faults("Reason", "text", ("a", "b")), id="a subclass keeps its facts"),
    ],
)
def test_an_error_comes_back_as_it_went(error: OlmError) -> None:
    back = wire.error_from_json(orjson.loads(orjson.dumps(wire.error_to_json(error))))
    assert type(back) is type(error)
    assert vars(back) == vars(error)
    assert str(back) == str(error)


@pytest.mark.parametrize(
    "value",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"class": "olmkit.errors:Blocked"}, id="no arguments"),
        pytest.param({"class": "olmkit.errors:Blocked", "arguments": ["one"]}, id="arguments of another class"),
        pytest.param({"class": "olmkit.errors:Absent", "arguments": []}, id="a class that is not there"),
        pytest.param({"class": "olmkit.absent:Blocked", "arguments": []}, id="a module that is not there"),
        pytest.param({"class": "no colon", "arguments": []}, id="no name of a class"),
        pytest.param({"class": 7, "arguments": []}, id="no text"),
        pytest.param({"class": "builtins:ValueError", "arguments": ["x"]}, id="an error of somebody else"),
        pytest.param({"class": "os:getpid", "arguments": []}, id="a function is not called"),
    ],
)
def test_what_is_no_error_of_ours_is_refused(value: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r".*"):
        wire.error_from_json(value)
