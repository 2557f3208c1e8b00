"""A git server: smart HTTP on loopback, for clones and pushes without a login, by `git http-backend`. Called by tests/gitops.

It ends with the `with` block or its process. Repositories are folders below the one that it is given.
"""

import os
import shutil
import subprocess
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from devcluster import debian
from devcluster.errors import DevclusterError

BRANCH = "main"

_ENVIRONMENT = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_AUTHOR_NAME": "devcluster",
    "GIT_AUTHOR_EMAIL": "devcluster@example.com",
    "GIT_COMMITTER_NAME": "devcluster",
    "GIT_COMMITTER_EMAIL": "devcluster@example.com",
    "NO_PROXY": "127.0.0.1",
    "no_proxy": "127.0.0.1",
}
"""The user's configuration, of hooks or signatures for example, and proxies do not count."""


class GitServer:
    """A server of the bare repositories below `folder`."""

    def __init__(self, folder: Path, report: Callable[[str], None] = print) -> None:
        """Find git, or install it from Debian, and start to serve. Raises DevclusterError."""
        self._git = debian.find_or_install("git", report)
        self._folder = folder
        self._folder.mkdir(parents=True, exist_ok=True)
        self._server = _Server(self._git, folder / "served")
        self._thread = threading.Thread(target=self._server.serve_forever, name="git server", daemon=True)
        self._thread.start()

    def repository(self, name: str) -> "Repository":
        """Make a new repository without commits, and a clone of it to commit in."""
        bare = self._folder / "served" / f"{name}.git"
        git = _Git(self._git)
        git.run("init", "--quiet", "--bare", f"--initial-branch={BRANCH}", str(bare))
        git.run("config", "http.receivepack", "true", folder=bare)
        clone = self._folder / "clones" / name
        git.run("init", "--quiet", f"--initial-branch={BRANCH}", str(clone))
        url = f"http://127.0.0.1:{self._server.server_address[1]}/{name}.git"
        git.run("remote", "add", "origin", url, folder=clone)
        return Repository(git, url, clone)

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

    def __init__(self, git: "_Git", url: str, clone: Path) -> None:
        """Called by GitServer."""
        self._git = git
        self._clone = clone
        self.url = url

    def push(self, files: Mapping[str, str], message: str = "A change") -> str:
        """Commit exactly these files (path -> content), without those of earlier commits, and push; return the commit's id."""
        for path in self._clone.iterdir():
            if path.name != ".git":
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        for name, content in files.items():
            path = self._clone / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        self._git.run("add", "--all", folder=self._clone)
        self._git.run("commit", "--quiet", "--allow-empty", "--message", message, folder=self._clone)
        self._git.run("push", "--quiet", "origin", BRANCH, folder=self._clone)
        return self._git.run("rev-parse", "HEAD", folder=self._clone).strip()


class _Git:
    """Runs git without the configuration of the user."""

    def __init__(self, program: Path) -> None:
        self._program = program

    def run(self, *arguments: str, folder: Path | None = None) -> str:
        done = subprocess.run(
            [self._program, *arguments],
            cwd=folder,
            env={**os.environ, **_ENVIRONMENT},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise DevclusterError(f"git {' '.join(arguments)}: {done.stderr.strip()}")
        return done.stdout


class _Server(ThreadingHTTPServer):
    """Knows what its handlers need: git, and the folder with the repositories."""

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
            env={**os.environ, **_ENVIRONMENT, **self._variables(len(body))},
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
