"""The life of one job in its own process: give up everything inherited, take limits, run the function, answer, end.

Called by the fork server right after the fork; never returns. Knows nothing of what the function does.
"""

from __future__ import annotations

import asyncio
import ctypes
import inspect
import os
import resource
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, NoReturn

import orjson

from olmkit.errors import OlmError
from olmkit.jobs import looking, wire

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
PROGRESS_EVERY = 0.2
"""Seconds between two progress lines on the wire; the ones between are dropped."""


def die_with_parent(parent: int) -> None:
    """SIGKILL for this process when the thread that made it ends; at once if it has ended already."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def inherit_orphans() -> None:
    """Processes whose parent ends become children of this one, if that comes from here; it has to wait for them."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")


def live(channel: int, parent: int, limits: Mapping[str, int], *, looks: bool) -> NoReturn:
    """Run the task that arrives on `channel`, a socket, or all `looks` that do, and end the process."""
    code = 1
    try:
        die_with_parent(parent)
        leave_everything_but(channel)
        _take(limits)
        with socket.socket(fileno=channel) as connection:
            if looks:
                asyncio.run(looking.answer_all(connection))
            else:
                _work(connection)
        code = 0
    except BaseException:  # nothing may unwind into the fork server's frames
        traceback.print_exc()
    finally:
        with suppress(OSError):
            sys.stderr.flush()
        os._exit(code)


def leave_everything_but(channel: int) -> None:
    """Close what was inherited, standard error aside; signals mean what they usually do."""
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(2, 1)
    highest = max(int(name) for name in os.listdir("/proc/self/fd"))
    os.closerange(3, channel)
    os.closerange(channel + 1, highest + 1)


def _take(limits: Mapping[str, int]) -> None:
    with open("/proc/self/statm") as statm:
        mapped = int(statm.read().split()[0]) * resource.getpagesize()
    wanted = {
        resource.RLIMIT_AS: (mapped + limits["memory"],) * 2,
        resource.RLIMIT_CPU: (limits["cpu"], limits["cpu"] + 5),
        resource.RLIMIT_NOFILE: (limits["files"],) * 2,
        resource.RLIMIT_FSIZE: (limits["file_size"],) * 2,
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


def _work(connection: socket.socket) -> None:
    request = orjson.loads(connection.makefile("rb").readline())
    try:
        answer = _answer(request, _progress(connection))
    except MemoryError:
        # Whatever filled the memory hangs on the traceback's frames; sending must not need them.
        answer = b'{"memory":true}\n'
    connection.sendall(answer)


def _answer(request: dict[str, Any], progress: Callable[[str], None]) -> bytes:
    try:
        function = wire.resolve(request["function"])
        result = function(request["arguments"], progress)
        if inspect.iscoroutine(result):
            result = asyncio.run(result)
        return wire.frame("result", result)
    except OlmError as error:
        return wire.frame("error", wire.error_to_json(error))
    except MemoryError:
        raise
    except Exception as error:
        traceback.print_exc()
        text = f"{type(error).__name__}: {error}".encode(errors="backslashreplace").decode()
        return wire.frame("unexpected", text[:500])


def _progress(connection: socket.socket) -> Callable[[str], None]:
    due = 0.0

    def progress(line: str) -> None:
        nonlocal due
        now = time.monotonic()
        if now >= due:
            due = now + PROGRESS_EVERY
            connection.sendall(wire.frame("progress", line))

    return progress
