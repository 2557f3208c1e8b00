"""A real ssh server that runs git upload-pack, for tests of git sources: asyncssh on loopback, with generated keys."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import asyncssh

from tests.servers.git_http_server import ENVIRONMENT

COMMAND = re.compile(r"git-upload-pack '([^']*)'")


class GitSshServer:
    """Serves the repositories of a directory at `address`; `commands` are the requested commands, `users` the users of the
    sessions.

    If `script` is set, it handles the channel instead of git.
    """

    def __init__(self, directory: Path, *, version: int = 2) -> None:
        self._directory = directory
        self._version = version
        self._host_key = asyncssh.generate_private_key("ssh-ed25519")
        self._other_host_key = asyncssh.generate_private_key("ecdsa-sha2-nistp256")
        self._user_key = asyncssh.generate_private_key("ssh-ed25519")
        self._connections: list[asyncssh.SSHServerConnection] = []
        self._serving: set[asyncio.Task[None]] = set()
        self.commands: list[str] = []
        self.users: list[str] = []
        self.script: Callable[[asyncssh.SSHServerProcess[bytes]], None] | None = None
        self.address = ""

    @property
    def private_key(self) -> str:
        """The value of ssh-privatekey."""
        return self._user_key.export_private_key().decode()

    @property
    def known_hosts(self) -> str:
        """The value of ssh-knownhosts."""
        return self.known_host(self._host_key)

    @property
    def other_known_hosts(self) -> str:
        """The value of ssh-knownhosts for the other key, which the server presents first."""
        return self.known_host(self._other_host_key)

    def known_host(self, key: asyncssh.SSHKey, marker: str = "") -> str:
        """The line of known_hosts for this server and a key."""
        host, port = self.address.split(":")
        return f"{marker}[{host}]:{port} {key.export_public_key().decode()}"

    async def __aenter__(self) -> Self:
        keys = asyncssh.import_authorized_keys(self._user_key.export_public_key().decode())
        self._server = await asyncssh.listen(
            "127.0.0.1",
            0,
            server_host_keys=[self._other_host_key, self._host_key],
            authorized_client_keys=keys,
            server_factory=lambda: _Watched(self._connections),
            process_factory=self._start,
            encoding=None,
        )
        self.address = f"127.0.0.1:{self._server.get_port()}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        await self._server.wait_closed()
        for connection in self._connections:
            connection.abort()
            await connection.wait_closed()
        await asyncio.gather(*self._serving)

    def _start(self, process: asyncssh.SSHServerProcess[bytes]) -> None:
        self._serving.add(asyncio.create_task(self._serve(process)))

    async def _serve(self, process: asyncssh.SSHServerProcess[bytes]) -> None:
        self.commands.append(process.command or "")
        self.users.append(process.get_extra_info("username"))
        if self.script is not None:
            self.script(process)
            return
        match = COMMAND.fullmatch(process.command or "")
        if match is None:
            process.stderr.write(b"only git-upload-pack is served here\n")
            process.exit(1)
            return
        version = process.env.get("GIT_PROTOCOL", "") if self._version == 2 else ""
        environment = {**ENVIRONMENT, **({"GIT_PROTOCOL": str(version)} if version else {})}
        running = await asyncio.create_subprocess_exec(
            "git",
            "upload-pack",
            os.path.join(self._directory, match[1].lstrip("/")),
            env=environment,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        assert running.stdin is not None
        assert running.stdout is not None
        assert running.stderr is not None
        asking = asyncio.create_task(_pass_on(process.stdin, running.stdin))
        asking.add_done_callback(lambda _: running.stdin.close())  # type: ignore[union-attr]
        await asyncio.gather(_pass_on(running.stdout, process.stdout), _pass_on(running.stderr, process.stderr))
        asking.cancel()
        process.exit(await running.wait())


class _Watched(asyncssh.SSHServer):
    """Records each connection, so that none outlives the test."""

    def __init__(self, connections: list[asyncssh.SSHServerConnection]) -> None:
        self._connections = connections

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self._connections.append(conn)


async def _pass_on(source: Any, sink: Any) -> None:
    """Copy one stream into another, until one of them ends."""
    with suppress(OSError, asyncssh.Error):
        while data := await source.read(65536):
            sink.write(data)
            await sink.drain()
