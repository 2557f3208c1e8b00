"""Errors cross the wire as themselves, and nothing else does. Lines are read up to a limit."""

from __future__ import annotations

import asyncio
import socket
from datetime import timedelta
from typing import Any

import orjson
import pytest

from olmkit.errors import Blocked, OlmError, Waiting
from olmkit.jobs import codec, protocol
from tests.integration.olmkit.jobs.example_jobs import Faults


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
    back = codec.decode_error(orjson.loads(orjson.dumps(codec.encode_error(error, [Faults]))), [Faults])
    assert type(back) is type(error)
    assert vars(back) == vars(error)
    assert str(back) == str(error)


@pytest.mark.parametrize(
    "value",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"class": "Blocked"}, id="no arguments"),
        pytest.param({"class": "Blocked", "arguments": ["one"]}, id="arguments of another class"),
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
        codec.decode_error(value, [Faults])


HALF = b"x" * (protocol.MAX_ANSWER_BYTES // 2)


@pytest.mark.parametrize(
    ("said", "is_each", "heard"),
    [
        pytest.param([], False, [], id="a child that says nothing"),
        pytest.param([b"a\nb\n"], False, [b"a", b"b"], id="two lines at once"),
        pytest.param([b"a", b"b\n"], False, [b"ab"], id="a line in two parts"),
        pytest.param([b"a\nb"], False, [b"a"], id="a line without an end is dropped"),
        pytest.param([HALF, b"\n", HALF, b"\n"], False, None, id="all lines together are too much"),
        pytest.param([HALF, b"\n", HALF, b"\n"], True, [HALF, HALF], id="no line alone is too much"),
        pytest.param([HALF, HALF, b"x\n"], True, None, id="one line alone is too much"),
    ],
)
async def test_lines_are_read_up_to_a_limit(said: list[bytes], is_each: bool, heard: list[bytes] | None) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        for each in (ours, theirs):
            each.setblocking(False)

        async def say() -> None:
            for part in said:
                await asyncio.get_running_loop().sock_sendall(theirs, part)
            theirs.close()

        found: list[bytes] = []
        saying = asyncio.create_task(say())
        try:
            await protocol.read_lines(ours, found.append, is_each=is_each)
        except protocol.AnswerTooLarge:
            assert heard is None
        else:
            assert found == heard
        finally:
            saying.cancel()
            await asyncio.wait([saying])
