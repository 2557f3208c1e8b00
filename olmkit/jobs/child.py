"""The life of one job in its own process: give up everything inherited, take limits, enter the sandbox, run the function, answer,
end.

Called by the fork server right after the fork; never returns. Knows nothing of what the function does.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import resource
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
from typing import Any, NoReturn

import orjson

from olmkit.errors import OlmError
from olmkit.jobs import parser, probe_worker, protocol, sandbox, syscalls
from olmkit.jobs.job import Role
from olmkit.jobs.parser import Parser, ParserFailed, ParserLost
from olmkit.jobs.sandbox import Sandbox

PROGRESS_INTERVAL_SECONDS = 0.2
"""Seconds between two progress lines on the wire; the ones between are dropped."""


def run(channels: Sequence[int], parent: int, asked: Mapping[str, Any], scratch: Path) -> NoReturn:
    """Do what arrives on the first of `channels`, sockets, as the role says, and end the process.

    `asked` is what the fork server was asked for (server.py), `scratch` a folder for temporary files. The second channel, if
    there is one, leads to the process that parses.
    """
    code = 1
    try:
        _belong_to(parent)
        reset_inherited_state(*channels)
        _take(asked["limits"])
        tempfile.tempdir = os.environ["TMPDIR"] = str(scratch)
        around = Sandbox.from_json(asked["sandbox"])
        around = replace(around, writes=(*around.writes, scratch))
        with socket.socket(fileno=channels[0]) as connection:
            match asked["role"]:
                case Role.PROBE:
                    sandbox.enter(around)
                    asyncio.run(probe_worker.serve_probes(connection))
                case Role.PARSE:
                    syscalls.erase_environment()
                    sandbox.enter(replace(around, reads=(), network=False))
                    _parse(connection, scratch)
                case _:
                    sandbox.enter(around)
                    _work(connection, channels[1:])
        code = 0
    except BaseException:  # nothing may unwind into the fork server's frames
        traceback.print_exc()
    finally:
        with suppress(OSError):
            sys.stderr.flush()
        os._exit(code)


def _belong_to(parent: int) -> None:
    os.setsid()  # all that it starts is in its group, which the fork server ends with it
    syscalls.die_with_parent(parent)
    syscalls.set_dumpable(True)  # or its own files below /proc are root's


def reset_inherited_state(*channels: int) -> None:
    """Close what was inherited, standard error aside; signals mean what they usually do."""
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(2, 1)
    end = os.sysconf("SC_OPEN_MAX")
    for last, following in pairwise((2, *sorted(channels), end)):
        os.closerange(last + 1, following)


_mapped: list[int] = []
"""Bytes of address space that this process had when it began, once that is known; it can only be asked outside of the sandbox."""


def limit_memory(size: int) -> None:
    """For a process that a job forked: at most that many bytes of memory, and no more than the job may have itself."""
    if _mapped:
        allowed = resource.getrlimit(resource.RLIMIT_AS)[0]
        limit = min(allowed, _mapped[0] + size) if allowed != resource.RLIM_INFINITY else _mapped[0] + size
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def _take(limits: Mapping[str, int]) -> None:
    with open("/proc/self/statm") as statm:
        mapped = int(statm.read().split()[0]) * resource.getpagesize()
    _mapped[:] = [mapped]
    wanted = {
        resource.RLIMIT_AS: (mapped + limits["memory_bytes"],) * 2,
        resource.RLIMIT_CPU: (limits["cpu_seconds"], limits["cpu_seconds"] + 5),
        resource.RLIMIT_NOFILE: (limits["open_files"],) * 2,
        resource.RLIMIT_FSIZE: (limits["file_bytes"],) * 2,
        resource.RLIMIT_CORE: (0, 0),
    }
    for what, (soft, hard) in wanted.items():
        allowed = resource.getrlimit(what)[1]
        if allowed != resource.RLIM_INFINITY:
            soft, hard = min(soft, allowed), min(hard, allowed)
        resource.setrlimit(what, (soft, hard))
    # When the container's memory runs out the kernel shall take the job, not the controller.
    with suppress(OSError), open("/proc/self/oom_score_adj", "w") as score:
        score.write("1000")


def _work(connection: socket.socket, channels: Sequence[int]) -> None:
    request = orjson.loads(connection.makefile("rb").readline())
    more = [
        Parser(socket.socket(fileno=each), lambda: connection.sendall(protocol.frame("parse", True)))
        for each in channels
    ]
    _do(connection, lambda progress: protocol.resolve(request["function"])(request["arguments"], progress, *more))


def _parse(connection: socket.socket, scratch: Path) -> None:
    with ExitStack() as stack:
        try:
            request, files = parser.receive(connection, stack)
        except (EOFError, ConnectionError):
            return  # the job ended meanwhile
        folder = Path(request["folder"])
        os.environ["TMPDIR"] = tempfile.tempdir = str(scratch)
        sandbox.restrict_writes((folder, scratch))
        _do(connection, lambda progress: protocol.resolve(request["function"])(request["arguments"], files, progress))


def _do(connection: socket.socket, work: Callable[[Callable[[str], None]], Any]) -> None:
    try:
        answer = _answer(work, _progress(connection))
    except MemoryError:
        # Whatever filled the memory hangs on the traceback's frames; sending must not need them.
        answer = b'{"memory":true}\n'
    connection.sendall(answer)


def _answer(work: Callable[[Callable[[str], None]], Any], progress: Callable[[str], None]) -> bytes:
    try:
        result = work(progress)
        if inspect.iscoroutine(result):
            result = asyncio.run(result)
        return protocol.frame("result", result)
    except OlmError as error:
        return protocol.frame("error", protocol.error_to_json(error))
    except MemoryError:
        raise
    except ParserLost:
        return protocol.frame("lost", True)
    except ParserFailed as error:
        return protocol.frame("unexpected", str(error))
    except Exception as error:
        traceback.print_exc()
        text = f"{type(error).__name__}: {error}".encode(errors="backslashreplace").decode()
        return protocol.frame("unexpected", text[:500])


def _progress(connection: socket.socket) -> Callable[[str], None]:
    due = 0.0

    def progress(line: str) -> None:
        nonlocal due
        now = time.monotonic()
        if now >= due:
            due = now + PROGRESS_INTERVAL_SECONDS
            connection.sendall(protocol.frame("progress", line))

    return progress
