"""The controller's side of the fork server: starts it, asks it for children, hears how they end.

Used by the scheduler only. One server per Forks, started at the first job; a server that died is started again with the next.
"""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress

import orjson

from olmkit.jobs import wire
from olmkit.jobs.task import Limits, Task


class ServerLost(Exception):
    """The fork server ended while a job ran; its children ended with it."""


class Forks:
    """Children of one fork server. All calls from one event loop, in a thread that lives as long as the jobs shall."""

    def __init__(self, preload: Sequence[str]) -> None:
        self._preload = preload
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._exits: dict[int, asyncio.Future[int]] = {}
        self._numbers = 0

    async def run(self, task: Task, limits: Limits, hear: Callable[[bytes], None]) -> int:
        """Run the task in a child and return its wait status once it is reaped; `hear` gets each line it says.

        Cancelling kills the child and returns when it is gone. Raises ServerLost, ValueError when the child says too much or
        `hear` does not understand it, and OSError when no server can be started.
        """
        job, ours = self._fork(limits, looks=False)
        exited: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._exits[job] = exited
        try:
            await _converse(ours, task, hear)
            return await asyncio.shield(exited)
        except BaseException:
            self.kill(job)
            await asyncio.wait([exited])
            raise
        finally:
            ours.close()
            del self._exits[job]

    def open(self, limits: Limits) -> tuple[int, socket.socket]:
        """A child that looks for many jobs (looking.py): its number for kill(), and the line to it. Raises OSError."""
        return self._fork(limits, looks=True)

    def _fork(self, limits: Limits, *, looks: bool) -> tuple[int, socket.socket]:
        """Ask for a child: its number and our end of its line. Raises OSError."""
        control = self._connected()
        self._numbers += 1
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        with theirs:
            try:
                message = orjson.dumps({"fork": self._numbers, "limits": limits.to_json(), "looks": looks})
                socket.send_fds(control, [message], [theirs.fileno()])
            except BaseException:
                ours.close()
                raise
        return self._numbers, ours

    def warm_up(self) -> None:
        """Start the fork server now, so that the first job need not wait for its imports."""
        self._connected()

    def kill(self, job: int) -> None:
        """End that child, if it is there."""
        if self._control is not None:
            with suppress(OSError):
                self._control.send(orjson.dumps({"kill": job}))

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
        asyncio.get_running_loop().add_reader(ours, self._listen)
        return ours

    def _start(self, descriptor: int) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-P", "-m", "olmkit.jobs.server", str(descriptor), str(os.getpid()), *self._preload]
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=2,
            pass_fds=[descriptor],
            process_group=0,  # a Ctrl-C in a terminal is the controller's to answer
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        )

    def _listen(self) -> None:
        assert self._control is not None
        try:
            data = self._control.recv(4096)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._hang_up()
            return
        message = orjson.loads(data)
        future = self._exits.get(message["exited"])
        if future is not None and not future.done():
            future.set_result(message["status"])

    def _hang_up(self) -> None:
        if self._control is not None:
            asyncio.get_running_loop().remove_reader(self._control)
            self._control.close()
            self._control = None
        for future in self._exits.values():
            if not future.done():
                future.set_exception(ServerLost())
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    async def close(self) -> None:
        """End the server and every child."""
        self._hang_up()


async def _converse(channel: socket.socket, task: Task, hear: Callable[[bytes], None]) -> None:
    """Send the task, then hear lines until the child hangs up. Says "too much" by itself when the child says too much."""
    loop = asyncio.get_running_loop()
    heard, rest = 0, b""
    try:
        await loop.sock_sendall(channel, orjson.dumps({"function": task.function, "arguments": task.arguments}) + b"\n")
        while data := await loop.sock_recv(channel, 65536):
            heard += len(data)
            if heard > wire.ANSWER_LIMIT:
                raise ValueError("the job answered with too much")
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                hear(line)
    except ConnectionError:
        return  # the child ended before it read or said all; its status tells why
