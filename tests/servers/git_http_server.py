"""Real git repositories behind real git servers, for tests of git sources: git http-backend behind a small CGI bridge.

`Repository` makes commits with the git program; `GitServer` serves a folder of them over http or https, with a login in front
when asked, and misbehaves on demand. The ssh server is in tests/servers/git_ssh_server.py.
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
    # http-backend refuses repositories of other users, which folders of a container may be.
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "safe.directory",
    "GIT_CONFIG_VALUE_0": "*",
}


class Repository:
    """A bare repository; every method runs the git program in it."""

    def __init__(self, folder: Path, object_format: str = "sha1") -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        self.git("init", "--quiet", "--bare", f"--object-format={object_format}", "--initial-branch=main", ".")

    def git(self, *arguments: str, data: bytes = b"") -> str:
        """What git prints, without spaces around it."""
        done = subprocess.run(
            ["git", *arguments], cwd=self.folder, env=ENVIRONMENT, input=data, capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode().strip()

    def blob(self, data: bytes | str) -> str:
        """The hash of a file's bytes."""
        text = data.encode() if isinstance(data, str) else data
        return self.git("hash-object", "-w", "-t", "blob", "--stdin", data=text)

    def raw(self, kind: str, data: bytes) -> str:
        """An object of any kind with any text, well formed or not."""
        return self.git("hash-object", "-w", "-t", kind, "--stdin", "--literally", data=data)

    def tree(self, files: Mapping[str, bytes | str | tuple[str, str]]) -> str:
        """The hash of a folder; paths may have slashes. A value is a file's text, or (mode, hash)."""
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
        """A folder of (mode, name, hash) whose names nobody looks at."""
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
        """A commit of files, or of a tree by its hash, that the branch then names; `on` is its parent."""
        tree = files if isinstance(files, str) else self.tree(files)
        parents = ("-p", on) if on else ()
        made = self.git("commit-tree", tree, *parents, "-m", "a commit")
        self.git("update-ref", f"refs/heads/{branch}", made)
        return made


class GitServer(WebServer):
    """Serves the repositories of a folder on a free port of loopback, at `address`.

    `lines` are "GET /x.git/info/refs?…" lines. With version=0 it knows nothing of git's protocol 2.
    """

    def __init__(
        self,
        folder: Path,
        *,
        login: tuple[str, str] | None = None,
        tls: ssl.SSLContext | None = None,
        version: int = 2,
    ) -> None:
        super().__init__(folder, login=login, tls=tls)
        self._version = version

    @property
    def lines(self) -> list[str]:
        """The requests in words."""
        return [f"{each.method} {each.path_qs}" for each in self.requests]

    @property
    def authorizations(self) -> list[str | None]:
        """What each request brought to log in."""
        return [each.headers.get("Authorization") for each in self.requests]

    async def content(self, request: web.Request) -> web.StreamResponse:
        """What git says."""
        return await self.run(request)

    async def run(self, request: web.Request) -> web.Response:
        """What git http-backend says."""
        version = request.headers.get("Git-Protocol", "") if self._version == 2 else ""
        environment = {
            **ENVIRONMENT,
            "GIT_PROJECT_ROOT": str(self.folder),
            "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": request.path,
            "QUERY_STRING": request.query_string,
            "REQUEST_METHOD": request.method,
            "CONTENT_TYPE": request.headers.get("Content-Type", ""),
            **({"GIT_PROTOCOL": version} if version else {}),
        }
        process = await asyncio.create_subprocess_exec(
            "git",
            "http-backend",
            env=environment,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        out, _ = await process.communicate(await request.read())
        head, _, body = out.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        status = int(headers.pop("Status", "200").split()[0])
        return web.Response(status=status, headers=headers, body=body)
