"""The fork server: a small process with the modules of jobs loaded, that forks a child per job and reports how it ended.

Started by olmkit.jobs.fork_client as `python -m olmkit.jobs.fork_server FD MODULE...`; FD is a SOCK_SEQPACKET socket of JSON:

    in   {"fork": id, "spec": ChildSpec} + one descriptor or two (child.py)
    in   {"kill": id}
    out  {"exited": id, "status": wait status, "disk_errno": null, or why its directory could not be made}

It exists because forking the controller itself (threads, TLS sessions, tokens in memory) is neither safe nor private: it is a
program of its own, with the few environment variables that jobs may read (fork_client.py). It runs no function of a job, and it
ends, with its children, when the controller's end of the socket closes, as it does when the controller dies. Why it is not
multiprocessing's: docs/decisions/0030.

A job is a session with one process group, which no process of it can leave (seccomp.py). When its first process has ended, the
others are killed; its end is reported when the last of them is gone, so that nothing of it writes afterwards. Until then the
server also keeps a parser's channel open: the end of that channel is how the job that waits for it knows.
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

import orjson

from olmkit.jobs import child, codec, sandbox, syscalls
from olmkit.jobs.job import Role
from olmkit.jobs.protocol import ChildSpec
from olmkit.store.directories import remove_tree
from olmkit.store.disk_errors import disk_error

MAX_CONTROL_MESSAGE_BYTES = 64 * 1024
MAX_FAILURE_CHARACTERS = 500


@dataclass
class _Child:
    """The first process of a job and of its process group."""

    pid: int
    kept_channels: Sequence[int]
    """The channels to close when the group is gone."""
    status: int | None = None
    """The wait status of the process once it is reaped; others of the group may still be there."""


class ForkServer:
    """Children by job number, as long as their process group exists: only then is a process ID surely theirs."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._children: dict[int, _Child] = {}
        self._directory = Path(tempfile.gettempdir())

    def run(self) -> None:
        """Serve until the controller closes the socket."""
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
                        serving = self._handle_message()
        for each in self._children.values():
            _kill(each)
        with suppress(ChildProcessError):
            while True:
                os.waitpid(-1, 0)

    def _handle_message(self) -> bool:
        try:
            data, descriptors, _, _ = socket.recv_fds(self._control, MAX_CONTROL_MESSAGE_BYTES, 2)
        except ConnectionResetError:
            return False  # it closed the socket before it read how the last children ended
        if not data:
            return False
        message = orjson.loads(data)
        if "fork" in message:
            self._fork(message["fork"], descriptors, codec.decode(ChildSpec, message["spec"]))
        elif message["kill"] in self._children:
            _kill(self._children[message["kill"]])
        return True

    def _fork(self, job: int, channels: Sequence[int], spec: ChildSpec) -> None:
        server, scratch = os.getpid(), self._scratch(job)
        try:
            scratch.mkdir(mode=0o700)
            pid = os.fork()
        except OSError as error:
            # No process can be started: reported as one that was killed, so that the scheduler retries, unless the disk is why.
            _close(channels)
            self._report_exit(job, signal.SIGKILL, error.errno if disk_error(error) is not None else None)
            return
        if pid == 0:
            signal.set_wakeup_fd(-1)
            child.run(channels, server, spec, scratch)
        kept = channels if spec.role == Role.PARSE else ()
        if not kept:
            _close(channels)
        self._children[job] = _Child(pid, kept)

    def _reap(self) -> None:
        """Wait for children that ended, and for processes that a job left behind, which are killed."""
        jobs = {each.pid: each for each in self._children.values()}
        with suppress(ChildProcessError):
            # WNOWAIT: as long as the first process of a group is not reaped, its number is surely the group's.
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
                _close(each.kept_channels)
                remove_tree(self._scratch(job))
                self._report_exit(job, each.status)

    def _scratch(self, job: int) -> Path:
        """The directory for temporary files of that job."""
        return self._directory / str(job)

    def _report_exit(self, job: int, status: int, disk_errno: int | None = None) -> None:
        with suppress(ConnectionError):
            self._control.send(orjson.dumps({"exited": job, "status": status, "disk_errno": disk_errno}))


def _kill(each: _Child) -> None:
    """The whole group; a process that has no group yet has started nothing."""
    with suppress(ProcessLookupError):
        os.killpg(each.pid, signal.SIGKILL)
    if each.status is None:
        os.kill(each.pid, signal.SIGKILL)


def _has_group(number: int) -> bool:
    """Report whether a process of the group is left. Orphans are children of this server, so waitid knows all of them."""
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
        # The controller decides when its jobs end.
        signal.signal(number, signal.SIG_IGN)
    with socket.socket(fileno=int(argv[0])) as control:
        try:
            _preload(argv[1:])
        except Exception as error:
            control.send(orjson.dumps({"failed": f"{type(error).__name__}: {error}"[:MAX_FAILURE_CHARACTERS]}))
            raise
        ForkServer(control).run()


def _preload(modules: Sequence[str]) -> None:
    gc.disable()  # nothing that is imported is garbage
    for module in modules:
        importlib.import_module(module)
    if threading.active_count() > 1:
        raise RuntimeError("a preloaded module started a thread, which a fork would lose")
    sandbox.python_paths(), sandbox.network_paths()  # fills the caches that children inherit
    gc.collect()
    gc.freeze()  # the collector must not touch, and so copy, pages that children share
    gc.enable()


if __name__ == "__main__":
    main(sys.argv[1:])
