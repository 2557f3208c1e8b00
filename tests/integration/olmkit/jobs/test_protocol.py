"""read_lines: lines are split, and limited in size."""

from __future__ import annotations

import asyncio
import socket

import pytest

from olmkit.jobs import protocol

HALF = b"x" * (protocol.MAX_ANSWER_BYTES // 2)


@pytest.mark.parametrize(
    ("sent", "is_each", "received"),
    [
        pytest.param([], False, [], id="a child that sends nothing"),
        pytest.param([b"a\nb\n"], False, [b"a", b"b"], id="two lines at once"),
        pytest.param([b"a", b"b\n"], False, [b"ab"], id="a line in two parts"),
        pytest.param([b"a\nb"], False, [b"a"], id="a line without an end is dropped"),
        pytest.param([HALF, b"\n", HALF, b"\n"], False, None, id="all lines together are too large"),
        pytest.param([HALF, b"\n", HALF, b"\n"], True, [HALF, HALF], id="no single line is too large"),
        pytest.param([HALF, HALF, b"x\n"], True, None, id="a single line is too large"),
    ],
)
async def test_lines_are_read_up_to_a_limit(sent: list[bytes], is_each: bool, received: list[bytes] | None) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        for each in (ours, theirs):
            each.setblocking(False)

        async def send() -> None:
            for part in sent:
                await asyncio.get_running_loop().sock_sendall(theirs, part)
            theirs.close()

        found: list[bytes] = []
        sending = asyncio.create_task(send())
        try:
            await protocol.read_lines(ours, found.append, is_each=is_each)
        except protocol.AnswerTooLarge:
            assert received is None
        else:
            assert found == received
        finally:
            sending.cancel()
            await asyncio.wait([sending])
