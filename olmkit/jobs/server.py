"""The fork server: a small process with the jobs' modules loaded, that forks a child per job and says how it ended.

Started by olmkit.jobs.forks as `python -m olmkit.jobs.server FD PARENT MODULE...`; FD is a SOCK_SEQPACKET socket of JSON:

    in   {"fork": id, "limits": {...}, "looks": false} + one descriptor     out  {"exited": id, "status": wait status}
    in   {"kill": id}

It exists because forking the controller itself (threads, TLS sessions, tokens in memory) is neither safe nor private. It runs
no job code, and it ends, with its children, when the controller's end of the socket closes or the controller dies.
"""

from __future__ import annotations

import gc
import importlib
import os
import selectors
import signal
import socket
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress

import orjson

from olmkit.jobs import child

MESSAGE_LIMIT = 64 * 1024


class Server:
    """Children by job id, as long as they have not been reaped: only then is a process id surely theirs."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._children: dict[int, int] = {}

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
        for pid in self._children.values():
            os.kill(pid, signal.SIGKILL)

    def _obey(self) -> bool:
        try:
            data, descriptors, _, _ = socket.recv_fds(self._control, MESSAGE_LIMIT, 1)
        except ConnectionResetError:
            return False  # it hung up without having heard how the last children ended
        if not data:
            return False
        message = orjson.loads(data)
        if "fork" in message:
            self._fork(message["fork"], descriptors[0], message["limits"], looks=message["looks"])
        elif message["kill"] in self._children:
            os.kill(self._children[message["kill"]], signal.SIGKILL)
        return True

    def _fork(self, job: int, channel: int, limits: dict[str, int], *, looks: bool) -> None:
        server = os.getpid()
        try:
            pid = os.fork()
        except OSError:
            # No process to be had: the same as one that was killed, and the scheduler tries again.
            os.close(channel)
            self._tell(job, signal.SIGKILL)
            return
        if pid == 0:
            signal.set_wakeup_fd(-1)
            child.live(channel, server, limits, looks=looks)
        os.close(channel)
        self._children[job] = pid

    def _reap(self) -> None:
        """Also processes that a job had and left behind when it was killed: they end with it, and somebody has to wait."""
        jobs = {pid: job for job, pid in self._children.items()}
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                job = jobs.get(ended[0])
                if job is not None:
                    del self._children[job]
                    self._tell(job, ended[1])

    def _tell(self, job: int, status: int) -> None:
        with suppress(BrokenPipeError):
            self._control.send(orjson.dumps({"exited": job, "status": status}))


def main(argv: Sequence[str]) -> None:
    """Serve on the descriptor argv[0] for the process argv[1], with the modules argv[2:] loaded."""
    child.die_with_parent(int(argv[1]))
    child.inherit_orphans()
    for number in (signal.SIGINT, signal.SIGTERM):
        # The controller decides when its jobs end; it drains first.
        signal.signal(number, signal.SIG_IGN)
    for module in argv[2:]:
        importlib.import_module(module)
    if threading.active_count() > 1:
        raise RuntimeError("a module that jobs need started a thread when it was loaded: forking would lose it")
    gc.collect()
    gc.freeze()  # the collector must not touch, and so copy, pages that children share
    with socket.socket(fileno=int(argv[0])) as control:
        Server(control).run()


if __name__ == "__main__":
    main(sys.argv[1:])
