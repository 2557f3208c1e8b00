"""The session in which questions are asked: the client, with the permissions of its user, and the time that a command has."""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass, field

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


@dataclass(frozen=True)
class Session:
    """A client, which connects at its first request, the namespace of the suite, and the time that the command has."""

    client: Client
    system_namespace: str
    time: TimeLimit = field(default_factory=TimeLimit)
