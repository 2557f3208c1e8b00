"""The protocol between the processes of olmkit.jobs: one JSON object per line, the reader of lines, and the spec of a child.

A child reads hostile input, so its parent accepts nothing from it but JSON of a bounded size, which codec.py decodes.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec
import orjson

from olmkit.jobs.job import Limits, Role
from olmkit.jobs.sandbox import Sandbox

MAX_ANSWER_BYTES = 8 * 1024 * 1024
"""The limit of all that a child may send; results are small, content is passed on disk."""
READ_BYTES = 64 * 1024


@dataclass(frozen=True)
class ChildSpec:
    """The child process that the fork server is asked for."""

    role: Role
    limits: Limits
    sandbox: Sandbox


class WorkerRequest(msgspec.Struct):
    """A request to a process that answers many; the answer has the same number."""

    id: int
    function: str
    request: msgspec.Raw


class AnswerTooLarge(ValueError):
    """A child sent more than it may."""

    def __init__(self) -> None:
        super().__init__("the child sent too much")


def frame(kind: str, value: Any) -> bytes:
    """One line. Raises TypeError for what JSON cannot hold."""
    return orjson.dumps({kind: value}) + b"\n"


async def read_lines(
    channel: socket.socket,
    on_line: Callable[[bytes], None],
    max_bytes: int = MAX_ANSWER_BYTES,
    *,
    is_each: bool = False,
) -> None:
    """Pass each line to `on_line` until the other end closes the channel. A line without an end is dropped.

    Raises AnswerTooLarge when all lines together have more than `max_bytes`, or with `is_each`, for a child that answers many
    requests, when one has. Raises OSError, and what `on_line` raises.
    """
    loop = asyncio.get_running_loop()
    received, rest = 0, bytearray()
    while data := await loop.sock_recv(channel, READ_BYTES):
        received += len(data)
        if received > max_bytes:
            raise AnswerTooLarge
        *lines, unfinished = data.split(b"\n")
        for line in lines:
            on_line(bytes(rest + line) if rest else line)
            rest.clear()
        rest += unfinished
        if is_each and lines:
            received = len(rest)
