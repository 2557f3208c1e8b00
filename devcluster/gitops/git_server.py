"""A git server: smart HTTP on loopback, for clones and pushes without a login, by `git http-backend`.

It ends with the `with` block or its process. Repositories are directories below the one that it is given.
"""

import os
import subprocess
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from devcluster.gitops.clone import BRANCH, ENVIRONMENT, Clone, Git


class GitServer:
    """A server of the bare repositories below `directory`."""

    def __init__(self, directory: Path, report: Callable[[str], None] = print) -> None:
        """Find git, or install it from Debian, and start to serve. Raises DevclusterError."""
        self._git = Git(report)
        self._directory = directory
        self._directory.mkdir(parents=True, exist_ok=True)
        self._server = _Server(self._git.program, directory / "served")
        self._thread = threading.Thread(target=self._server.serve_forever, name="git server", daemon=True)
        self._thread.start()

    def repository(self, name: str) -> "Repository":
        """Make a new repository without commits, and a clone of it to commit in."""
        bare = self._directory / "served" / f"{name}.git"
        self._git.run("init", "--quiet", "--bare", f"--initial-branch={BRANCH}", str(bare))
        self._git.run("config", "http.receivepack", "true", directory=bare)
        clone = Clone(self._git, self._directory / "clones" / name)
        url = f"http://127.0.0.1:{self._server.server_address[1]}/{name}.git"
        clone.git("remote", "add", "origin", url)
        return Repository(clone, url)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class Repository:
    """A repository of a GitServer. `url` is what clients clone."""

    def __init__(self, clone: Clone, url: str) -> None:
        """Called by GitServer."""
        self._clone = clone
        self.url = url

    def push(self, files: Mapping[str, str]) -> str:
        """Commit exactly these files (path -> content), without those of earlier commits, and push; return the commit's id."""
        commit = self._clone.commit(files)
        self._clone.git("push", "--quiet", "origin", BRANCH)
        return commit


class _Server(ThreadingHTTPServer):
    """Knows what its handlers need: git, and the directory with the repositories."""

    daemon_threads = True

    def __init__(self, git: Path, root: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.git = git
        self.root = root


class _Handler(BaseHTTPRequestHandler):
    """Runs `git http-backend`, a CGI program, for each request."""

    server: _Server

    def do_GET(self) -> None:
        self._respond(b"")

    def do_POST(self) -> None:
        self._respond(self._body())

    def log_message(self, format: str, *arguments: object) -> None:
        """Requests are not logged."""

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def _respond(self, body: bytes) -> None:
        done = subprocess.run(
            [self.server.git, "http-backend"],
            input=body,
            env={**os.environ, **ENVIRONMENT, **self._variables(len(body))},
            capture_output=True,
            check=False,
        )
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        fields = [line.split(": ", 1) for line in head.decode("latin-1").split("\r\n") if ": " in line]
        status = next((value for name, value in fields if name == "Status"), "200 OK")
        self.send_response(int(status.split()[0]) if done.returncode == 0 else 500)
        for name, value in fields:
            if name not in ("Status", "Content-Length"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _variables(self, length: int) -> dict[str, str]:
        url = urlsplit(self.path)
        return {
            "GIT_PROJECT_ROOT": str(self.server.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "REQUEST_METHOD": self.command,
            "PATH_INFO": url.path,
            "QUERY_STRING": url.query,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(length),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "REMOTE_ADDR": self.client_address[0],
        }
