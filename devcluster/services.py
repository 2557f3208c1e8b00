"""Servers as processes on this machine: start, wait until each answers, show the end of the log when one fails, stop.

The base of suite.py (the three controllers) and of what runs servers of other projects: cert_manager.py, gitops/argocd.py,
gitops/flux.py and tests/alerts. It knows no server, and starts none again that has ended; component_process.py does that for the
cluster's own.
"""

import http.client
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from devcluster.allocation import free_port
from devcluster.errors import DevclusterError
from devcluster.processes import start_logged, with_parent_death_signal

LOOPBACK_ONLY = {"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
"""Environment of a server whose clients and servers are on this machine: no proxy of the user is between them."""

_ANSWER_SECONDS = 90.0
_STOP_SECONDS = 20.0
_QUESTION_SECONDS = 0.05
_CONNECT_SECONDS = 2.0
_REQUEST_SECONDS = 10.0


class Services:
    """Processes by name. `directory` gets a log per process, NAME.log, with the output of all its runs."""

    def __init__(self, directory: Path) -> None:
        """Make the directory. Starts nothing."""
        self.directory = directory
        self.directory.mkdir(parents=True, exist_ok=True)
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def launch(
        self, name: str, program: Path | str, arguments: Sequence[str], environment: Mapping[str, str] = os.environ
    ) -> None:
        """Start a process, which ends with this one. Returns before it answers."""
        command = with_parent_death_signal(program, arguments)
        self._processes[name] = start_logged(command, self.log(name), environment)

    def until(self, name: str, what: str, holds: Callable[[], object], seconds: float = _ANSWER_SECONDS) -> None:
        """Ask again until `holds` returns a true value; between two questions wait for the end of the process.

        Raises DevclusterError, with `what` and the end of the log, if the process has ended or after `seconds`.
        """
        deadline = time.monotonic() + seconds
        while not holds():
            if self._ends_within(name, _QUESTION_SECONDS):
                problem = f"ended with exit code {self.exit_code(name)}"
            elif time.monotonic() >= deadline:
                problem = f"is not {what} after {seconds:.0f} seconds"
            else:
                continue
            raise DevclusterError(f"{name} {problem}. Its log ends:\n{self.log_tail(name)}")

    def stop(self, *names: str) -> None:
        """Stop processes (default: all) by SIGTERM. Raises DevclusterError, which names them, if some had to be killed."""
        chosen = [name for name in names or tuple(self._processes) if self.is_running(name)]
        for name in chosen:
            self._processes[name].send_signal(signal.SIGTERM)
        deadline = time.monotonic() + _STOP_SECONDS
        late = [name for name in chosen if not self._ends_within(name, deadline - time.monotonic())]
        for name in late:
            self.kill(name)
        if late:
            raise DevclusterError(
                f"{', '.join(late)} did not end within {_STOP_SECONDS:.0f} seconds of SIGTERM and was killed."
            )

    def kill(self, name: str) -> None:
        """Kill a process immediately."""
        self._processes[name].kill()
        self._processes[name].wait()

    def is_running(self, name: str) -> bool:
        """Report whether the process is running."""
        return name in self._processes and self._processes[name].poll() is None

    def pid(self, name: str) -> int:
        """The process id of a process that was started."""
        return self._processes[name].pid

    def exit_code(self, name: str) -> int | None:
        """The exit code of the last process of that name (negative: the signal), None while it runs."""
        return self._processes[name].poll()

    def log(self, name: str) -> Path:
        """The log file of a process."""
        return self.directory / f"{name}.log"

    def log_tail(self, name: str, lines: int = 30) -> str:
        """The last lines of its log."""
        path = self.log(name)
        return "\n".join(path.read_text(errors="replace").splitlines()[-lines:]) if path.exists() else ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _ends_within(self, name: str, seconds: float) -> bool:
        try:
            self._processes[name].wait(max(0.0, seconds))
        except subprocess.TimeoutExpired:
            return False
        return True


def free_address() -> str:
    """A free "127.0.0.1:port" for a server that starts soon."""
    return f"127.0.0.1:{free_port()}"


def port_of(address: str) -> str:
    """The port of "host:port", for programs that take it by itself."""
    return address.rpartition(":")[2]


def accepts(address: str) -> bool:
    """Report whether something accepts connections at "host:port"."""
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), timeout=_CONNECT_SECONDS):
            return True
    except OSError:
        return False


def answers(address: str, path: str) -> bool:
    """Report whether a server at "host:port" answers a GET of the path over plain HTTP with 200."""
    try:
        return request(address, "GET", path)[0] == http.client.OK
    except (OSError, http.client.HTTPException):
        return False


def request(
    address: str, method: str, path: str, body: str | None = None, headers: Mapping[str, str] | None = None
) -> tuple[int, str]:
    """The status and body of the answer of a server at "host:port" over plain HTTP. Raises OSError or HTTPException."""
    connection = http.client.HTTPConnection(address, timeout=_REQUEST_SECONDS)
    try:
        connection.request(method, path, body, dict(headers or {}))
        answer = connection.getresponse()
        return answer.status, answer.read().decode(errors="replace")
    finally:
        connection.close()
