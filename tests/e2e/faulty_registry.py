"""A registry that fails on purpose: 500 to one repository, 401 to another, no answer to a third, and a port where nobody listens.

What it says is what broken registries say; no test takes a success from it.
"""

import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self

from devcluster.claim import spare_port

HOST = "faulty.example.com"
ABSENT_HOST = "absent.example.com"

_STATUS = {"answers-500": 500, "answers-401": 401}


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        """Fail as the path says; a path without a way to fail never gets an answer while the server lives."""
        for name, status in _STATUS.items():
            if name in self.path:
                body = (
                    b'{"errors":[{"code":"UNAUTHORIZED","message":"authentication required"}]}'
                    if status == 401
                    else b""
                )
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if self.command == "GET":
                    self.wfile.write(body)
                return
        assert isinstance(self.server, _Server)
        self.server.ended.wait()

    do_HEAD = do_GET

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", spare_port()), _Handler)
        self.ended = threading.Event()

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that gives up waiting is what is wanted."""


class FaultyRegistry:
    """Runs until the end of its `with` block."""

    def __init__(self) -> None:
        """Listen already, so that the address is known."""
        self._server = _Server()
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._absent = socket.socket()
        self._absent.bind(("127.0.0.1", 0))

    @property
    def address(self) -> str:
        """Where it listens."""
        return f"127.0.0.1:{self._server.server_port}"

    @property
    def absent_address(self) -> str:
        """Where nobody listens, and nobody else can."""
        return f"127.0.0.1:{self._absent.getsockname()[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.ended.set()
        self._server.shutdown()
        self._server.server_close()
        self._absent.close()
        self._thread.join()


def registries_conf(text: str, registry: FaultyRegistry) -> str:
    """The cluster's registries.conf with the two faulty hosts added."""
    blocks = [
        f'[[registry]]\nprefix = "{host}"\nlocation = "{address}"\ninsecure = true\n'
        for host, address in ((HOST, registry.address), (ABSENT_HOST, registry.absent_address))
    ]
    return "\n".join([text, *blocks])
