"""The controller's side of the fork server: starts it, asks it for children, reads how they end.

The server is started at the first job; a server that died is started again at the next, and so is one that was killed because
it does not end a child in time.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import orjson

from olmkit.jobs import codec, protocol, sandbox
from olmkit.jobs.job import Limits, Role, Task
from olmkit.jobs.protocol import ChildSpec
from olmkit.jobs.sandbox import Sandbox
from olmkit.store.directories import create_locked_directory, remove_if_unlocked, remove_tree

log = logging.getLogger(__name__)

DIRECTORY_PREFIX = "olm-suite-jobs-"


PROXY_VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
"""Passed in upper and in lower case."""
ALLOWED_VARIABLES = frozenset(
    {
        *PROXY_VARIABLES,
        *map(str.lower, PROXY_VARIABLES),
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
        "OPENSSL_CONF",
        "LANG",
        "LC_ALL",
        "LC_CTYPE",
        "TZ",
        "RES_OPTIONS",
        "LOCALDOMAIN",
        "LD_LIBRARY_PATH",
        "PYTHONDONTWRITEBYTECODE",
        "PYTHONHASHSEED",
        "PYTHONUNBUFFERED",
        "PYTHONUTF8",
        "PYTHONWARNINGS",
    }
)
FIXED_VARIABLES = {"HOME": "/nonexistent", "USER": "olm-suite"}
"""Variables that are set because libraries would otherwise look their values up on the machine."""


SERVER_EXIT_TIMEOUT_SECONDS = 10.0
"""The fork server has this long to end after the controller closed the socket; then it is killed."""
KILL_TIMEOUT_SECONDS = 10.0
"""The fork server has this long to report the end of a child that it is to kill; then it is killed itself. A server that is busy
reports within a second. One that is stopped never does, and what the child holds would never be free."""
KILL_RETRY_SECONDS = 0.1
"""The pause before a kill is sent again that did not fit into the socket."""


class ForkServerLost(Exception):
    """The fork server ended while a job ran; its children ended with it. Its text is why, empty if that is not known."""


@dataclass
class OpenedChild:
    """A child that answers requests, and the channel to it."""

    channel: socket.socket
    _forks: ForkServerClient
    _number: int
    _exited: asyncio.Future[int]

    async def end(self) -> int:
        """Kill it, unless it has ended; its wait status. Raises ForkServerLost, and OSError if it could not be started."""
        await self._forks.kill(self._number, self._exited)
        return await self._exited


class ServerProcess(Protocol):
    """The process of a fork server, as subprocess.Popen has it."""

    def kill(self) -> None:
        """Kill it, unless it has ended."""

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end. Raises subprocess.TimeoutExpired."""


def start_server(descriptor: int, preload: Sequence[str], environment: Mapping[str, str]) -> ServerProcess:
    """Start a fork server that serves `descriptor`. Raises OSError."""
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "olmkit.jobs.fork_server", str(descriptor), *preload],
        stdin=subprocess.DEVNULL,
        stdout=2,
        pass_fds=[descriptor],
        process_group=0,  # a Ctrl-C in a terminal is for the controller alone
        cwd="/",
        env=environment,
    )


class ForkServerClient:
    """Children of one fork server. All calls from one event loop."""

    def __init__(self, preload: Sequence[str] = (), sandbox: Sandbox | None = None) -> None:
        self._preload = preload
        self.sandbox = sandbox or Sandbox()
        """The files and addresses that its children may reach."""
        self._scratch: ScratchDirectory | None = None
        self._process: ServerProcess | None = None
        self._control: socket.socket | None = None
        self._ending: set[asyncio.Task[None]] = set()
        self._exits: dict[int, asyncio.Future[int]] = {}
        self._failure = ""
        """The reason why the server could not start."""
        self._numbers = 0

    async def run(
        self,
        task: Task[Any, Any],
        limits: Limits,
        directory: Path | None,
        on_line: Callable[[bytes], None],
        parser: socket.socket | None = None,
    ) -> int:
        """Run the task in a child and return its wait status once it is reaped; `on_line` gets each line that it sends.

        `directory` is the one that the task may write to. `parser` is the child's end of the channel to its parser; it is closed
        here. Cancelling kills the child and returns when it is gone. Raises ForkServerLost, ValueError when the child sends
        too much or `on_line` cannot read it, and OSError when no server can be started or the child can have no directory.
        """
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        try:
            own_limits = replace(limits, memory_bytes=task.job.first_process_memory(limits))
            child = self._fork(Role.WORK, own_limits, directory, theirs, *([parser] if parser else []))
            return await self._ended(child, _send_and_read(ours, task, directory, on_line))
        finally:
            ours.close()

    async def parse(self, limits: Limits, directory: Path | None, channel: socket.socket) -> int:
        """Start a parser that serves `channel`, which is closed here, and return its wait status. Otherwise as run()."""
        return await self._ended(self._fork(Role.PARSE, limits, directory, channel), None)

    def open(self, role: Role, limits: Limits) -> OpenedChild:
        """Start a child that answers requests on a channel; the caller closes it and awaits end(). Raises OSError."""
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        try:
            number = self._fork(role, limits, None, theirs)
        except BaseException:
            ours.close()
            raise
        exited: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._exits[number] = exited
        exited.add_done_callback(lambda _: self._exits.pop(number, None))
        return OpenedChild(ours, self, number, exited)

    async def _ended(self, child: int, conversation: Coroutine[Any, Any, None] | None) -> int:
        """The wait status of a child, after the conversation with it."""
        exited: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._exits[child] = exited
        try:
            if conversation is not None:
                await conversation
            return await asyncio.shield(exited)
        except BaseException:
            await self.kill(child, exited)
            exited.exception()  # retrieved, or asyncio logs it; why the child was to end is raised
            raise
        finally:
            del self._exits[child]

    def _fork(self, role: Role, limits: Limits, directory: Path | None, *channels: socket.socket) -> int:
        """Ask for a child, which gets `channels`; they are closed here. Returns its number. Raises OSError."""
        sandbox = self.sandbox
        if directory is not None:
            sandbox = replace(sandbox, writes=(*sandbox.writes, directory))
        try:
            control = self._connected()
            self._numbers += 1
            message = {"fork": self._numbers, "spec": codec.encode(ChildSpec(role, limits, sandbox))}
            socket.send_fds(control, [orjson.dumps(message)], [channel.fileno() for channel in channels])
            return self._numbers
        finally:
            for channel in channels:
                channel.close()

    def warm_up(self) -> None:
        """Start the fork server now, so that the first job need not wait for its imports; if that fails, the job reports why."""
        with suppress(OSError):
            self._connected()

    async def kill(self, child: int, exited: asyncio.Future[int]) -> None:
        """Kill that child, unless it has ended, and wait until `exited`, the future of its end, is done.

        A server that does not report the end in time is killed: that ends all its children, and the next one that is asked for
        starts another server.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + KILL_TIMEOUT_SECONDS
        while not exited.done() and (left := deadline - loop.time()) > 0:
            await asyncio.wait([exited], timeout=left if self._send_kill(child) else min(left, KILL_RETRY_SECONDS))
        if not exited.done():
            self._kill_server()

    def _send_kill(self, child: int) -> bool:
        """Report False if the socket is full."""
        if self._control is not None:
            try:
                self._control.send(orjson.dumps({"kill": child}))
            except BlockingIOError:
                return False
            except OSError:
                pass  # the server has ended, and its children with it: _read_exit() reads that
        return True

    def _kill_server(self) -> None:
        log.warning("the fork server does not answer, and is killed: all jobs that it runs are lost")
        if self._process is not None:
            self._process.kill()
        self._disconnect()

    def _connected(self) -> socket.socket:
        if self._control is not None:
            return self._control
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setblocking(False)
        with theirs:
            try:
                self._process = self._start(theirs.fileno())
            except OSError:
                ours.close()
                raise
        self._control = ours
        self._failure = ""
        asyncio.get_running_loop().add_reader(ours, self._read_exit)
        return ours

    def _start(self, descriptor: int) -> ServerProcess:
        sandbox.warn_of_missing_features()
        scratch = ScratchDirectory()
        environment = {
            **filter_environment(os.environ),
            "PYTHONPATH": module_path(),
            "TMPDIR": str(scratch.directory),
        }
        try:
            process = start_server(descriptor, self._preload, environment)
        except BaseException:
            scratch.close()
            raise
        self._scratch = scratch
        return process

    def _read_exit(self) -> None:
        assert self._control is not None
        try:
            data = self._control.recv(4096)
        except (BlockingIOError, ConnectionResetError):
            return  # a server that ended before it read all: what it sent, and the end, are read next
        except OSError:
            data = b""
        if not data:
            self._disconnect()
            return
        message = orjson.loads(data)
        if "failed" in message:
            self._failure = message["failed"]
            return
        future = self._exits.get(message["exited"])
        if future is None or future.done():
            return
        if (number := message["disk_errno"]) is not None:
            future.set_exception(OSError(number, os.strerror(number)))
        else:
            future.set_result(message["status"])

    def _disconnect(self) -> None:
        if self._control is not None:
            asyncio.get_running_loop().remove_reader(self._control)
            self._control.close()
            self._control = None
        for future in [*self._exits.values()]:
            if not future.done():
                future.set_exception(ForkServerLost(self._failure))
        if self._process is not None and self._scratch is not None:
            # In a thread: this takes as long as the children of jobs take to end.
            ending = asyncio.create_task(asyncio.to_thread(_end, self._process, self._scratch))
            self._ending.add(ending)
            ending.add_done_callback(self._ending.discard)
        self._process = self._scratch = None

    async def close(self) -> None:
        """End the server and every child."""
        self._disconnect()
        if self._ending:
            await asyncio.wait(self._ending)


def _end(process: ServerProcess, scratch: ScratchDirectory) -> None:
    """The server ends on its own, after all that its children started, which would outlive it."""
    try:
        process.wait(SERVER_EXIT_TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    scratch.close()


async def _send_and_read(
    channel: socket.socket, task: Task[Any, Any], directory: Path | None, on_line: Callable[[bytes], None]
) -> None:
    """Send the task, then read lines until the child closes the channel. Raises AnswerTooLarge, and what `on_line` raises."""
    message = {
        "function": task.job.function,
        "request": codec.encode(task.request),
        "directory": str(directory) if directory else None,
    }
    try:
        await asyncio.get_running_loop().sock_sendall(channel, orjson.dumps(message) + b"\n")
        await protocol.read_lines(channel, on_line)
    except ConnectionError:
        return  # the child ended before it read or sent everything; its exit status shows why


class ScratchDirectory:
    """A new directory for this process alone, until close(). Raises OSError."""

    def __init__(self) -> None:
        parent = Path(tempfile.gettempdir())
        _remove_abandoned(parent)
        self.directory, self._lock = create_locked_directory(parent, DIRECTORY_PREFIX)

    def close(self) -> None:
        """Remove the directory."""
        remove_tree(self.directory)
        os.close(self._lock)


def _remove_abandoned(parent: Path) -> None:
    for directory in parent.glob(f"{DIRECTORY_PREFIX}*"):
        with suppress(OSError):  # locked, owned by another user, or already gone
            remove_if_unlocked(directory)


def module_path() -> str:
    """The directories in which this process finds modules, as PYTHONPATH names them."""
    return os.pathsep.join(os.path.abspath(path) for path in sys.path if path)


def filter_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables of a controller's environment that its jobs get."""
    return {**{name: value for name, value in environment.items() if name in ALLOWED_VARIABLES}, **FIXED_VARIABLES}
