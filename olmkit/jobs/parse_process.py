"""The process that parses for a job: it has no network and no credentials, and writes to one directory only.

`Parser` is the job's end of the channel (JobContext.parse), for jobs declared with parses=True; `receive` is the other end's
(child.py). Between them: one line of JSON with file descriptors, then frames of protocol.py back. The process is forked off
the fork server and not off the job, at the moment when the job asks for it and there is memory for it.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, TypeVar

import orjson

from olmkit.jobs import codec, protocol
from olmkit.jobs.job import Job, Progress

Request = TypeVar("Request")
Result = TypeVar("Result")

MAX_PASSED_FILES = 4
"""File descriptors that are sent with a request."""
FIRST_SEND_BYTES = 4096
"""The part of the request that is sent together with the descriptors."""


class ParserLost(Exception):
    """The process ended without an answer; its exit status, which the scheduler reads, shows why."""


class ParserFailed(Exception):
    """The process raised an unexpected error. The message is that error's."""


class Parser:
    """The job's end of the channel to the process. `start` has the process started. See olmkit.jobs.job.Parse."""

    def __init__(self, connection: socket.socket, start: Callable[[], None], progress: Progress) -> None:
        self._connection = connection
        self._start = start
        self._progress = progress

    async def __call__(
        self, job: Job[Request, Result], request: Request, files: Sequence[IO[bytes]], directory: Path
    ) -> Result:
        """Run the job in the process, as olmkit.jobs.job.Parse describes."""
        self._start()
        message = {"function": job.function, "request": codec.encode(request), "directory": str(directory)}
        loop, line = asyncio.get_running_loop(), orjson.dumps(message) + b"\n"
        self._connection.setblocking(False)
        try:
            sent = socket.send_fds(self._connection, [line[:FIRST_SEND_BYTES]], [file.fileno() for file in files])
            await loop.sock_sendall(self._connection, line[sent:])
            return _read(await self._last_line(), job)
        except ConnectionError as error:
            raise ParserLost from error

    async def _last_line(self) -> bytes:
        """The answer. The channel ends when the process and all that it started are gone (fork_server.py): from then on nothing
        changes what it wrote.
        """
        last: bytes | None = None

        def on_line(line: bytes) -> None:
            nonlocal last
            match orjson.loads(line):
                case {"progress": str(text)}:
                    self._progress(text)
                case _:
                    last = line

        try:
            await protocol.read_lines(self._connection, on_line)
        except protocol.AnswerTooLarge:
            raise ParserFailed("the answer of the parser is too large") from None
        if last is None:
            raise ParserLost
        return last


def _read(line: bytes, job: Job[Any, Result]) -> Result:
    """The result. Raises the error that the line holds instead."""
    match orjson.loads(line):
        case {"result": result}:
            try:
                return codec.decode(job.result, result)
            except ValueError as error:
                raise ParserFailed("the answer of the parser cannot be read") from error
        case {"error": dict(error)}:
            raise codec.decode_error(error, job.errors)
        case {"memory": True}:
            raise MemoryError
        case {"unexpected": str(text)}:
            raise ParserFailed(text)
        case _:
            raise ParserFailed("the answer of the parser cannot be read")


def receive(connection: socket.socket, stack: ExitStack) -> tuple[dict[str, Any], list[IO[bytes]]]:
    """The message of `Parser`, and its files, which `stack` closes. Raises EOFError when the job has ended."""
    data, descriptors, _, _ = socket.recv_fds(connection, FIRST_SEND_BYTES, MAX_PASSED_FILES)
    files: list[IO[bytes]] = [stack.enter_context(os.fdopen(number, "r+b")) for number in descriptors]
    parts = [data]
    while not parts[-1].endswith(b"\n"):
        parts.append(connection.recv(1 << 20))
        if not parts[-1]:
            raise EOFError
    return orjson.loads(b"".join(parts)), files
