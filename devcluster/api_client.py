"""Requests to the API server of a cluster, without a process for each: as the admin of a cluster that starts, or as anyone.

Called by the supervisor, and by devcluster.cluster for tests and the demo. It interprets no object; olmkit's client is the
suite's own.
"""

import contextlib
import http.client
import json
import os
import shutil
import socket
import ssl
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from devcluster.errors import DevclusterError
from devcluster.processes import start_logged, with_parent_death_signal

APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
"""Media types of a PATCH."""
_JSON = "application/json"
_TIMEOUT_SECONDS = 5.0
_REQUEST_SECONDS = 30.0
_START_SECONDS = 60.0
_POLL_SECONDS = 0.02


class ApiClient:
    """Requests to one API server. Each uses a new connection, so a restart of the server does not matter."""

    def __init__(self, server: str, authority: Path, token: str) -> None:
        """`server` as "https://127.0.0.1:6443"; `authority` is the PEM file of its CA."""
        self._address = urlsplit(server).netloc
        self._context = ssl.create_default_context(cafile=str(authority))
        self._token = token

    def request(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Return the HTTP status and the parsed response (None if it is not JSON); status 0 if the server does not answer."""
        connection = http.client.HTTPSConnection(self._address, context=self._context, timeout=_TIMEOUT_SECONDS)
        return _answer(connection, method, path, body, {"Authorization": f"Bearer {self._token}"})


class ApiProxy:
    """The API server behind `kubectl proxy`, so any kubeconfig works: one process for all requests of a cluster.

    It listens on a socket in a directory that only this user may read, and ends with this process.
    """

    def __init__(self, kubectl: Path, kubeconfig: Path) -> None:
        """Start the proxy, and return when it accepts connections. Raises DevclusterError with its output."""
        self._directory = Path(tempfile.mkdtemp(prefix="devcluster-"))
        self._socket = self._directory / "api"
        command = [f"--kubeconfig={kubeconfig}", "proxy", f"--unix-socket={self._socket}"]
        log = self._directory / "log"
        self._process = start_logged(with_parent_death_signal(kubectl, command), log, dict(os.environ))
        deadline = time.monotonic() + _START_SECONDS
        while not self._accepts():
            if self._process.poll() is not None or time.monotonic() > deadline:
                output = log.read_text().strip()
                self.close()
                raise DevclusterError(f"kubectl proxy does not start: {output}")
            time.sleep(_POLL_SECONDS)

    def request(
        self, method: str, path: str, body: Any = None, content_type: str = _JSON, accept: str = "*/*"
    ) -> tuple[int, Any]:
        """Return the HTTP status and the parsed response (None if it is not JSON); 0 or 502 if the server does not answer."""
        headers = {"Content-Type": content_type, "Accept": accept}
        return _answer(_UnixConnection(self._socket, _REQUEST_SECONDS), method, path, body, headers)

    def call(self, method: str, path: str, body: Any = None, content_type: str = _JSON) -> Any:
        """The parsed response. Raises DevclusterError with the message of the API server if it refuses the request."""
        status, answer = self.request(method, path, body, content_type)
        if not http.client.OK <= status < http.client.MULTIPLE_CHOICES:
            message = answer["message"] if isinstance(answer, dict) else f"status {status}"
            raise DevclusterError(f"{method} {path}: {message}")
        return answer

    def apply(self, path: str, object_: Mapping[str, Any]) -> Any:
        """Server-side apply of one object whose kind is at the path; returns it. Raises DevclusterError."""
        options = "fieldManager=devcluster&force=true&fieldValidation=Strict"
        return self.call("PATCH", f"{path}/{object_['metadata']['name']}?{options}", object_, APPLY)

    def lines(self, path: str) -> "Lines":
        """The lines of a response that does not end, such as that of a watch. Raises OSError if the server does not answer."""
        return Lines(self._socket, path)

    def close(self) -> None:
        """End the proxy. A second call does nothing."""
        self._process.kill()
        self._process.wait()
        shutil.rmtree(self._directory, ignore_errors=True)

    def _accepts(self) -> bool:
        connection = _UnixConnection(self._socket, _REQUEST_SECONDS)
        try:
            connection.connect()
        except OSError:
            return False
        finally:
            connection.close()
        return True


class Lines:
    """The lines of one response. `close` may be called by another thread, and ends the iteration."""

    def __init__(self, unix_socket: Path, path: str) -> None:
        """Connects. Raises OSError if that fails."""
        self._connection = _UnixConnection(unix_socket, None)
        self._connection.connect()
        self._socket: socket.socket = self._connection.sock
        self._path = path

    def __iter__(self) -> Iterator[bytes]:
        """Ends when the server ends the response or its connection, and with `close`."""
        try:
            self._connection.request("GET", self._path)
            with self._connection.getresponse() as answer:
                while line := answer.readline():
                    yield line
        except (OSError, http.client.HTTPException):
            return
        finally:
            self._connection.close()

    def close(self) -> None:
        """End the response."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)


class _UnixConnection(http.client.HTTPConnection):
    """A connection to a server at a Unix socket."""

    def __init__(self, path: Path, seconds: float | None) -> None:
        super().__init__("localhost", timeout=seconds)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        try:
            self.sock.connect(str(self._path))
        except OSError:
            self.close()
            raise


def _answer(
    connection: http.client.HTTPConnection, method: str, path: str, body: Any, headers: Mapping[str, str]
) -> tuple[int, Any]:
    sent = None if body is None else json.dumps(body)
    try:
        connection.request(method, path, sent, {"Content-Type": _JSON, **headers})
        answer = connection.getresponse()
        return answer.status, _parsed(answer.read())
    except (OSError, http.client.HTTPException):
        return 0, None
    finally:
        connection.close()


def _parsed(text: bytes) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None
