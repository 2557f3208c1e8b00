"""Errors of jobs are decoded as they were encoded, and nothing else is decoded as an error."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import orjson
import pytest

from olmkit.errors import Blocked, OlmError, Waiting
from olmkit.jobs import codec
from olmkit.sources.errors import BadContent
from tests.integration.olmkit.jobs.example_jobs import Faults

CLASSES = [Faults, BadContent]


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(OlmError("Reason", "text"), id="the base class"),
        pytest.param(Blocked("Reason", 'with "quotes" and ünïcode'), id="Blocked"),
        pytest.param(Waiting("Reason", "text", timedelta(seconds=2.5)), id="Waiting keeps its time"),
        pytest.param(Faults("Reason", "text", ("a", "b")), id="a subclass keeps its fields"),
        pytest.param(Blocked("Reason", "text", ["b", "a", "a\udcff"]), id="what it is about"),
        pytest.param(BadContent("Reason", "text", "image@sha256:1"), id="the content that it is about"),
    ],
)
def test_an_error_is_decoded_as_it_was_encoded(error: OlmError) -> None:
    back = codec.decode_error(orjson.loads(orjson.dumps(codec.encode_error(error, CLASSES))), CLASSES)
    assert type(back) is type(error)
    assert vars(back) == vars(error)
    assert str(back) == str(error)


@pytest.mark.parametrize(
    "value",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"class": "Blocked"}, id="no arguments"),
        pytest.param({"class": "Blocked", "arguments": ["one"]}, id="arguments of another class"),
        pytest.param({"class": "olmkit.errors:Absent", "arguments": []}, id="a class that does not exist"),
        pytest.param({"class": "olmkit.absent:Blocked", "arguments": []}, id="a module that does not exist"),
        pytest.param({"class": "no colon", "arguments": []}, id="an invalid class name"),
        pytest.param({"class": 7, "arguments": []}, id="a class name that is not text"),
        pytest.param({"class": "builtins:ValueError", "arguments": ["x"]}, id="another error class"),
        pytest.param(
            {"class": "Waiting", "arguments": ["Reason", "text", {"seconds": 1e300}]},
            id="a time that no timedelta holds",
        ),
        pytest.param({"class": "Blocked", "arguments": ["Reason", "text", [7]]}, id="a subject that is not text"),
        pytest.param({"class": "Blocked", "arguments": ["Reason", 7]}, id="a message that is not text"),
        pytest.param({"class": "os:getpid", "arguments": []}, id="a function is not called"),
    ],
)
def test_only_declared_errors_are_decoded(value: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r".*"):
        codec.decode_error(value, [Faults])
