"""The fork server: a small process with the jobs' modules loaded, that forks a child per job and says how it ended.

Started by olmkit.jobs.fork_client as `python -m olmkit.jobs.fork_server FD MODULE...`; FD is a SOCK_SEQPACKET socket of JSON:

    in   {"fork": id, "role": "work", "limits": {...}, "sandbox": {...}} + one descriptor or two (child.py)
    in   {"kill": id}
    out  {"exited": id, "status": wait status}

It exists because forking the controller itself (threads, TLS sessions, tokens in memory) is neither safe nor private: it is a
program of its own, with the few environment variables that jobs may know (environment.py). It runs no job code, and it ends,
with its children, when the controller's end of the socket closes, as it does when the controller dies.

A job is a session with one group of processes, which no process of it can leave (seccomp.py). When its first process has ended,
the others are killed; its end is reported when the last of them is gone, so that nothing of it writes afterwards. Until then the
server also keeps the parser's line open: the end of that line is how the job that waits for it knows.
"""

from __future__ import annotations

import gc
import importlib
import os
import selectors
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from olmkit.jobs import child, sandbox, syscalls
from olmkit.jobs.job import Role
from olmkit.store.folders import remove_tree

MAX_MESSAGE_BYTES = 64 * 1024


@dataclass
class _Child:
    """The first process of a job, and of its group. `kept` are descriptors to close when the group is gone."""

    pid: int
    kept: Sequence[int]
    status: int | None = None
    """Its wait status once it is reaped; others of the group may still be there."""


class ForkServer:
    """Children by job id, as long as their group is there: only then is a process id surely theirs."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._children: dict[int, _Child] = {}
        self._folder = Path(tempfile.gettempdir())

    def run(self) -> None:
        """Serve until the controller hangs up."""
        wakeup, signalled = socket.socketpair()
        for end in (wakeup, signalled):
            end.setblocking(False)
        signal.set_wakeup_fd(signalled.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        with selectors.DefaultSelector() as selector:
            selector.register(self._control, selectors.EVENT_READ)
            selector.register(wakeup, selectors.EVENT_READ)
            serving = True
            while serving:
                for key, _ in selector.select():
                    if key.fileobj is wakeup:
                        wakeup.recv(4096)
                        self._reap()
                    else:
                        serving = self._obey()
        for each in self._children.values():
            _kill(each)
        with suppress(ChildProcessError):
            while True:
                os.waitpid(-1, 0)

    def _obey(self) -> bool:
        try:
            data, descriptors, _, _ = socket.recv_fds(self._control, MAX_MESSAGE_BYTES, 2)
        except ConnectionResetError:
            return False  # it hung up without having heard how the last children ended
        if not data:
            return False
        message = orjson.loads(data)
        if "fork" in message:
            self._fork(message["fork"], descriptors, message)
        elif message["kill"] in self._children:
            _kill(self._children[message["kill"]])
        return True

    def _fork(self, job: int, channels: Sequence[int], asked: dict[str, Any]) -> None:
        server, scratch = os.getpid(), self._scratch(job)
        try:
            scratch.mkdir(mode=0o700)
            pid = os.fork()
        except OSError:
            # No process to be had: the same as one that was killed, and the scheduler tries again.
            _close(channels)
            self._tell(job, signal.SIGKILL)
            return
        if pid == 0:
            signal.set_wakeup_fd(-1)
            child.run(channels, server, asked, scratch)
        kept = channels if asked["role"] == Role.PARSE else ()
        if not kept:
            _close(channels)
        self._children[job] = _Child(pid, kept)

    def _reap(self) -> None:
        """Also processes that a job had and left behind: they are killed, and somebody has to wait for them."""
        jobs = {each.pid: each for each in self._children.values()}
        with suppress(ChildProcessError):
            # Not reaped at once: as long as the first of a group is there its number is surely the group's.
            while found := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                first = jobs.get(found.si_pid)
                if first is not None:
                    _kill(first)
                status = os.waitpid(found.si_pid, 0)[1]
                if first is not None:
                    first.status = status
        for job, each in [*self._children.items()]:
            if each.status is not None and not _has_group(each.pid):
                del self._children[job]
                _close(each.kept)
                remove_tree(self._scratch(job))
                self._tell(job, each.status)

    def _scratch(self, job: int) -> Path:
        """The folder for temporary files of that job."""
        return self._folder / str(job)

    def _tell(self, job: int, status: int) -> None:
        with suppress(BrokenPipeError):
            self._control.send(orjson.dumps({"exited": job, "status": status}))


def _kill(each: _Child) -> None:
    """The whole group; a process that has no group yet has started nothing."""
    with suppress(ProcessLookupError):
        os.killpg(each.pid, signal.SIGKILL)
    if each.status is None:
        os.kill(each.pid, signal.SIGKILL)


def _has_group(number: int) -> bool:
    """Whether a process is left of it. Orphans are this server's children, so it is all of them that this asks about."""
    try:
        os.waitid(os.P_PGID, number, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def _close(descriptors: Sequence[int]) -> None:
    for number in descriptors:
        os.close(number)


def main(argv: Sequence[str]) -> None:
    """Serve on the descriptor argv[0] with the modules argv[1:] loaded."""
    syscalls.set_dumpable(False)
    syscalls.set_child_subreaper()
    for number in (signal.SIGINT, signal.SIGTERM):
        # The controller decides when its jobs end; it drains first.
        signal.signal(number, signal.SIG_IGN)
    for module in argv[1:]:
        importlib.import_module(module)
    if threading.active_count() > 1:
        raise RuntimeError("a module that jobs need started a thread when it was loaded: forking would lose it")
    sandbox.python_paths(), sandbox.network_paths()  # kept for the children
    gc.collect()
    gc.freeze()  # the collector must not touch, and so copy, pages that children share
    with socket.socket(fileno=int(argv[0])) as control:
        ForkServer(control).run()


if __name__ == "__main__":
    main(sys.argv[1:])
