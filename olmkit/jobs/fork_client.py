"""The controller's side of the fork server: starts it, asks it for children, hears how they end.

Used by the scheduler only. One server per Forks, started at the first job; a server that died is started again with the next.
"""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import orjson

from olmkit.jobs import environment, protocol, sandbox
from olmkit.jobs.job import Limits, Role, Task
from olmkit.jobs.sandbox import Sandbox
from olmkit.jobs.scratch import ScratchFolder

SERVER_EXIT_TIMEOUT_SECONDS = 10.0
"""Seconds that the fork server has for its end."""


class ForkServerLost(Exception):
    """The fork server ended while a job ran; its children ended with it."""


@dataclass(frozen=True)
class _ChildSpec:
    """What is asked for: `memory` in bytes, `folder` to write to beside what all may write to."""

    role: Role
    memory: int
    folder: Path | None = None

    def within(self, sandbox: Sandbox) -> Sandbox:
        """The sandbox of this child."""
        return replace(sandbox, writes=(*sandbox.writes, self.folder)) if self.folder is not None else sandbox


class ForkServerClient:
    """Children of one fork server. All calls from one event loop."""

    def __init__(self, preload: Sequence[str], around: Sandbox) -> None:
        self._preload = preload
        self._sandbox = around
        self._scratch: ScratchFolder | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._ending: set[asyncio.Task[None]] = set()
        self._exits: dict[int, asyncio.Future[int]] = {}
        self._numbers = 0

    async def run(
        self, task: Task, limits: Limits, hear: Callable[[bytes], None], parser: socket.socket | None = None
    ) -> int:
        """Run the task in a child and return its wait status once it is reaped; `hear` gets each line it says.

        `parser` is the child's end of the line to the process that parses for it; it is closed here. Cancelling kills the child
        and returns when it is gone. Raises ServerLost, ValueError when the child says too much or `hear` does not understand
        it, and OSError when no server can be started.
        """
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        try:
            job = self._fork(
                _ChildSpec(Role.WORK, limits.first_process_memory(task), task.folder),
                limits,
                theirs,
                *([parser] if parser else []),
            )
            return await self._ended(job, _send_and_read(ours, task, hear))
        finally:
            ours.close()

    async def parse(self, task: Task, limits: Limits, channel: socket.socket) -> int:
        """Have a child parse for the task what comes over `channel`, which is closed here; its wait status. Else as run()."""
        return await self._ended(
            self._fork(_ChildSpec(Role.PARSE, limits.memory_bytes, task.folder), limits, channel), None
        )

    def open(self, limits: Limits) -> tuple[int, socket.socket]:
        """A child that looks for many jobs (looking.py): its number for kill(), and the line to it. Raises OSError."""
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        try:
            return self._fork(_ChildSpec(Role.PROBE, limits.fetch_memory_bytes), limits, theirs), ours
        except BaseException:
            ours.close()
            raise

    async def _ended(self, job: int, talk: Coroutine[Any, Any, None] | None) -> int:
        """The wait status of a child, after what there is to talk with it."""
        exited: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._exits[job] = exited
        try:
            if talk is not None:
                await talk
            return await asyncio.shield(exited)
        except BaseException:
            self.kill(job)
            await asyncio.wait([exited])
            raise
        finally:
            del self._exits[job]

    def _fork(self, child: _ChildSpec, limits: Limits, *channels: socket.socket) -> int:
        """Ask for a child, which gets `channels`; they are closed. Its number. Raises OSError."""
        try:
            control = self._connected()
            self._numbers += 1
            message = {
                "fork": self._numbers,
                "role": child.role,
                "limits": {**limits.to_json(), "memory_bytes": child.memory},
                "sandbox": child.within(self._sandbox).to_json(),
            }
            socket.send_fds(control, [orjson.dumps(message)], [channel.fileno() for channel in channels])
            return self._numbers
        finally:
            for channel in channels:
                channel.close()

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
        sandbox.warn_of_missing_features()
        scratch = ScratchFolder()
        command = [sys.executable, "-P", "-m", "olmkit.jobs.fork_server", str(descriptor), *self._preload]
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=2,
                pass_fds=[descriptor],
                process_group=0,  # a Ctrl-C in a terminal is the controller's to answer
                cwd="/",
                env={
                    **environment.filter_environment(os.environ),
                    "PYTHONPATH": os.pathsep.join(os.path.abspath(path) for path in sys.path if path),
                    "TMPDIR": str(scratch.folder),
                },
            )
        except BaseException:
            scratch.close()
            raise
        self._scratch = scratch
        return process

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
                future.set_exception(ForkServerLost())
        if self._process is not None and self._scratch is not None:
            # In a thread: this takes as long as the children of jobs take to end.
            ending = asyncio.create_task(asyncio.to_thread(_end, self._process, self._scratch))
            self._ending.add(ending)
            ending.add_done_callback(self._ending.discard)
        self._process = self._scratch = None

    async def close(self) -> None:
        """End the server and every child."""
        self._hang_up()
        if self._ending:
            await asyncio.wait(self._ending)


def _end(process: subprocess.Popen[bytes], scratch: ScratchFolder) -> None:
    """It ends by itself, after all that its children started, which would outlive it."""
    try:
        process.wait(SERVER_EXIT_TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    scratch.close()


async def _send_and_read(channel: socket.socket, task: Task, hear: Callable[[bytes], None]) -> None:
    """Send the task, then hear lines until the child hangs up. Raises wire.TooMuch, and what `hear` does."""
    request = orjson.dumps({"function": task.function, "arguments": task.arguments}) + b"\n"
    try:
        await asyncio.get_running_loop().sock_sendall(channel, request)
        await protocol.read_lines(channel, hear)
    except ConnectionError:
        return  # the child ended before it read or said all; its status tells why
