"""What the tests let children do: functions of the shape olmkit.jobs.Task names."""

from __future__ import annotations

import asyncio
import ctypes
import os
import resource
import signal
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

from olmkit.errors import Blocked, Waiting

Progress = Callable[[str], None]


class Faults(Blocked):
    """An error with more than a reason and a message."""

    def __init__(self, reason: str, message: str, faults: tuple[str, ...]) -> None:
        super().__init__(reason, message)
        self.faults = faults

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.reason, self.message, self.faults)


def echo(arguments: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """Give back what came."""
    return arguments


async def echo_later(arguments: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """The same as a coroutine."""
    return arguments


def report_itself(arguments: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """What the child has and may do."""
    descriptors, null = {}, os.stat(os.devnull).st_rdev
    for number in range(1024):
        with suppress(OSError):
            found = os.fstat(number)
            kind = "socket" if stat.S_ISSOCK(found.st_mode) else "other"
            descriptors[str(number)] = os.devnull if found.st_rdev == null else kind
    return {
        "pid": os.getpid(),
        "parent": os.getppid(),
        "descriptors": descriptors,
        "memory": resource.getrlimit(resource.RLIMIT_AS)[0],
        "files": resource.getrlimit(resource.RLIMIT_NOFILE)[0],
        "core": resource.getrlimit(resource.RLIMIT_CORE)[0],
    }


def count(arguments: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """Add a letter to the file `log`: each run can be seen in it."""
    with Path(arguments["log"]).open("a") as log:
        log.write("x")
    if "fail" in arguments:
        raise Waiting("Later", "not yet", timedelta(seconds=arguments["fail"]))
    return {}


def say_pid_and_wait(arguments: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """Progress names the process; ends when the file `until` is there."""
    progress(str(os.getpid()))
    while not Path(arguments["until"]).exists():
        time.sleep(0.005)
    return {}


def hang(arguments: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """Deaf to everything but SIGKILL."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    progress(str(os.getpid()))
    while True:
        time.sleep(60)


def block(arguments: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """Raise Blocked."""
    raise Blocked("Bad", "the content is wrong")


def block_with_faults(arguments: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """Raise a subclass with facts."""
    raise Faults("Bad", "two faults", ("one", "two"))


def wait(arguments: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """Raise Waiting."""
    raise Waiting("Later", "not yet", timedelta(seconds=7))


def fail(arguments: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """Raise what nobody foresaw."""
    raise KeyError("surprise \udcff")


def eat_memory(arguments: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """More and more, in pieces."""
    held = []
    while True:
        held.append(bytes(16 * 1024 * 1024))  # never written to: it takes no time worth counting


def spin(arguments: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """Burn CPU."""
    while True:
        pass


def crash(arguments: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """Read address zero, as a C parser whose stack overflowed might."""
    ctypes.string_at(0)
    return {}


def be_killed(arguments: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """As the kernel does when memory is short."""
    os.kill(os.getpid(), signal.SIGKILL)
    return {}


def leave(arguments: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """End without an answer."""
    os._exit(3)


def chatter(arguments: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """Far more than an answer may hold."""
    return {"text": "x" * 9 * 1024 * 1024}


def write_much(arguments: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """A file larger than allowed; the limit shows as an OSError."""
    try:
        with Path(arguments["file"]).open("wb") as file:
            for _ in range(64):
                file.write(bytes(1024 * 1024))
    except OSError as error:
        return {"error": error.errno}
    return {"error": None}


def forge(arguments: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """Say a line that is no frame, past the functions that make frames."""
    for name in os.listdir("/proc/self/fd"):
        if os.path.lexists(f"/proc/self/fd/{name}") and "socket" in os.readlink(f"/proc/self/fd/{name}"):
            os.write(int(name), arguments["line"].encode() + b"\n")
    return {}


async def look_up(arguments: dict[str, Any]) -> dict[str, Any] | None:
    """A look whose answer came with it."""
    return {**arguments["answer"], "pid": os.getpid()} if arguments.get("answer") is not None else None


async def look_again(arguments: dict[str, Any]) -> dict[str, Any] | None:
    """Ends when the file `until` is there."""
    return await asyncio.to_thread(say_pid_and_wait, arguments, lambda line: None) | {"pid": os.getpid()}


async def refuse_to_look(arguments: dict[str, Any]) -> dict[str, Any] | None:
    """Raise Waiting."""
    raise Waiting("Later", "not yet", timedelta(seconds=7))


async def look_wrong(arguments: dict[str, Any]) -> dict[str, Any] | None:
    """Raise what nobody foresaw."""
    raise KeyError("surprise")


async def die_looking(arguments: dict[str, Any]) -> dict[str, Any] | None:
    """The child is gone, for all who asked it."""
    os._exit(3)
