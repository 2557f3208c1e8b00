"""`olm` as forks of one process that has imported it: tests that run dozens of commands save the imports of each.

Used by tests whose subject is not how the command starts. Each command has a process of its own, with the environment, the
working directory and the standard streams of its caller, and ends as every Python program does.

As a program, `python -m tests.forked_olm FD`, it answers the requests of tests/olm_request.py on the listening socket FD.
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
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

import olmctl.main
from devcluster.processes import python_environment, with_parent_death_signal
from tests import olm_request

_MAX_REQUEST_BYTES = 200_000


class ForkedOlm:
    """The process that is forked. It ends with the tests."""

    def __init__(self) -> None:
        """Start it. The first command waits for its imports."""
        self._directory = tempfile.mkdtemp(prefix="olm-")
        self._address = str(Path(self._directory) / "requests")
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            listener.bind(self._address)
            listener.listen()
            descriptor = listener.fileno()
            command = with_parent_death_signal(sys.executable, ["-P", "-m", "tests.forked_olm", str(descriptor)])
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, pass_fds=[descriptor], env=python_environment()
            )

    @property
    def shell_words(self) -> list[str]:
        """The words that stand for `olm` in a shell."""
        return [sys.executable, "-I", "-S", olm_request.__file__, self._address]

    def run(self, *arguments: str, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
        """Run a command without input."""
        with open(os.devnull) as nothing, tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
            streams = [each.fileno() for each in (nothing, out, err)]
            status = olm_request.send(self._address, arguments, environment, streams)
            out.seek(0)
            err.seek(0)
            return subprocess.CompletedProcess(("olm", *arguments), status, out.read(), err.read())

    def close(self) -> None:
        """End it."""
        self._process.kill()
        self._process.wait()
        shutil.rmtree(self._directory)


@pytest.fixture(scope="session")
def forked_olm() -> Iterator[ForkedOlm]:
    """The process of which the commands of this process of tests are forks."""
    running = ForkedOlm()
    try:
        yield running
    finally:
        running.close()


def main(descriptor: int) -> None:
    """Fork for each connection, until this process is killed."""
    for module in pkgutil.walk_packages(olmctl.__path__, "olmctl."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps them
    with socket.socket(fileno=descriptor) as listener:
        while True:
            connection, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                sys.exit(_answer(connection))
            connection.close()


def _answer(connection: socket.socket) -> int:
    """Have a fork run the command of a connection, and send its exit status; in the fork, the exit status of the command."""
    data, streams, _, _ = socket.recv_fds(connection, _MAX_REQUEST_BYTES, 3)
    if (command := os.fork()) == 0:
        connection.close()
        return _run(data.decode().split("\0"), streams)
    for each in streams:
        os.close(each)
    poll, ended = select.poll(), os.pidfd_open(command)
    poll.register(ended, select.POLLIN)
    poll.register(connection, select.POLLIN)
    if ended not in [descriptor for descriptor, _ in poll.poll()]:
        os.kill(command, signal.SIGTERM)  # the program that asked is gone
    _, status = os.waitpid(command, 0)
    code = os.waitstatus_to_exitcode(status)
    connection.send(str(code if code >= 0 else 128 - code).encode())
    return 0


def _run(request: list[str], streams: list[int]) -> int:
    directory, count, *words = request
    for number, each in enumerate(streams):
        os.dup2(each, number)
        os.close(each)
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w", errors="backslashreplace")  # noqa: SIM115
    os.chdir(directory)
    os.environ.clear()
    os.environ.update({name: value for name, _, value in (each.partition("=") for each in words[int(count) :])})
    tempfile.tempdir = None
    sys.argv = ["olm", *words[: int(count)]]
    return olmctl.main.main()


if __name__ == "__main__":
    main(int(sys.argv[1]))
