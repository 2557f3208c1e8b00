"""Example jobs for tests of olmkit.jobs: functions whose requests and results are dicts."""

from __future__ import annotations

import asyncio
import ctypes
import os
import resource
import signal
import stat
import tempfile
import time
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

from olmkit.errors import Blocked, Waiting
from olmkit.jobs.job import Job, JobContext
from olmkit.jobs.job_functions import Function, Probe, implement

Values = dict[str, Any]


class Faults(Blocked):
    """An error with another field than reason and message."""

    def __init__(self, reason: str, message: str, faults: tuple[str, ...]) -> None:
        super().__init__(reason, message)
        self.faults = faults

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.reason, self.message, self.faults)


def echo(arguments: Values, context: JobContext) -> Values:
    """Return the request."""
    return arguments


async def echo_async(arguments: Values, context: JobContext) -> Values:
    """As echo, as a coroutine function."""
    return arguments


def report_process(arguments: Values, context: JobContext) -> Values:
    """The descriptors and limits of the child."""
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


def append_to_log(arguments: Values, context: JobContext) -> Values:
    """Append a letter to the file `log`, one for each run."""
    with Path(arguments["log"]).open("a") as log:
        log.write("x")
    if "fail" in arguments:
        raise Waiting("Later", "not yet", timedelta(seconds=arguments["fail"]))
    return {}


def count_bytes(arguments: Values, context: JobContext) -> Values:
    """The size of the file `path`, as far as it can be read."""
    return {"bytes": len(Path(arguments["path"]).read_bytes())}


def report_pid_and_wait(arguments: Values, context: JobContext) -> Values:
    """Reports its process ID as progress; ends when the file `until` exists."""
    context.progress(str(os.getpid()))
    while not Path(arguments["until"]).exists():
        time.sleep(0.005)
    return {}


def hang(arguments: Values, context: JobContext) -> Values:
    """Ignores all signals but SIGKILL."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    context.progress(str(os.getpid()))
    while True:
        time.sleep(60)


def raise_blocked(arguments: Values, context: JobContext) -> Values:
    """Raise Blocked."""
    raise Blocked("Bad", "the content is wrong")


def raise_faults(arguments: Values, context: JobContext) -> Values:
    """Raise a subclass of Blocked with a field."""
    raise Faults("Bad", "two faults", ("one", "two"))


def raise_waiting(arguments: Values, context: JobContext) -> Values:
    """Raise Waiting."""
    raise Waiting("Later", "not yet", timedelta(seconds=7))


def raise_unexpected(arguments: Values, context: JobContext) -> Values:
    """Raise an unexpected error."""
    raise KeyError("surprise \udcff")


def allocate_memory(arguments: Values, context: JobContext) -> Values:
    """Allocate memory without end."""
    held = []
    while True:
        held.append(bytes(16 * 1024 * 1024))  # never written to, so that it is fast


def use_cpu(arguments: Values, context: JobContext) -> Values:
    """Use CPU time without end."""
    while True:
        pass


def use_cpu_for(arguments: Values, context: JobContext) -> Values:
    """Use CPU time for a number of seconds."""
    until = time.process_time() + arguments["seconds"]
    while time.process_time() < until:
        pass
    return {"pid": os.getpid()}


def crash(arguments: Values, context: JobContext) -> Values:
    """Read address zero, like a C parser with a bug."""
    ctypes.string_at(0)
    return {}


def kill_itself(arguments: Values, context: JobContext) -> Values:
    """As the kernel kills a process when memory is short."""
    os.kill(os.getpid(), signal.SIGKILL)
    return {}


def exit_without_answer(arguments: Values, context: JobContext) -> Values:
    """Exit without an answer."""
    os._exit(3)


async def raise_cancelled(arguments: Values, context: JobContext) -> Values:
    """Raise the error of a task that something has cancelled."""
    raise asyncio.CancelledError


def answer_too_much(arguments: Values, context: JobContext) -> Values:
    """More than MAX_ANSWER_BYTES."""
    return {"text": "x" * 9 * 1024 * 1024}


def write_large_file(arguments: Values, context: JobContext) -> Values:
    """Write a file beyond the limit; returns the errno."""
    try:
        with Path(arguments["file"]).open("wb") as file:
            for _ in range(64):
                file.write(bytes(1024 * 1024))
    except OSError as error:
        return {"error": error.errno}
    return {"error": None}


def write_raising(arguments: Values, context: JobContext) -> Values:
    """Write a file in `directory`, "" for that of temporary files, and let errors pass."""
    with tempfile.TemporaryFile(dir=arguments["directory"] or None) as file:
        file.write(bytes(arguments["bytes"]))
    return {}


def send_invalid_line(arguments: Values, context: JobContext) -> Values:
    """Send a line that is not a frame of protocol.py."""
    for number in range(3, 1024):
        with suppress(OSError):
            if stat.S_ISSOCK(os.fstat(number).st_mode):
                os.write(number, arguments["line"].encode() + b"\n")
    return {}


async def probe_answer(arguments: Values) -> Values | None:
    """A probe that returns the `answer` of the request."""
    return {**arguments["answer"], "pid": os.getpid()} if arguments.get("answer") is not None else None


async def probe_until(arguments: Values) -> Values | None:
    """A probe that ends when the file `until` exists."""
    return await asyncio.to_thread(report_pid_and_wait, arguments, JobContext(Path(os.devnull))) | {"pid": os.getpid()}


async def probe_waiting(arguments: Values) -> Values | None:
    """Raise Waiting."""
    raise Waiting("Later", "not yet", timedelta(seconds=7))


async def probe_unexpected(arguments: Values) -> Values | None:
    """Raise an unexpected error."""
    raise KeyError("surprise")


async def probe_exit(arguments: Values) -> Values | None:
    """Exit: the worker of all probes ends."""
    os._exit(3)


def job(name: str) -> Job[Values, Values]:
    """The declaration of a function of this module, by its name."""
    return Job(f"{__name__}:{name}", dict, dict, errors=(Faults,))


FUNCTIONS: tuple[Function[Values, Values], ...] = (
    echo,
    echo_async,
    report_process,
    append_to_log,
    count_bytes,
    report_pid_and_wait,
    hang,
    raise_blocked,
    raise_faults,
    raise_waiting,
    raise_unexpected,
    allocate_memory,
    use_cpu,
    use_cpu_for,
    crash,
    kill_itself,
    exit_without_answer,
    raise_cancelled,
    answer_too_much,
    write_large_file,
    write_raising,
    send_invalid_line,
)
PROBES: tuple[Probe[Values, Values], ...] = (probe_answer, probe_until, probe_waiting, probe_unexpected, probe_exit)


async def choose_probe(arguments: Values) -> Values | None:
    """The probe that the request names."""
    return await next(each for each in PROBES if each.__name__ == arguments["probe"])(arguments)


for function in FUNCTIONS:
    implement(job(function.__name__), function, probe=choose_probe)
