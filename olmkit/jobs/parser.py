"""The process that parses for a job: it has no network, no login, and writes to one folder only.

`Parser` is what a job's function is given when its Task says `parses`; `receive` is the other end's (child.py). Between the two:
one line of JSON with descriptors of files, then frames of wire.py back. It is forked, off the fork server and not off the job,
at the moment the job asks for it and there is memory for it.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, TypeAlias

import orjson

from olmkit.jobs import protocol

MAX_FILES = 4
"""Descriptors that cross with a request."""
FIRST_SEND_BYTES = 4096
"""Bytes of the request that the descriptors travel with."""

Progress = Callable[[str], None]


class ParserLost(Exception):
    """It ended without an answer; whoever waits for the process knows why."""


class ParserFailed(Exception):
    """An error that nobody foresaw, in its words."""


Parse: TypeAlias = Callable[[str, Mapping[str, Any], Sequence[IO[bytes]], Path, Progress], Awaitable[dict[str, Any]]]
"""How a job has something parsed: a Parser, of which `__call__` says what it takes, returns and raises."""


class Parser:
    """The job's end. `ask` has the process made."""

    def __init__(self, connection: socket.socket, ask: Callable[[], None]) -> None:
        self._connection = connection
        self._ask = ask

    async def __call__(
        self,
        function: str,
        arguments: Mapping[str, Any],
        files: Sequence[IO[bytes]],
        folder: Path,
        progress: Progress,
    ) -> dict[str, Any]:
        """What "module:name" of `f(arguments, files, progress) -> dict` returns, called in the other process.

        It may write below `folder` only. Once per job. Raises its OlmError, MemoryError, ParserLost, ParserFailed.
        """
        self._ask()
        request = {"function": function, "arguments": arguments, "folder": str(folder)}
        loop, line = asyncio.get_running_loop(), orjson.dumps(request) + b"\n"
        self._connection.setblocking(False)
        try:
            sent = socket.send_fds(self._connection, [line[:FIRST_SEND_BYTES]], [file.fileno() for file in files])
            await loop.sock_sendall(self._connection, line[sent:])
            return await self._answer(progress)
        except ConnectionError as error:
            raise ParserLost from error

    async def _answer(self, progress: Progress) -> dict[str, Any]:
        """What it said at last. Only when the line ends is that process gone with all that it started (server.py), and what
        it wrote stays as it is.
        """
        last: bytes | None = None

        def hear(line: bytes) -> None:
            nonlocal last
            match orjson.loads(line):
                case {"progress": str(text)}:
                    progress(text)
                case _:
                    last = line

        try:
            await protocol.read_lines(self._connection, hear)
        except protocol.AnswerTooLarge:
            raise ParserFailed("the process that parses answered with too much") from None
        if last is None:
            raise ParserLost
        return _read(last)


def _read(line: bytes) -> dict[str, Any]:
    """The result. Raises what it says instead of one."""
    match orjson.loads(line):
        case {"result": dict(result)}:
            return result
        case {"error": dict(error)}:
            raise protocol.error_from_json(error)
        case {"memory": True}:
            raise MemoryError
        case {"unexpected": str(text)}:
            raise ParserFailed(text)
        case _:
            raise ParserFailed("the answer of the process that parses cannot be read")


def receive(connection: socket.socket, stack: ExitStack) -> tuple[dict[str, Any], list[IO[bytes]]]:
    """The request, and its files, which `stack` closes. Raises EOFError when the job ended before."""
    data, descriptors, _, _ = socket.recv_fds(connection, FIRST_SEND_BYTES, MAX_FILES)
    files: list[IO[bytes]] = [stack.enter_context(os.fdopen(number, "r+b")) for number in descriptors]
    parts = [data]
    while not parts[-1].endswith(b"\n"):
        parts.append(connection.recv(1 << 20))
        if not parts[-1]:
            raise EOFError
    return orjson.loads(b"".join(parts)), files
