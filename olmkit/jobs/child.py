"""The life of one child process: reset what it inherited, set limits, enter the sandbox, run the function, answer, end.

Never returns. Knows nothing of what the function does. When the other end of its channel is gone, as that of a controller that
was killed, it ends silently.

A job that is declared with parses=True has its content parsed by another child, which has no network and no credentials, and
writes to one directory only. `Parser` is the job's end of the channel (JobContext.parse), `receive` is the other end. Between
them: one line of JSON with file descriptors, then frames of protocol.py back. That process is forked off the fork server and not
off the job, at the moment when the job asks for it and there is memory for it.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import signal
import socket
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, NoReturn, TypeVar

import orjson

from olmkit.errors import OlmError
from olmkit.jobs import codec, job_functions, protocol, resource_limits, sandbox, syscalls
from olmkit.jobs.job import Job, JobContext, Limits, Progress, Role
from olmkit.jobs.protocol import ChildSpec
from olmkit.jobs.sandbox import Sandbox
from olmkit.store.disk_errors import JOB_FILES, disk_error

Request = TypeVar("Request")
Result = TypeVar("Result")

PROGRESS_INTERVAL_SECONDS = 0.2
"""The shortest time between two progress lines that are sent; lines in between are dropped."""
OUT_OF_MEMORY = b'{"memory":true}\n'
"""The answer of a function that ran out of memory, made beforehand."""
MAX_PASSED_FILES = 4
"""File descriptors that are sent with a request."""
FIRST_SEND_BYTES = 4096
"""The part of the request that is sent together with the descriptors."""


class ParserLost(Exception):
    """The process ended without an answer; its exit status, which the scheduler reads, shows why."""


class ParserFailed(Exception):
    """The process raised an unexpected error. The message is that error's."""


def run(channels: Sequence[int], parent: int, spec: ChildSpec, scratch: Path) -> NoReturn:
    """Serve the first of `channels`, which are sockets, in the role of `spec`, and end the process.

    `parent` is the process ID of the fork server, `scratch` a directory for temporary files. The second channel, if there is one,
    leads to the parser.
    """
    code = 1
    try:
        _belong_to(parent)
        reset_inherited_state(*channels)
        resource_limits.set_limits(spec.limits, many=spec.role is Role.KEEP)
        tempfile.tempdir = os.environ["TMPDIR"] = str(scratch)
        with socket.socket(fileno=channels[0]) as connection:
            _enter_role(connection, channels[1:], spec, scratch)
        code = 0
    except ConnectionError:
        code = 0  # the other end of the channel is gone
    except BaseException:  # nothing may unwind into the fork server's frames
        traceback.print_exc()
    finally:
        with suppress(OSError):
            sys.stderr.flush()
        os._exit(code)


def _enter_role(connection: socket.socket, channels: Sequence[int], spec: ChildSpec, scratch: Path) -> None:
    """Enter the sandbox, and serve the connection until it is closed."""
    around = replace(spec.sandbox, writes=(*spec.sandbox.writes, scratch))
    match spec.role:
        case Role.PROBE:
            sandbox.enter(around)
            asyncio.run(_serve_probes(connection))
        case Role.KEEP:
            sandbox.enter(around)
            _serve(connection, scratch, spec.limits)
        case Role.PARSE:
            syscalls.erase_environment()
            sandbox.enter(replace(around, reads=(), network=False))
            _parse(connection, scratch)
        case Role.WORK:
            sandbox.enter(around)
            _work(connection, channels, scratch)


def _belong_to(parent: int) -> None:
    os.setsid()  # all that it starts is in its process group, which the fork server kills with it
    syscalls.die_with_parent(parent)
    syscalls.set_dumpable(True)  # or its own files below /proc belong to root


def reset_inherited_state(*channels: int) -> None:
    """Close all inherited descriptors except standard error and `channels`; give signals their default handlers."""
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(2, 1)
    end = os.sysconf("SC_OPEN_MAX")
    for last, following in pairwise((2, *sorted(channels), end)):
        os.closerange(last + 1, following)


def _work(connection: socket.socket, channels: Sequence[int], scratch: Path) -> None:
    if not (line := connection.makefile("rb").readline()).endswith(b"\n"):
        return  # the controller ended before it had sent everything
    message = orjson.loads(line)
    progress, directory = _progress(connection), Path(message["directory"]) if message["directory"] else scratch
    context = JobContext(directory, progress)
    for each in channels:
        channel = socket.socket(fileno=each)
        context = replace(
            context, parse=Parser(channel, lambda: _send(connection, protocol.frame("parse", True)), progress)
        )
    _run_function(connection, message, context)


def _serve(connection: socket.socket, scratch: Path, limits: Limits) -> None:
    """Run one function after the other, until the other end is closed or memory runs out."""
    context, is_over = JobContext(scratch), False
    with connection.makefile("rb") as lines:
        while not is_over and (line := lines.readline()).endswith(b"\n"):
            resource_limits.limit_cpu(limits.cpu_seconds)
            asked = codec.from_json(protocol.WorkerRequest, line)
            try:
                answer = _answer(asked.function, lambda kind: codec.from_json(kind, asked.request), context)  # noqa: B023
            except MemoryError:
                answer, is_over = OUT_OF_MEMORY, True
            _send(connection, b'{"id":%d,' % asked.id + answer[1:])
            del line, asked, answer  # before the next request is read


async def _serve_probes(connection: socket.socket) -> None:
    """Run probes, concurrently and one after the other, until the other end is closed. Probes that run then are dropped."""
    reader, writer = await asyncio.open_connection(sock=connection, limit=protocol.MAX_ANSWER_BYTES)
    running: set[asyncio.Task[None]] = set()
    while (line := await reader.readline()).endswith(b"\n"):
        task = asyncio.create_task(_probe(codec.from_json(protocol.WorkerRequest, line), writer))
        running.add(task)
        task.add_done_callback(running.discard)


async def _probe(asked: protocol.WorkerRequest, writer: asyncio.StreamWriter) -> None:
    """Send the result of the probe, its OlmError, or null: the job itself is to run."""
    errors: tuple[type[OlmError], ...] = ()
    answer: dict[str, Any] = {"result": None}
    try:
        found = job_functions.find(asked.function)
        errors = found.job.errors
        if found.probe is None:
            raise LookupError(f"{asked.function} has no probe")
        answer = {"result": codec.encode(await found.probe(codec.from_json(found.job.request, asked.request)))}
    except OlmError as error:
        answer = {"error": codec.encode_error(error, errors)}
    except Exception:
        traceback.print_exc()  # the job itself runs then, and reports what is wrong
    writer.write(orjson.dumps({"id": asked.id, **answer}) + b"\n")


def _parse(connection: socket.socket, scratch: Path) -> None:
    with ExitStack() as stack:
        try:
            message, files = receive(connection, stack)
        except (EOFError, ConnectionError):
            return  # the job has ended
        directory = Path(message["directory"])
        os.environ["TMPDIR"] = tempfile.tempdir = str(scratch)
        sandbox.restrict_files(Sandbox(writes=(directory, scratch)))
        _run_function(connection, message, JobContext(directory, _progress(connection), files))


def _run_function(connection: socket.socket, message: Mapping[str, Any], context: JobContext) -> None:
    try:
        answer = _answer(message["function"], lambda kind: codec.decode(kind, message["request"]), context)
    except MemoryError:
        # Whatever filled the memory is held by the frames of the traceback; sending must not need them.
        answer = OUT_OF_MEMORY
    _send(connection, answer)


def _answer(function: str, request: Callable[[type[Any]], Any], context: JobContext) -> bytes:
    """The answer of a function; `request` decodes its argument."""
    errors: tuple[type[OlmError], ...] = ()
    try:
        found = job_functions.find(function)
        errors = found.job.errors
        result = found.function(request(found.job.request), context)
        if inspect.iscoroutine(result):
            result = asyncio.run(result)
        return protocol.frame("result", codec.encode(result))
    except OlmError as error:
        return protocol.frame("error", codec.encode_error(error, errors))
    except MemoryError:
        raise
    except ParserLost:
        return protocol.frame("lost", True)
    except ParserFailed as error:
        return protocol.frame("unexpected", str(error))
    except (Exception, asyncio.CancelledError) as error:
        # Nothing cancels a job: a cancellation is an error of its function.
        if (waiting := disk_error(error, JOB_FILES)) is not None:
            return protocol.frame("error", codec.encode_error(waiting, errors))
        with suppress(OSError):  # standard error may be a file on a full disk
            traceback.print_exc()
        text = f"{type(error).__name__}: {error}".encode(errors="backslashreplace").decode()
        return protocol.frame("unexpected", text[:500])


def _send(connection: socket.socket, data: bytes) -> None:
    """Send it, or end the process: for a function, a lost reader must not look like an error of its own connections."""
    try:
        connection.sendall(data)
    except ConnectionError:
        os._exit(0)


def _progress(connection: socket.socket) -> Callable[[str], None]:
    due = 0.0

    def progress(line: str) -> None:
        nonlocal due
        now = time.monotonic()
        if now >= due:
            due = now + PROGRESS_INTERVAL_SECONDS
            _send(connection, protocol.frame("progress", line))

    return progress


# --- the parser


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
        with suppress(ConnectionError):  # the parser has ended; what it answered before is read below
            sent = socket.send_fds(self._connection, [line[:FIRST_SEND_BYTES]], [file.fileno() for file in files])
            if sent < len(line):  # sending nothing is an error too when the other end is closed
                await loop.sock_sendall(self._connection, line[sent:])
        return _read(await self._last_line(), job)

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
            with suppress(ConnectionError):  # it ended without having read everything
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
