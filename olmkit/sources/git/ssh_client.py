"""git over ssh: dulwich implements git's protocol, asyncssh the transport, over a socket that is connected here.

The address is checked before connecting, the host key against the known_hosts of the Secret, unless the spec has
insecureSkipVerify. No ssh agent, configuration or key file of this machine is used. dulwich is synchronous and runs in a thread;
the event loop serves its reads.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from typing import IO, Any, TypeAlias

import asyncssh
from dulwich.client import TraditionalGitClient
from dulwich.protocol import Protocol

from olmkit.errors import Waiting
from olmkit.sources.access import Access
from olmkit.sources.addresses import REFUSED_ADDRESS_HINT, AddressGuard, AddressRefused
from olmkit.sources.errors import RETRY_DELAY, SourceReason
from olmkit.sources.git.address import GitAddress
from olmkit.sources.git.http_client import MAX_REFS_BYTES, GitExchange
from olmkit.sources.git.pack import PackError
from olmkit.sources.git.ssh_auth import connect_options, login_failed, missing_key
from olmkit.sources.git.thread_bridge import ThreadBridge
from olmkit.sources.network import Timeouts
from olmkit.sources.transport import ADDRESS_RETRY_DELAY, NoResponse

Session: TypeAlias = "tuple[asyncssh.SSHClientConnection, asyncssh.SSHClientProcess[bytes]]"
asyncssh.set_log_level(logging.CRITICAL)  # it logs each step of each session; errors contain what matters
CHUNK_BYTES = 256 * 1024
MAX_STDERR_BYTES = 4096
"""The part of the server's standard error that is kept."""


class SshClient(TraditionalGitClient):
    """A client for one repository, made in the event loop; its methods are called in a thread while the loop runs."""

    def __init__(self, address: GitAddress, access: Access, exchange: GitExchange) -> None:
        super().__init__(thin_packs=False, quiet=True)
        self._address = address
        self._access = access
        self._exchange = exchange
        self._bridge = ThreadBridge()
        self._pipe: SshPipe | None = None
        self.fetching = False
        self._key = access.credentials.ssh_key(f"{address.host}:{address.effective_port}")

    @property
    def secrets(self) -> tuple[str, ...]:
        """Texts that must not appear in messages, even if the server sends them."""
        return (self._key.private_key,) if self._key else ()

    async def server_output(self) -> str:
        """The server's standard error, for the message about a session that it ended."""
        return await self._pipe.server_output() if self._pipe is not None else ""

    async def disconnect(self) -> None:
        """Close the connection, if there is one."""
        self._bridge.close()
        if self._pipe is not None:
            await self._pipe.close()

    def _connect(
        self, cmd: bytes, path: str | bytes, protocol_version: int | None = None
    ) -> tuple[Protocol, Callable[[], bool], IO[bytes] | None]:
        self._pipe = self._bridge.wait(self._open_session())
        pipe = self._pipe
        return Protocol(pipe.read, pipe.write), lambda: False, None

    async def _open_session(self) -> SshPipe:
        address, timeouts = self._address, self._access.timeouts
        server = f"git server {address.authority}"
        if self._key is None:
            raise missing_key(address, self._access.credentials)
        options = connect_options(address, self._key, insecure=self._exchange.insecure)
        connected = await _connect_socket(address, self._access, server)
        try:
            async with asyncio.timeout(timeouts.connect + timeouts.read):
                connection = await asyncssh.connect(sock=connected, **options)
        except (OSError, asyncssh.Error) as error:
            connected.close()
            raise login_failed(error, server, self._key) from error
        except BaseException:
            connected.close()
            raise
        try:
            async with asyncio.timeout(timeouts.read):
                process = await connection.create_process(
                    _command(address.path), encoding=None, env={"GIT_PROTOCOL": "version=2"}
                )
        except (OSError, asyncssh.Error) as error:
            connection.abort()
            words = f"{server} accepts the key, but does not serve git"
            raise Waiting(SourceReason.SOURCE_UNAVAILABLE, words, RETRY_DELAY) from error
        except BaseException:
            connection.abort()
            raise
        limit = self._exchange.limit + MAX_REFS_BYTES if self.fetching else MAX_REFS_BYTES
        return SshPipe((connection, process), limit, server, self._bridge, timeouts)


class SshPipe:
    """The two directions of one ssh session, as blocking functions for the thread."""

    def __init__(self, session: Session, limit: int, server: str, bridge: ThreadBridge, timeouts: Timeouts) -> None:
        self._connection, self._process = session
        self._limit = limit
        self._server = server
        self._bridge = bridge
        self._timeouts = timeouts
        self._unread = b""
        self._count = 0
        self._window = (time.monotonic(), 0)

    def read(self, size: int) -> bytes:
        """Exactly `size` bytes, less at the end. Raises Waiting and PackError."""
        parts = []
        while size > 0:
            if not self._unread:
                self._unread = self._bridge.wait(self._read_some())
                if not self._unread:
                    break
            parts.append(self._unread[:size])
            self._unread = self._unread[size:]
            size -= len(parts[-1])
        return b"".join(parts)

    def write(self, data: bytes) -> int:
        """Send. Errors of a closed connection are ignored; the next read reports the end."""
        self._bridge.wait(self._send(data))
        return len(data)

    async def server_output(self) -> str:
        """The beginning of the server's standard error."""
        with suppress(TimeoutError, OSError, asyncssh.Error):
            async with asyncio.timeout(1):
                return (await self._process.stderr.read(MAX_STDERR_BYTES)).decode(errors="replace").strip()
        return ""

    async def close(self) -> None:
        """Abort the connection, without a handshake."""
        self._connection.abort()
        with suppress(TimeoutError, OSError, asyncssh.Error):
            async with asyncio.timeout(5):
                await self._connection.wait_closed()

    async def _send(self, data: bytes) -> None:
        with suppress(OSError, asyncssh.Error):
            self._process.stdin.write(data)

    async def _read_some(self) -> bytes:
        try:
            async with asyncio.timeout(self._timeouts.read):
                data = await self._process.stdout.read(CHUNK_BYTES)
        except TimeoutError as error:
            words = f"{self._server} does not answer: nothing within {self._timeouts.read:g} s"
            raise Waiting(SourceReason.SOURCE_UNAVAILABLE, words, RETRY_DELAY) from error
        except (OSError, asyncssh.Error):
            return b""
        self._count += len(data)
        if self._count > self._limit:
            raise PackError(SourceReason.TOO_LARGE, f"sends more than {self._limit:,} bytes, the most that is read")
        start, arrived = self._window
        now = time.monotonic()
        if data and now - start > self._timeouts.min_rate_window:
            if arrived + len(data) < self._timeouts.min_rate_bytes:
                words = f"{self._server} sends too slowly ({self._timeouts.min_rate})"
                raise Waiting(SourceReason.SOURCE_UNAVAILABLE, words, RETRY_DELAY)
            self._window = (now, 0)
        else:
            self._window = (start, arrived + len(data))
        return data


async def verify_reachable(address: GitAddress, access: Access) -> None:
    """Return when the server has sent something: it speaks first. Raises Waiting."""
    server, timeout = f"git server {address.authority}", access.timeouts.read
    with await _connect_socket(address, access, server) as connected:
        try:
            async with asyncio.timeout(timeout):
                await asyncio.get_running_loop().sock_recv(connected, 1)
        except OSError as error:
            words = f"{server} does not answer: nothing within {timeout:g} s"
            raise NoResponse(SourceReason.SOURCE_UNAVAILABLE, words, RETRY_DELAY) from error


async def _connect_socket(address: GitAddress, access: Access, server: str) -> socket.socket:
    """A socket connected to the first of the host's addresses that is allowed and responds."""
    addresses, loop = access.addresses(), asyncio.get_running_loop()
    addresses.check_literal(address.host, address.effective_port, server)
    guard = AddressGuard(addresses)
    refusal = addresses.refusal_of_host(address.host.strip("[]"), address.effective_port)
    last = "no connection"
    if refusal is None:
        try:
            async with asyncio.timeout(access.timeouts.connect):
                infos = await loop.getaddrinfo(
                    address.host.strip("[]"), address.effective_port, type=socket.SOCK_STREAM
                )
        except (OSError, UnicodeError) as error:
            words = f"{server} cannot be resolved: no such host"
            raise NoResponse(SourceReason.SOURCE_UNAVAILABLE, words, RETRY_DELAY) from error
        for info in infos:
            connected, last = await _connect_to(info, guard, access.timeouts.connect)
            if connected is not None:
                return connected
        refusal = min(guard.refused, default=None)
    if refusal is not None:
        raise AddressRefused(
            SourceReason.ADDRESS_REFUSED, f"{server} has {refusal}: {REFUSED_ADDRESS_HINT}", ADDRESS_RETRY_DELAY
        )
    raise NoResponse(SourceReason.SOURCE_UNAVAILABLE, f"{server} does not answer: {last}", RETRY_DELAY)


async def _connect_to(
    info: tuple[Any, ...], guard: AddressGuard, connect_timeout: float
) -> tuple[socket.socket | None, str]:
    """A socket connected to one address, or the reason why there is none."""
    try:
        connected = guard(info)
    except OSError:
        return None, "no connection"
    connected.setblocking(False)
    try:
        async with asyncio.timeout(connect_timeout):
            await asyncio.get_running_loop().sock_connect(connected, info[4])
    except OSError as error:
        connected.close()
        if isinstance(error, TimeoutError) and error.errno is None:
            return None, f"no connection within {connect_timeout:g} s"
        # By number: the text of asyncio contains the address and the port.
        return None, os.strerror(error.errno).lower() if error.errno else "no connection"
    except BaseException:
        connected.close()
        raise
    return connected, ""


def _command(path: str) -> str:
    """The command that git sends: the path in single quotes for the server's shell; /~user is the home of that user."""
    path = path[1:] if path.startswith("/~") else path
    inner = path.replace("'", "'\\''").replace("!", "'\\!'")
    return f"git-upload-pack '{inner}'"
