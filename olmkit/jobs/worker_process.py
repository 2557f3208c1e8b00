"""A child process that answers many requests, and the channel to it.

Requests and answers are JSON lines: {"id", "function", "request"} to the child, {"id", ...} with the keys of outcome.py from it.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from contextlib import suppress

import msgspec

from olmkit.jobs import codec, protocol
from olmkit.jobs.fork_client import ForkServerClient, ForkServerLost
from olmkit.jobs.job import Limits, Role


class WorkerLost(ConnectionResetError):
    """The process ended before it answered. `status` is its wait status, None if that is not known; `failure` is then why no
    process can be started, empty if that is not known either."""

    def __init__(self, status: int | None, failure: str = "") -> None:
        super().__init__("the worker ended")
        self.status = status
        self.failure = failure


class _Head(msgspec.Struct):
    """The part of an answer that names its request."""

    id: int


class WorkerProcess:
    """One process in a role that answers many requests, and the requests that have no answer yet. All calls from one event loop.

    It holds `limits.memory_bytes` of `memory`, which the caller has acquired, until it has ended. One answer has at most
    `max_answer_bytes`.
    """

    def __init__(
        self,
        forks: ForkServerClient,
        role: Role,
        limits: Limits,
        release: Callable[[], None],
        max_answer_bytes: int = protocol.MAX_ANSWER_BYTES,
    ) -> None:
        """Raises OSError; the memory is released then."""
        self._release = release
        self._max_answer_bytes = max_answer_bytes
        try:
            self._child = forks.open(role, limits)
        except BaseException:
            release()
            raise
        self._open: dict[int, asyncio.Future[bytes]] = {}
        self._closes_when_idle = False
        self._sending = asyncio.Lock()
        self._reading = asyncio.create_task(self._read(), name=f"{role} worker")
        self.asked = 0
        """The number of requests."""
        self.is_over = False
        """Whether it answers no more requests."""

    async def ask(self, function: str, request: bytes) -> bytes:
        """The answer, a JSON object. `request` is JSON. Raises WorkerLost, OSError when the worker could not be
        started, and ValueError when the child sent something else.
        """
        self.asked += 1
        number, loop = self.asked, asyncio.get_running_loop()
        answer: asyncio.Future[bytes] = loop.create_future()
        self._open[number] = answer
        line = codec.to_json(protocol.WorkerRequest(number, function, msgspec.Raw(request))) + b"\n"
        try:
            # A cancellation does not cut it short: half a message would spoil the channel for all others.
            await asyncio.shield(loop.create_task(self._send(line)))
            return await answer
        finally:
            del self._open[number]
            if self._closes_when_idle and not self._open:
                self.close()

    def close_when_idle(self) -> None:
        """Close the channel as soon as every request has its answer."""
        self._closes_when_idle = True
        if not self._open:
            self.close()

    def close(self) -> None:
        """The worker ends, and requests without an answer fail."""
        self.is_over = True
        with suppress(OSError):  # it may be closed already
            self._child.channel.shutdown(socket.SHUT_RDWR)  # _read() reads the end, and kills the process

    async def ended(self) -> None:
        """Wait until the channel is closed."""
        await asyncio.wait([self._reading])

    async def _send(self, line: bytes) -> None:
        async with self._sending:
            try:
                await asyncio.get_running_loop().sock_sendall(self._child.channel, line)
            except OSError:
                self.is_over = True  # why it ended, _read() finds out

    def _on_line(self, line: bytes) -> None:
        answer = self._open.get(msgspec.json.decode(line, type=_Head).id)
        if answer is not None and not answer.done():
            answer.set_result(line)

    async def _read(self) -> None:
        """Pass answers on until the worker ends or sends something else."""
        error: Exception | None = None
        try:
            await protocol.read_lines(self._child.channel, self._on_line, self._max_answer_bytes, is_each=True)
        except (OSError, ValueError) as unreadable:
            error = unreadable
        finally:
            self.is_over = True
            try:
                lost: Exception = WorkerLost(await self._exit_status())
            except ForkServerLost as server:
                lost = WorkerLost(None, str(server))
            except OSError as not_started:
                lost = not_started
            self._release()
            for answer in self._open.values():
                if not answer.done():
                    answer.set_exception(error if isinstance(error, ValueError) else lost)

    async def _exit_status(self) -> int:
        """Close the channel, kill the process, which may hang, and wait for its end. Raises OSError if it was not started, and
        ForkServerLost."""
        self._child.channel.close()
        return await self._child.end()
