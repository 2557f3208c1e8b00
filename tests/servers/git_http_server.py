"""Real git repositories and a real git server over http, for tests of git sources: git http-backend with a small CGI bridge.

`Repository` creates commits with the git program. `GitServer` serves a directory of repositories over http or https, with an
optional login, and injects faults. The ssh server is in tests/servers/git_ssh_server.py.
"""

from __future__ import annotations

import asyncio
import os
import ssl
import subprocess
from collections.abc import Mapping
from pathlib import Path

from aiohttp import web

from tests.servers.web_server import WebServer

ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_AUTHOR_NAME": "tests",
    "GIT_AUTHOR_EMAIL": "tests@example.com",
    "GIT_COMMITTER_NAME": "tests",
    "GIT_COMMITTER_EMAIL": "tests@example.com",
    "GIT_AUTHOR_DATE": "1700000000 +0000",
    "GIT_COMMITTER_DATE": "1700000000 +0000",
    # http-backend refuses repositories of other users, such as directories of a container.
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "safe.directory",
    "GIT_CONFIG_VALUE_0": "*",
}


class Repository:
    """A bare repository; every method runs the git program in it."""

    def __init__(self, directory: Path, object_format: str = "sha1") -> None:
        self.directory = directory
        directory.mkdir(parents=True)
        self.git("init", "--quiet", "--bare", f"--object-format={object_format}", "--initial-branch=main", ".")

    def git(self, *arguments: str, data: bytes = b"") -> str:
        """The output of git, stripped."""
        done = subprocess.run(
            ["git", *arguments], cwd=self.directory, env=ENVIRONMENT, input=data, capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode().strip()

    def blob(self, data: bytes | str) -> str:
        """Write a blob; returns its hash."""
        text = data.encode() if isinstance(data, str) else data
        return self.git("hash-object", "-w", "-t", "blob", "--stdin", data=text)

    def raw(self, kind: str, data: bytes) -> str:
        """Write an object of any type and content, valid or not; returns its hash."""
        return self.git("hash-object", "-w", "-t", kind, "--stdin", "--literally", data=data)

    def tree(self, files: Mapping[str, bytes | str | tuple[str, str]]) -> str:
        """Write a tree; returns its hash. Paths may have slashes; values are the text of a file, or (mode, hash)."""
        here: dict[str, tuple[str, str]] = {}
        below: dict[str, dict[str, bytes | str | tuple[str, str]]] = {}
        for path, value in files.items():
            first, slash, rest = path.partition("/")
            if slash:
                below.setdefault(first, {})[rest] = value
            else:
                here[first] = value if isinstance(value, tuple) else ("100644", self.blob(value))
        for name, inner in below.items():
            here[name] = ("40000", self.tree(inner))
        return self.raw_tree([(mode, name.encode(), value) for name, (mode, value) in here.items()])

    def raw_tree(self, entries: list[tuple[str, bytes, str]]) -> str:
        """Write a tree of (mode, name, hash) without validating the names; returns its hash."""
        ordered = sorted(entries, key=lambda each: each[1] + (b"/" if each[0] == "40000" else b""))
        text = b"".join(mode.encode() + b" " + name + b"\0" + bytes.fromhex(value) for mode, name, value in ordered)
        return self.raw("tree", text)

    def commit(
        self,
        files: Mapping[str, bytes | str | tuple[str, str]] | str,
        branch: str = "main",
        *,
        on: str = "",
    ) -> str:
        """Commit files, or a tree by its hash, to the branch; `on` is the parent. Returns its hash."""
        tree = files if isinstance(files, str) else self.tree(files)
        parents = ("-p", on) if on else ()
        made = self.git("commit-tree", tree, *parents, "-m", "a commit")
        self.git("update-ref", f"refs/heads/{branch}", made)
        return made


class GitServer(WebServer):
    """Serves the repositories of a directory on a free port of loopback, at `address`.

    `lines` are "GET /x.git/info/refs?…" lines. With version=0 the server does not support protocol version 2.
    """

    def __init__(
        self,
        directory: Path,
        *,
        login: tuple[str, str] | None = None,
        tls: ssl.SSLContext | None = None,
        version: int = 2,
    ) -> None:
        super().__init__(directory, login=login, tls=tls)
        self._version = version

    @property
    def lines(self) -> list[str]:
        """The request lines."""
        return [f"{each.method} {each.path_qs}" for each in self.requests]

    @property
    def authorizations(self) -> list[str | None]:
        """The Authorization header of each request, or None."""
        return [each.headers.get("Authorization") for each in self.requests]

    async def content(self, request: web.Request) -> web.StreamResponse:
        """The response to a request."""
        return await self.run(request)

    async def run(self, request: web.Request) -> web.Response:
        """The response of git http-backend."""
        version = request.headers.get("Git-Protocol", "") if self._version == 2 else ""
        environment = {
            **ENVIRONMENT,
            "GIT_PROJECT_ROOT": str(self.directory),
            "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": request.path,
            "QUERY_STRING": request.query_string,
            "REQUEST_METHOD": request.method,
            "CONTENT_TYPE": request.headers.get("Content-Type", ""),
            **({"GIT_PROTOCOL": version} if version else {}),
        }
        # In a thread, because a handler that is cancelled would leave the transport of the process to the garbage collector.
        done = await asyncio.to_thread(_http_backend, environment, await request.read())
        head, _, body = done.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        status = int(headers.pop("Status", "200").split()[0])
        return web.Response(status=status, headers=headers, body=body)


def _http_backend(environment: Mapping[str, str], body: bytes) -> bytes:
    command = ["git", "http-backend"]
    done = subprocess.run(command, env=environment, input=body, capture_output=True, check=False)
    return done.stdout
