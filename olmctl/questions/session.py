"""The session in which questions are asked: the client, with the permissions of its user, the namespace of the suite, and the
time that a command has."""

from __future__ import annotations

import asyncio
import math

from olmctl.questions.system_namespace import SystemNamespace, find_system_namespace
from olmkit.runtime.client import Client

GRACE_SECONDS = 2.0
"""The time after the end of --timeout until the whole command is ended: a wait that knows what is in the way says so before."""
READ_SECONDS = 1.0
"""A wait that begins late has this long to read what is in the way."""


class TimeLimit:
    """The time of --timeout, for a whole command: `limits` ends what runs in it when the time is over."""

    def __init__(self, seconds: float = math.inf) -> None:
        self.limits = asyncio.Timeout(None)
        self.seconds = seconds
        self._end = math.inf

    def begin(self) -> None:
        """The time begins, also again: the time in which a person answers does not count. Needs that `limits` is entered."""
        if math.isfinite(self.seconds):
            self._end = asyncio.get_running_loop().time() + self.seconds
            self.limits.reschedule(self._end + GRACE_SECONDS)

    def lift(self) -> None:
        """Leave the rest of the command to limits of its own."""
        if math.isfinite(self.seconds):
            self.limits.reschedule(None)

    def deadline(self, seconds: float) -> float:
        """The time of the event loop at which a wait of `seconds` ends that is a part of the command."""
        now = asyncio.get_running_loop().time()
        return min(now + seconds, max(self._end, now + READ_SECONDS))


class Session:
    """A client, which connects at its first request, the namespace of the suite, and the time that the command has."""

    def __init__(self, client: Client, system_namespace: str | None = None, time: TimeLimit | None = None) -> None:
        """`system_namespace` is that of --system-namespace; without it, the namespace is searched when it is needed, and once."""
        self.client = client
        self.time = time or TimeLimit()
        self._namespace = None if system_namespace is None else SystemNamespace(system_namespace)
        self._searching = asyncio.Lock()

    async def system_namespace(self) -> str:
        """The namespace of the suite. Raises ApiError."""
        return (await self._found()).name

    async def namespace_text(self) -> str:
        """The namespace of the suite in a sentence about what is, or is not, there. Raises ApiError."""
        return (await self._found()).text

    async def _found(self) -> SystemNamespace:
        async with self._searching:
            if self._namespace is None:
                self._namespace = await find_system_namespace(self.client)
            return self._namespace
