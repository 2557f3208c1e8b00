"""What the jobs of test_sandbox.py try: each way out that a fault in a parser could take."""

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
from olmkit.jobs import Job, JobContext, implement
from olmkit.jobs.registry import Function
from olmkit.store.store import fill_staging

Values = dict[str, Any]

LIBC = ctypes.CDLL(None, use_errno=True)
PTRACE, IO_URING_SETUP, PROCESS_VM_READV = {"x86_64": (101, 425, 310), "aarch64": (117, 425, 270)}[os.uname().machine]


def connect(host: str, port: int) -> None:
    """By TCP."""
    with socket.create_connection((host, port), timeout=10):
        pass


def open_socket(family: int, kind: int) -> None:
    """Of any family."""
    socket.socket(family, kind).close()


def pair(kind: int) -> None:
    """Two sockets that know each other."""
    for end in socket.socketpair(socket.AF_UNIX, kind):
        end.close()


def call(number: int, *arguments: int) -> None:
    """A system call by number."""
    if LIBC.syscall(ctypes.c_long(number), *map(ctypes.c_long, arguments)) < 0:
        raise OSError(ctypes.get_errno(), "")


def execute(path: str) -> None:
    """Start a program."""
    pid = os.posix_spawn(path, [path], {})
    os.waitpid(pid, 0)


def write_temporary() -> None:
    """With a name and without."""
    with tempfile.NamedTemporaryFile() as named, tempfile.TemporaryFile() as other:
        named.write(b"x")
        other.write(b"x")


def dig(path: str) -> None:
    """Folders within folders, more than Python calls functions."""
    for _ in range(2 * sys.getrecursionlimit()):
        os.chdir(path)
        path = "a"
        os.mkdir(path)


WAYS: dict[str, Callable[..., Any]] = {
    "read": lambda path: Path(path).read_bytes(),
    "list": os.listdir,
    "write": lambda path: Path(path).write_bytes(b"x"),
    "remove": os.unlink,
    "rename": os.rename,
    "make folder": os.mkdir,
    "link": os.link,
    "dig": dig,
    "dig temporary": lambda: dig(tempfile.gettempdir()),
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
    """Try each of `ways`, a list of [name of the way, arguments...]; what happened: "done" or the error's name."""
    return {"outcomes": [_outcome(*way) for way in arguments["ways"]]}


def leave(arguments: Values, context: JobContext) -> Values:
    """Content in the staging folder with the manifest of `manifest`; then try `ways`, and say that it is `ref` by `digest`."""
    staging, digest = context.folder, arguments["digest"]
    with fill_staging(staging, str(arguments.get("manifest", digest))) as folder:
        (folder / "type").write_text("left")
    if arguments.get("hang"):
        context.progress("filled")
        signal.pause()
    said = {"digest": digest, "ref": arguments.get("ref", ""), "staged": arguments.get("staged", True)}
    of_catalogs = {"resolved": {}, "validator": "", "unchanged": False}
    return {**said, **of_catalogs, **attempt(_named(arguments, context), context)}


async def have_parsed_in_staging(arguments: Values, context: JobContext) -> Values:
    """As have_parsed, in a folder within the staging folder."""
    folder = context.folder / "content"
    return await have_parsed({**_named(arguments, context), "folder": str(folder)}, context)


def _named(arguments: Values, context: JobContext) -> Values:
    """With the staging folder in the ways that name it."""
    ways = [[str(each).replace("{staging}", str(context.folder)) for each in way] for way in arguments.get("ways", ())]
    return {**arguments, "ways": ways}


async def look(arguments: Values) -> Values:
    """The same, in the child that looks."""
    return {"pid": os.getpid(), **attempt(arguments, JobContext(Path(os.devnull)))}


def describe(arguments: Values, context: JobContext) -> Values:
    """What the process is."""
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
        WAYS[name](*arguments)
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, str(error))
    return "done"


async def have_parsed(arguments: Values, context: JobContext) -> Values:
    """Have `function` do its part in the process that parses, with a file that holds "fetched"."""
    folder = Path(arguments["folder"])
    os.makedirs(folder, exist_ok=True)
    with tempfile.TemporaryFile() as file:
        file.write(b"fetched")
        file.flush()
        said = await context.parse(job(arguments["function"]), arguments, [file], folder)
    orphan = said.get("orphan")
    left = orphan is not None and is_there(orphan)
    return {"job": os.getpid(), "parent of the job": os.getppid(), "orphan is left": left, **said}


def is_there(pid: int) -> bool:
    """Whether it is there."""
    try:
        os.getpgid(pid)
    except ProcessLookupError:
        return False
    return True


def attempt_apart(arguments: Values, context: JobContext) -> Values:
    """The same as attempt(), and what the process is and was given."""
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


def crash_apart(arguments: Values, context: JobContext) -> Values:
    """As a C parser whose stack overflowed might."""
    os.kill(os.getpid(), signal.SIGSEGV)
    return {}


def spin_apart(arguments: Values, context: JobContext) -> Values:
    """Burn CPU."""
    while True:
        pass


def eat_memory_apart(arguments: Values, context: JobContext) -> Values:
    """More and more, in pieces."""
    held = []
    while True:
        held.append(bytes(16 * 1024 * 1024))  # never written to: it takes no time worth counting


def block_apart(arguments: Values, context: JobContext) -> Values:
    """Raise Blocked."""
    raise Blocked("Bad", "the content is wrong")


def fail_apart(arguments: Values, context: JobContext) -> Values:
    """Raise what nobody foresaw."""
    raise KeyError("surprise")


def leave_apart(arguments: Values, context: JobContext) -> Values:
    """End without an answer."""
    os._exit(3)


def leave_writer_apart(arguments: Values, context: JobContext) -> Values:
    """Leave a process behind that has no parent of this job, and changes a file of the folder without end."""
    ours, theirs = os.pipe()
    way = arguments["way"]
    if os.fork() == 0:
        if os.fork() == 0:
            for leave in (os.setsid, lambda: os.setpgid(0, 0)):
                with suppress(OSError):
                    leave()
            os.write(theirs, str(os.getpid()).encode())
            os.closerange(0, 256)
            while way == "end":
                Path(arguments["folder"], "file").write_bytes(os.urandom(8))
            while True:
                signal.pause()
        os._exit(0)
    os.wait()
    pid = int(os.read(ours, 20))
    if way == "hang":
        context.progress(str(pid))
        signal.pause()
    return {"orphan": pid}


def end_readers_apart(arguments: Values, context: JobContext) -> Values:
    """End the processes that this one started."""
    with YamlWorkerPool(bundle_metadata=False) as readers:
        started = [each._pid for each in readers._all]
        context.progress(f"{len(started)} readers")
    return {"started": len(started), "left": sum(map(is_there, started))}


def hang_apart(arguments: Values, context: JobContext) -> Values:
    """Say the pid, and wait."""
    context.progress(str(os.getpid()))
    while True:
        signal.pause()


PARSING = ("have_parsed", "have_parsed_in_staging")


def job(name: str) -> Job[Values, Values]:
    """The declaration of a function of this module, by its name."""
    return Job(f"{__name__}:{name}", dict, dict, parses=name in PARSING)


FUNCTIONS: tuple[Function[Values, Values], ...] = (
    attempt,
    leave,
    have_parsed_in_staging,
    describe,
    have_parsed,
    attempt_apart,
    crash_apart,
    spin_apart,
    eat_memory_apart,
    block_apart,
    fail_apart,
    leave_apart,
    leave_writer_apart,
    end_readers_apart,
    hang_apart,
)
for function in FUNCTIONS:
    implement(job(function.__name__), function, probe=look)
