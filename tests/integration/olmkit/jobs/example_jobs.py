"""The jobs of the tests: functions whose requests and results are dicts."""

from __future__ import annotations

import asyncio
import ctypes
import os
import resource
import signal
import stat
import time
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

from olmkit.errors import Blocked, Waiting
from olmkit.jobs import Job, JobContext, implement
from olmkit.jobs.registry import Function, Probe

Values = dict[str, Any]


class Faults(Blocked):
    """An error with more than a reason and a message."""

    def __init__(self, reason: str, message: str, faults: tuple[str, ...]) -> None:
        super().__init__(reason, message)
        self.faults = faults

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.reason, self.message, self.faults)


def echo(arguments: Values, context: JobContext) -> Values:
    """Give back what came."""
    return arguments


async def echo_later(arguments: Values, context: JobContext) -> Values:
    """The same as a coroutine."""
    return arguments


def report_itself(arguments: Values, context: JobContext) -> Values:
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


def count(arguments: Values, context: JobContext) -> Values:
    """Add a letter to the file `log`: each run can be seen in it."""
    with Path(arguments["log"]).open("a") as log:
        log.write("x")
    if "fail" in arguments:
        raise Waiting("Later", "not yet", timedelta(seconds=arguments["fail"]))
    return {}


def say_pid_and_wait(arguments: Values, context: JobContext) -> Values:
    """Progress names the process; ends when the file `until` is there."""
    context.progress(str(os.getpid()))
    while not Path(arguments["until"]).exists():
        time.sleep(0.005)
    return {}


def hang(arguments: Values, context: JobContext) -> Values:
    """Deaf to everything but SIGKILL."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    context.progress(str(os.getpid()))
    while True:
        time.sleep(60)


def block(arguments: Values, context: JobContext) -> Values:
    """Raise Blocked."""
    raise Blocked("Bad", "the content is wrong")


def block_with_faults(arguments: Values, context: JobContext) -> Values:
    """Raise a subclass with facts."""
    raise Faults("Bad", "two faults", ("one", "two"))


def wait(arguments: Values, context: JobContext) -> Values:
    """Raise Waiting."""
    raise Waiting("Later", "not yet", timedelta(seconds=7))


def fail(arguments: Values, context: JobContext) -> Values:
    """Raise what nobody foresaw."""
    raise KeyError("surprise \udcff")


def eat_memory(arguments: Values, context: JobContext) -> Values:
    """More and more, in pieces."""
    held = []
    while True:
        held.append(bytes(16 * 1024 * 1024))  # never written to: it takes no time worth counting


def spin(arguments: Values, context: JobContext) -> Values:
    """Burn CPU."""
    while True:
        pass


def crash(arguments: Values, context: JobContext) -> Values:
    """Read address zero, as a C parser whose stack overflowed might."""
    ctypes.string_at(0)
    return {}


def be_killed(arguments: Values, context: JobContext) -> Values:
    """As the kernel does when memory is short."""
    os.kill(os.getpid(), signal.SIGKILL)
    return {}


def leave(arguments: Values, context: JobContext) -> Values:
    """End without an answer."""
    os._exit(3)


def chatter(arguments: Values, context: JobContext) -> Values:
    """Far more than an answer may hold."""
    return {"text": "x" * 9 * 1024 * 1024}


def write_much(arguments: Values, context: JobContext) -> Values:
    """A file larger than allowed; the limit shows as an OSError."""
    try:
        with Path(arguments["file"]).open("wb") as file:
            for _ in range(64):
                file.write(bytes(1024 * 1024))
    except OSError as error:
        return {"error": error.errno}
    return {"error": None}


def forge(arguments: Values, context: JobContext) -> Values:
    """Say a line that is no frame, past the functions that make frames."""
    for name in os.listdir("/proc/self/fd"):
        if os.path.lexists(f"/proc/self/fd/{name}") and "socket" in os.readlink(f"/proc/self/fd/{name}"):
            os.write(int(name), arguments["line"].encode() + b"\n")
    return {}


async def look_up(arguments: Values) -> Values | None:
    """A look whose answer came with it."""
    return {**arguments["answer"], "pid": os.getpid()} if arguments.get("answer") is not None else None


async def look_again(arguments: Values) -> Values | None:
    """Ends when the file `until` is there."""
    return await asyncio.to_thread(say_pid_and_wait, arguments, JobContext(Path(os.devnull))) | {"pid": os.getpid()}


async def refuse_to_look(arguments: Values) -> Values | None:
    """Raise Waiting."""
    raise Waiting("Later", "not yet", timedelta(seconds=7))


async def look_wrong(arguments: Values) -> Values | None:
    """Raise what nobody foresaw."""
    raise KeyError("surprise")


async def die_looking(arguments: Values) -> Values | None:
    """The child is gone, for all who asked it."""
    os._exit(3)


def job(name: str) -> Job[Values, Values]:
    """The declaration of a function of this module, by its name."""
    return Job(f"{__name__}:{name}", dict, dict, errors=(Faults,))


FUNCTIONS: tuple[Function[Values, Values], ...] = (
    echo,
    echo_later,
    report_itself,
    count,
    say_pid_and_wait,
    hang,
    block,
    block_with_faults,
    wait,
    fail,
    eat_memory,
    spin,
    crash,
    be_killed,
    leave,
    chatter,
    write_much,
    forge,
)
PROBES: tuple[Probe[Values, Values], ...] = (look_up, look_again, refuse_to_look, look_wrong, die_looking)


async def choose_probe(arguments: Values) -> Values | None:
    """The one that the request names."""
    return await next(each for each in PROBES if each.__name__ == arguments["probe"])(arguments)


for function in FUNCTIONS:
    implement(job(function.__name__), function, probe=choose_probe)
