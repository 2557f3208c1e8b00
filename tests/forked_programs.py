"""`olm` and the controllers as forks of one process that has imported them: tests that start many save the imports of each.

The fork servers of these controllers are forks too, of a process that has imported the modules of jobs (tests/fork_servers.py).

Used by tests whose subject is not how a program starts. Each program has a process of its own, with the environment, the working
directory and the standard streams of its caller, and ends as every Python program does. A controller whose environment decides
what the imports do is started as usual.

As a program, `python -m tests.forked_programs FD`, it answers the requests of tests/fork_request.py on the listening socket FD.
"""

from __future__ import annotations

import gc
import importlib
import os
import pkgutil
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from devcluster.processes import python_environment, with_parent_death_signal
from devcluster.services import Services
from devcluster.suite import Suite
from olmkit.jobs import fork_client
from tests import fork_request
from tests.fork_servers import ForkServerParent

OLM = "olmctl"
CONTROLLERS = ("catalogd", "console", "operator_controller", "rukpak")
_MAIN = {OLM: "olmctl.main"} | {name: f"{name}.__main__" for name in CONTROLLERS}
"""The module with main() of each program."""
_MAX_REQUEST_BYTES = 200_000
_DECIDES_IMPORTS = ("SSL_", "OPENSSL", "LD_", "PYTHON")
"""Beginnings of the names of variables that are read by the imports, or by the interpreter."""


class ForkedProgram:
    """A fork, with what devcluster.services.Services does with a subprocess.Popen."""

    def __init__(self, connection: socket.socket) -> None:
        """The connection gets the answers to the request."""
        pid, (descriptor,), _, _ = socket.recv_fds(connection, fork_request.ANSWER_BYTES, 1)
        self._connection, self._descriptor = connection, descriptor
        self.pid = int(pid)
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """The exit status, None while it runs."""
        with suppress(subprocess.TimeoutExpired):
            return self.wait(0)
        return None

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end; returns the exit status. Raises subprocess.TimeoutExpired."""
        if self.returncode is None:
            waiting = select.poll()
            waiting.register(self._connection, select.POLLIN)
            if not waiting.poll(None if timeout is None else timeout * 1000):
                raise subprocess.TimeoutExpired(str(self.pid), timeout or 0)
            self.returncode = int(self._connection.recv(fork_request.ANSWER_BYTES))
            self._connection.close()
            os.close(self._descriptor)
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        if self.poll() is None:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._descriptor, number)

    def kill(self) -> None:
        """Kill it, unless it has ended."""
        self.send_signal(signal.SIGKILL)


class ForkedPrograms:
    """The process that is forked. It ends with the tests."""

    def __init__(self) -> None:
        """Start it. The first start of each program waits for its imports."""
        self._directory = tempfile.mkdtemp(prefix="olm-")
        self._address = str(Path(self._directory) / "requests")
        self._environment = python_environment()
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            listener.bind(self._address)
            listener.listen()
            descriptor = listener.fileno()
            command = with_parent_death_signal(sys.executable, ["-P", "-m", "tests.forked_programs", str(descriptor)])
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, pass_fds=[descriptor], env=self._environment
            )

    def shell_words(self, program: str) -> list[str]:
        """The words that stand for a program in a shell."""
        return [sys.executable, "-I", "-S", fork_request.__file__, self._address, program]

    def imports_as(self, environment: Mapping[str, str]) -> bool:
        """Whether the imports of a process with this environment are those of the process that is forked."""
        return _deciding(environment) == _deciding(self._environment)

    def start(self, program: Sequence[str], environment: Mapping[str, str], streams: Sequence[int]) -> ForkedProgram:
        """Start a program, its module and its arguments."""
        connection = fork_request.connect(self._address)
        fork_request.send(connection, program, environment, streams)
        return ForkedProgram(connection)

    def close(self) -> None:
        """End it. Programs that run end with this process."""
        self._process.kill()
        self._process.wait()
        shutil.rmtree(self._directory)


class ForkedOlm:
    """`olm` as forks."""

    def __init__(self, programs: ForkedPrograms) -> None:
        """Start nothing."""
        self._programs = programs

    @property
    def shell_words(self) -> list[str]:
        """The words that stand for `olm` in a shell."""
        return self._programs.shell_words(OLM)

    def run(self, *arguments: str, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
        """Run a command without input."""
        with open(os.devnull) as nothing, tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
            streams = [each.fileno() for each in (nothing, out, err)]
            status = self._programs.start([OLM, *arguments], environment, streams).wait()
            out.seek(0)
            err.seek(0)
            return subprocess.CompletedProcess(("olm", *arguments), status, out.read(), err.read())


@pytest.fixture(scope="session")
def forked_programs() -> Iterator[ForkedPrograms]:
    """The process of which the programs of this process of tests are forks."""
    running = ForkedPrograms()
    try:
        yield running
    finally:
        running.close()


@pytest.fixture(scope="session")
def forked_olm(forked_programs: ForkedPrograms) -> ForkedOlm:
    """`olm` as forks."""
    return ForkedOlm(forked_programs)


@pytest.fixture(scope="package", autouse=True)
def forked_controllers(forked_programs: ForkedPrograms) -> Iterator[None]:
    """Have the controllers start as forks."""

    def launch(
        services: Services,
        name: str,
        program: Path | str,
        arguments: Sequence[str],
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        is_controller = program == sys.executable and arguments[0] == "-m" and arguments[1] in CONTROLLERS
        if not is_controller or not forked_programs.imports_as(environment):
            return _LAUNCH(services, name, program, arguments, environment)
        with open(os.devnull) as nothing, services.log(name).open("ab") as log:
            streams = [each.fileno() for each in (nothing, log, log)]
            started = forked_programs.start(arguments[1:], environment, streams)
        services._processes[name] = started  # type: ignore[assignment]
        return None

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Services, "launch", launch)
        yield


@pytest.fixture
def unforked_controllers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the controllers start as usual, for tests of their start."""
    monkeypatch.setattr(Services, "launch", _LAUNCH)


def restart_unforked(suite: Suite, controller: str) -> None:
    """Have a controller run as usual: its fork server is its child, whose memory counts as its own."""
    suite.stop(controller)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Services, "launch", _LAUNCH)
        suite.start(controller)


_LAUNCH = Services.launch


def _deciding(environment: Mapping[str, str]) -> Mapping[str, str]:
    return {name: value for name, value in environment.items() if name.startswith(_DECIDES_IMPORTS)}


def main(descriptor: int) -> None:
    """Fork for each connection, until this process is killed. A Ctrl-C in a terminal is for the programs and the tests alone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps them
    with socket.socket(fileno=descriptor) as listener:
        fork_servers = ForkServerParent()
        while True:
            connection, _ = listener.accept()
            data, streams, _, _ = socket.recv_fds(connection, _MAX_REQUEST_BYTES, 3)
            if data:
                request = data.decode().split("\0")
                _import(request[2])
                if request[2] in CONTROLLERS:
                    _have_fork_servers_forked(fork_servers)
                if os.fork() == 0:
                    listener.close()
                    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                    sys.exit(_answer(connection, request, streams))
            for each in streams:
                os.close(each)
            connection.close()


def _import(program: str) -> None:
    """Import a program, unless it was imported."""
    if _MAIN[program] in sys.modules:
        return
    importlib.import_module(_MAIN[program])
    if program == OLM:  # which imports the modules of a command when it runs
        for module in pkgutil.walk_packages(importlib.import_module(OLM).__path__, f"{OLM}."):
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)
    gc.collect()
    gc.freeze()


def _have_fork_servers_forked(parent: ForkServerParent) -> None:
    """Have the controllers share the process of which their fork servers are forks, unless they do. It ends with the last."""
    if fork_client.start_server != parent.start_server:
        parent.start({**fork_client.filter_environment(os.environ), "PYTHONPATH": fork_client.module_path()})
        fork_client.start_server = parent.start_server


def _answer(connection: socket.socket, request: Sequence[str], streams: Sequence[int]) -> int:
    """Have a fork run the program of a request, and send its pid and its exit status; in the fork, the exit status of the
    program."""
    if (program := os.fork()) == 0:
        connection.close()
        return _run(request, streams)
    for each in streams:
        os.close(each)
    poll, ended = select.poll(), os.pidfd_open(program)
    socket.send_fds(connection, [str(program).encode()], [ended])
    poll.register(ended, select.POLLIN)
    poll.register(connection, select.POLLIN)
    if ended not in [descriptor for descriptor, _ in poll.poll()]:  # what asked for it is gone
        os.kill(program, signal.SIGTERM if request[2] == OLM else signal.SIGKILL)
    _, status = os.waitpid(program, 0)
    code = os.waitstatus_to_exitcode(status)
    connection.send(str(code if code >= 0 or request[2] != OLM else 128 - code).encode())
    return 0


def _run(request: Sequence[str], streams: Sequence[int]) -> int:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    directory, count, *words = request
    for number, each in enumerate(streams):
        os.dup2(each, number)
        os.close(each)
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w", errors="backslashreplace")  # noqa: SIM115
    os.chdir(directory)
    os.environ.clear()
    os.environ.update({name: value for name, _, value in (each.partition("=") for each in words[int(count) :])})
    tempfile.tempdir = None
    program, *arguments = words[: int(count)]
    sys.argv = ["olm" if program == OLM else program, *arguments]
    return int(sys.modules[_MAIN[program]].main())


if __name__ == "__main__":
    main(int(sys.argv[1]))
