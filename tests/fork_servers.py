"""Fork servers of the controllers that tests run, in their own process or as forks: forks of one process with their modules.

The fixtures are imported by the conftest.py of tests whose subject is not how a fork server starts. tests/forked_programs.py has
the same for the controllers that it forks. Each has real fork servers, with all that follows the start; what is saved is a
quarter of a second of imports for each. A fork server whose environment decides what the imports do is started as the
controllers start it.

As a program, `python -m tests.fork_servers FD`, it forks a fork server for each request on the socket FD.
"""

from __future__ import annotations

import gc
import importlib
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import orjson
import pytest

from olmkit.jobs import fork_client, fork_server

_MODULES = (
    "catalogd.bundle_summaries.summary_job",
    "catalogd.http.compression_job",
    "catalogd.ingest.load_job",
    "operator_controller.resolution.solve_job",
    "rukpak.bundle.unpack_job",
    "rukpak.bundledeployment.crd_upgrade.validate_job",
    "rukpak.charts.template_job",
)
_MAX_REQUEST_BYTES = 200_000
_DECIDES_IMPORTS = ("SSL_", "OPENSSL", "LD_", "PYTHON")
"""Beginnings of the names of variables that are read by the imports, or by the interpreter."""


class _Forked:
    """A fork server that is a child of another process."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        try:
            self._descriptor: int | None = os.pidfd_open(pid)
        except ProcessLookupError:
            self._descriptor = None

    def kill(self) -> None:
        """Kill it, unless it has ended."""
        if self._descriptor is not None:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._descriptor, signal.SIGKILL)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end; the status is not known. Raises subprocess.TimeoutExpired."""
        if self._descriptor is not None:
            poll = select.poll()
            poll.register(self._descriptor, select.POLLIN)
            if not poll.poll(None if timeout is None else timeout * 1000):
                raise subprocess.TimeoutExpired(("fork server", str(self._pid)), timeout or 0)
            os.close(self._descriptor)
            self._descriptor = None
        return 0


class ForkServerParent:
    """The process of which fork servers are forks. It starts with the first of them, or by start(); forks of the process that has
    started it share it."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._environment: Mapping[str, str] = {}
        self._control, self._theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)

    def start_server(
        self, descriptor: int, preload: Sequence[str], environment: Mapping[str, str]
    ) -> fork_client.ServerProcess:
        """As fork_client.start_server()."""
        if self._process is None:
            self.start(environment)
        if _deciding(environment) != _deciding(self._environment):
            return _STARTS(descriptor, preload, environment)
        request = orjson.dumps({"preload": preload, "environment": environment})
        answers, theirs = socket.socketpair()
        with answers, theirs:
            socket.send_fds(self._control, [request], [descriptor, theirs.fileno(), 2])
            theirs.close()
            return _Forked(int(answers.recv(64)))

    def start(self, environment: Mapping[str, str]) -> None:
        """Start it with the environment of a fork server."""
        self._environment = environment
        self._process = _start(self._theirs, environment)

    def close(self) -> None:
        """End it; the fork servers stay."""
        self._control.close()
        self._theirs.close()
        if self._process is not None:
            self._process.wait()


_STARTS = fork_client.start_server


@pytest.fixture(scope="session")
def fork_server_parent() -> Iterator[ForkServerParent]:
    """The process of which the fork servers of this process of tests are forks."""
    parent = ForkServerParent()
    try:
        yield parent
    finally:
        parent.close()


@pytest.fixture(scope="package", autouse=True)
def forked_fork_servers(fork_server_parent: ForkServerParent) -> Iterator[None]:
    """Have fork servers start as forks of a process that has loaded their modules."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fork_client, "start_server", fork_server_parent.start_server)
        yield


def _deciding(environment: Mapping[str, str]) -> Mapping[str, str]:
    return {name: value for name, value in environment.items() if name.startswith(_DECIDES_IMPORTS)}


def _start(control: socket.socket, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    paths = os.pathsep.join((str(Path(__file__).parents[1]), environment["PYTHONPATH"]))
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "tests.fork_servers", str(control.fileno())],
        stdin=subprocess.DEVNULL,
        stdout=2,
        pass_fds=[control.fileno()],
        process_group=0,
        cwd="/",
        env={**environment, "TMPDIR": tempfile.gettempdir(), "PYTHONPATH": paths},
    )


def main(descriptor: int) -> None:
    """Fork for each request, until the tests close their end of the socket."""
    for module in _MODULES:
        importlib.import_module(module)
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps them
    with socket.socket(fileno=descriptor) as control:
        while True:
            data, descriptors, _, _ = socket.recv_fds(control, _MAX_REQUEST_BYTES, 3)
            if not data:
                return
            if (pid := os.fork()) == 0:
                _serve(orjson.loads(data), descriptors, control)
            with socket.socket(fileno=descriptors[1]) as answer:
                answer.send(str(pid).encode())
            os.close(descriptors[0])
            os.close(descriptors[2])


def _serve(request: Mapping[str, object], descriptors: Sequence[int], control: socket.socket) -> None:
    """What a new process of a fork server does, which has nothing of this one but the modules; its output goes where that of its
    controller goes."""
    status, descriptor = 1, descriptors[0]
    try:
        control.detach()
        for stream in (1, 2):
            os.dup2(descriptors[2], stream)
        os.closerange(3, descriptor)
        os.closerange(descriptor + 1, 1024)
        os.setpgid(0, 0)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        environment, preload = request["environment"], request["preload"]
        assert isinstance(environment, dict)
        assert isinstance(preload, list)
        os.environ.clear()
        os.environ.update(environment)
        tempfile.tempdir = None
        fork_server.main([str(descriptor), *preload])
        status = 0
    finally:
        os._exit(status)


if __name__ == "__main__":
    main(int(sys.argv[1]))
