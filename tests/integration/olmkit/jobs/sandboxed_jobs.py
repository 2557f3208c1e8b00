"""Jobs for the tests of the sandbox, the parser and staging: they attempt what compromised code could attempt."""

from __future__ import annotations

import ctypes
import errno
import os
import signal
import socket
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from catalogd.ingest.yaml_worker_pool import YamlWorkerPool
from olmkit.errors import Blocked
from olmkit.jobs.job import Job, JobContext
from olmkit.jobs.job_functions import Function, implement
from olmkit.store.store import fill_staging

Values = dict[str, Any]

LIBC = ctypes.CDLL(None, use_errno=True)
PTRACE, IO_URING_SETUP, PROCESS_VM_READV = {"x86_64": (101, 425, 310), "aarch64": (117, 425, 270)}[os.uname().machine]


def connect(host: str, port: int) -> None:
    """Connect by TCP."""
    with socket.create_connection((host, port), timeout=10):
        pass


def open_socket(family: int, kind: int) -> None:
    """Open a socket of any family."""
    socket.socket(family, kind).close()


def pair(kind: int) -> None:
    """Open a pair of connected sockets."""
    for end in socket.socketpair(socket.AF_UNIX, kind):
        end.close()


def call(number: int, *arguments: int) -> None:
    """Make a system call by number."""
    if LIBC.syscall(ctypes.c_long(number), *map(ctypes.c_long, arguments)) < 0:
        raise OSError(ctypes.get_errno(), "")


def execute(path: str) -> None:
    """Start a program."""
    pid = os.posix_spawn(path, [path], {})
    os.waitpid(pid, 0)


def write_temporary() -> None:
    """Write a temporary file with a name, and one without."""
    with tempfile.NamedTemporaryFile() as named, tempfile.TemporaryFile() as other:
        named.write(b"x")
        other.write(b"x")


def nest(path: str) -> None:
    """Create nested directories, deeper than the recursion limit of Python."""
    for _ in range(2 * sys.getrecursionlimit()):
        os.chdir(path)
        path = "a"
        os.mkdir(path)


ACTIONS: dict[str, Callable[..., Any]] = {
    "read": lambda path: Path(path).read_bytes(),
    "list": os.listdir,
    "write": lambda path: Path(path).write_bytes(b"x"),
    "remove": os.unlink,
    "rename": os.rename,
    "make directory": os.mkdir,
    "link": os.link,
    "nest": nest,
    "nest temporary": lambda: nest(tempfile.gettempdir()),
    "connect": connect,
    "open socket": open_socket,
    "pair": pair,
    "call": call,
    "execute": execute,
    "kill": os.kill,
    "kill itself": lambda number: os.kill(os.getpid(), number),
    "raise": signal.raise_signal,
    "mode": lambda path: os.chmod(path, 0o755),
    "owner": lambda path: os.chown(path, os.getuid(), os.getgid()),
    "times": os.utime,
    "attribute": lambda path: os.setxattr(path, "user.olm-suite", b"x"),
    "memory file": lambda: os.close(os.memfd_create("x")),
    "write temporary": write_temporary,
    "change namespace": lambda: call(272 if os.uname().machine == "x86_64" else 97, 0x10000000),
}


def attempt(arguments: Values, context: JobContext) -> Values:
    """Try each of `actions`, a list of [name, arguments...]; the outcome of each is "done" or the name of the error."""
    return {"outcomes": [_outcome(*action) for action in arguments["actions"]]}


def fill_directory(arguments: Values, context: JobContext) -> Values:
    """Fill the staging directory with content with the manifest of `manifest`; then try `actions`, and return `ref` and
    `digest`."""
    staging, digest = context.directory, arguments["digest"]
    with fill_staging(staging, str(arguments.get("manifest", digest))) as directory:
        (directory / "type").write_text("left")
    if arguments.get("hang"):
        context.progress("filled")
        signal.pause()
    ref = arguments.get("ref", f"registry.example/a@{digest}")
    result = {"digest": digest, "ref": ref, "staged": arguments.get("staged", True)}
    of_catalogs = {"resolved": {"type": "image", "image": {"ref": ref}}, "validator": "", "unchanged": False}
    return {**result, **of_catalogs, **attempt(_named(arguments, context), context)}


async def parse_in_staging(arguments: Values, context: JobContext) -> Values:
    """As parse, in a subdirectory of the staging directory."""
    directory = context.directory / "content"
    return await parse({**_named(arguments, context), "directory": str(directory)}, context)


def _named(arguments: Values, context: JobContext) -> Values:
    """Replace {staging} in the actions by the staging directory."""
    actions = [
        [str(each).replace("{staging}", str(context.directory)) for each in action]
        for action in arguments.get("actions", ())
    ]
    return {**arguments, "actions": actions}


async def probe(arguments: Values) -> Values:
    """As attempt, in the worker of probes."""
    return {"pid": os.getpid(), **attempt(arguments, JobContext(Path(os.devnull)))}


def describe(arguments: Values, context: JobContext) -> Values:
    """Properties of the process."""
    get_dumpable, get_no_new_privileges = 3, 39
    return {
        "parent": os.getppid(),
        "environment": dict(os.environ),
        "dumpable": LIBC.prctl(get_dumpable, 0, 0, 0, 0),
        "no new privileges": LIBC.prctl(get_no_new_privileges, 0, 0, 0, 0),
        "temporary": tempfile.gettempdir(),
        "working directory": os.getcwd(),
    }


def _outcome(name: str, *arguments: Any) -> str:
    try:
        ACTIONS[name](*arguments)
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, str(error))
    return "done"


async def parse(arguments: Values, context: JobContext) -> Values:
    """Run `function` in the parser process, with a file that contains "fetched"."""
    directory = Path(arguments["directory"])
    os.makedirs(directory, exist_ok=True)
    with tempfile.TemporaryFile() as file:
        file.write(b"fetched")
        file.flush()
        result = await context.parse(job(arguments["function"]), arguments, [file], directory)
    orphan = result.get("orphan")
    left = orphan is not None and exists(orphan)
    return {"job": os.getpid(), "parent of the job": os.getppid(), "orphan is left": left, **result}


def exists(pid: int) -> bool:
    """Whether the process exists."""
    try:
        os.getpgid(pid)
    except ProcessLookupError:
        return False
    return True


def attempt_in_parser(arguments: Values, context: JobContext) -> Values:
    """As attempt(), with the properties of the process and its file."""
    context.progress("parsing")
    context.files[0].seek(0)
    descriptors = []
    for number in range(1024):
        with suppress(OSError):
            os.fstat(number)
            descriptors.append(number)
    return {
        **attempt(arguments, context),
        **describe(arguments, context),
        "file": context.files[0].read().decode(),
        "descriptors": len(descriptors),
    }


def crash_in_parser(arguments: Values, context: JobContext) -> Values:
    """As a C parser whose stack overflowed."""
    os.kill(os.getpid(), signal.SIGSEGV)
    return {}


def use_cpu_in_parser(arguments: Values, context: JobContext) -> Values:
    """Use CPU time without end."""
    while True:
        pass


def allocate_memory_in_parser(arguments: Values, context: JobContext) -> Values:
    """Allocate memory without end."""
    held = []
    while True:
        held.append(bytes(16 * 1024 * 1024))  # never written to, so that it is fast


def raise_blocked_in_parser(arguments: Values, context: JobContext) -> Values:
    """Raise Blocked."""
    raise Blocked("Bad", "the content is wrong")


def raise_unexpected_in_parser(arguments: Values, context: JobContext) -> Values:
    """Raise an unexpected error."""
    raise KeyError("surprise")


def exit_in_parser(arguments: Values, context: JobContext) -> Values:
    """Exit without an answer."""
    os._exit(3)


def leave_orphan_in_parser(arguments: Values, context: JobContext) -> Values:
    """Leave an orphaned process behind, which changes a file of the directory without end."""
    ours, theirs = os.pipe()
    way = arguments["way"]
    if os.fork() == 0:
        if os.fork() == 0:
            for escape in (os.setsid, lambda: os.setpgid(0, 0)):
                with suppress(OSError):
                    escape()
            os.write(theirs, str(os.getpid()).encode())
            os.closerange(0, 256)
            while way == "end":
                Path(arguments["directory"], "file").write_bytes(os.urandom(8))
            while True:
                signal.pause()
        os._exit(0)
    os.wait()
    pid = int(os.read(ours, 20))
    if way == "hang":
        context.progress(str(pid))
        signal.pause()
    return {"orphan": pid}


def end_yaml_workers_in_parser(arguments: Values, context: JobContext) -> Values:
    """Start YAML workers and end them."""
    with YamlWorkerPool() as pool:
        started = [each._pid for each in pool._workers]
        context.progress(f"{len(started)} workers")
    return {"started": len(started), "left": sum(map(exists, started))}


def hang_in_parser(arguments: Values, context: JobContext) -> Values:
    """Report the process ID, and wait."""
    context.progress(str(os.getpid()))
    while True:
        signal.pause()


WITH_PARSER = ("parse", "parse_in_staging")


def job(name: str) -> Job[Values, Values]:
    """The declaration of a function of this module, by its name."""
    return Job(f"{__name__}:{name}", dict, dict, parses=name in WITH_PARSER)


FUNCTIONS: tuple[Function[Values, Values], ...] = (
    attempt,
    fill_directory,
    parse_in_staging,
    describe,
    parse,
    attempt_in_parser,
    crash_in_parser,
    use_cpu_in_parser,
    allocate_memory_in_parser,
    raise_blocked_in_parser,
    raise_unexpected_in_parser,
    exit_in_parser,
    leave_orphan_in_parser,
    end_yaml_workers_in_parser,
    hang_in_parser,
)
for function in FUNCTIONS:
    implement(job(function.__name__), function, probe=probe)
