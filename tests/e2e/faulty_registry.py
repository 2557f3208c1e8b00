"""A registry and web server that fails deliberately: each path names a way to fail, and no request ever succeeds.

It responds as broken and hostile servers do. A second port is one on which nothing listens.
"""

import json
import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from devcluster.allocation import free_port
from olmctl.authoring.images.labels import CONFIGS_LABEL
from tests.images import digest_of

HOST = "faulty.example.com"
ABSENT_HOST = "absent.example.com"

_STATUS = {"answers-500": 500, "answers-401": 401}
_DENIED = b'{"errors":[{"code":"UNAUTHORIZED","message":"authentication required"}]}'
_BLOB = bytes(range(256)) * 4096
"""The size that every layer claims: 1 MiB."""
_CONFIG = json.dumps({"config": {"Labels": {CONFIGS_LABEL: "/configs"}}}).encode()
_PIECE = 1024


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Fail as the path says; a path without a way to fail gets no response while the server runs."""
        self.close_connection = True
        for name, status in _STATUS.items():
            if name in self.path:
                self._answer(status, _DENIED if status == 401 else b"")
                return
        way = next((each for name, each in _WAYS.items() if name in self.path), None)
        if way is None:
            self.ended.wait()
        elif _has_manifest(self.path) and "/manifests/" in self.path:
            self._answer(200, _MANIFEST, {"Content-Type": "application/vnd.oci.image.manifest.v1+json"})
        elif digest_of(_CONFIG) in self.path:
            self._answer(200, _CONFIG)
        else:
            with suppress(OSError):  # the client times out, as it should
                way(self)

    do_HEAD = do_POST = do_GET

    @property
    def ended(self) -> threading.Event:
        """Set when the server stops."""
        assert isinstance(self.server, _Server)
        return self.server.ended

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""

    def head(self, status: int = 200, headers: Mapping[str, object] | None = None) -> None:
        """Send status and headers of a response."""
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.flush()

    def _answer(self, status: int, body: bytes, headers: Mapping[str, object] | None = None) -> None:
        self.head(status, {"Content-Length": len(body), **(headers or {})})
        if self.command != "HEAD":
            self.wfile.write(body)


def _trickle(handler: _Handler) -> None:
    handler.head(headers={"Content-Length": len(_BLOB)})
    for position in range(len(_BLOB)):
        handler.wfile.write(_BLOB[position : position + 1])
        if handler.ended.wait(0.5):
            return


def _almost_too_slow(handler: _Handler) -> None:
    handler.head(headers={"Content-Length": len(_BLOB)})
    for position in range(0, len(_BLOB), _PIECE):
        handler.wfile.write(_BLOB[position : position + _PIECE])
        handler.wfile.flush()
        if handler.ended.wait(0.5):
            return


def _longer_than_said(handler: _Handler) -> None:
    handler.head(headers={"Connection": "close"})
    while not handler.ended.is_set():
        handler.wfile.write(_BLOB)


def _shorter_than_said(handler: _Handler) -> None:
    handler.head(headers={"Content-Length": len(_BLOB) - 1})
    handler.wfile.write(_BLOB[:-1])


def _other_bytes(handler: _Handler) -> None:
    handler.head(headers={"Content-Length": len(_BLOB)})
    handler.wfile.write(_BLOB[::-1])


def _hang_after_the_head(handler: _Handler) -> None:
    handler.head(headers={"Content-Length": len(_BLOB)})
    handler.ended.wait()


def _endless_head(handler: _Handler) -> None:
    handler.send_response(200)
    handler.flush_headers()
    number = 0
    while not handler.ended.is_set():
        handler.wfile.write(b"".join(b"X-%d: %s\r\n" % (number + each, b"y" * _PIECE) for each in range(64)))
        number += 64


def _endless_header(handler: _Handler) -> None:
    handler.send_response(200)
    handler.flush_headers()
    handler.wfile.write(b"X: ")
    while not handler.ended.is_set():
        handler.wfile.write(b"y" * _PIECE * 64)


def _close_midway(handler: _Handler) -> None:
    handler.head(headers={"Content-Length": len(_BLOB)})
    handler.wfile.write(_BLOB[: len(_BLOB) // 2])


def _garbage(handler: _Handler) -> None:
    handler.wfile.write(b"\0\xff\x1b[31m\n" * _PIECE)


def _endless_body(handler: _Handler) -> None:
    handler.head(headers={"Transfer-Encoding": "chunked"})
    while not handler.ended.is_set():
        handler.wfile.write(b"%x\r\n%s\r\n" % (len(_BLOB), _BLOB))


def _redirect(location: str) -> Callable[[_Handler], None]:
    return lambda handler: handler.head(307, {"Location": location, "Content-Length": 0})


_WAYS: Mapping[str, Callable[[_Handler], None]] = {
    "trickles": _trickle,
    "almost-too-slow": _almost_too_slow,
    "is-longer": _longer_than_said,
    "is-shorter": _shorter_than_said,
    "other-bytes": _other_bytes,
    "hangs": _hang_after_the_head,
    "endless-head": _endless_head,
    "one-endless-header": _endless_header,
    "closes-midway": _close_midway,
    "garbage": _garbage,
    "endless-body": _endless_body,
    "to-a-file": _redirect("file:///etc/passwd"),
    "to-metadata": _redirect("http://169.254.169.254/latest/meta-data"),
    "to-itself": _redirect("/again/to-itself"),
}


def _has_manifest(path: str) -> bool:
    """Whether the repository fails only at its layers; by its name it may fail at its manifest already."""
    return "at-once" not in path


def _described(kind: str, data: bytes) -> dict[str, Any]:
    return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": digest_of(data), "size": len(data)}


_MANIFEST = json.dumps(
    {
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": _described("config.v1+json", _CONFIG),
        "layers": [_described("layer.v1.tar", _BLOB)],
    }
).encode()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", free_port()), _Handler)
        self.ended = threading.Event()

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients that time out are expected."""


class FaultyRegistry:
    """Runs until the end of its `with` block."""

    def __init__(self) -> None:
        """Listen at once, so that the address is known."""
        self._server = _Server()
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._absent = socket.socket()
        self._absent.bind(("127.0.0.1", 0))

    @property
    def address(self) -> str:
        """The address of the server."""
        return f"127.0.0.1:{self._server.server_port}"

    @property
    def absent_address(self) -> str:
        """An address on which nothing listens, nor can."""
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
