"""The permissions of a user, asked of the API server by the user's own token, so that a button that would be refused says so.

Answers are kept for 30 seconds. They decide nothing: the API server decides each write again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

from olmkit.api.meta import Kind
from olmkit.errors import ApiError
from olmkit.runtime.access_reviews import is_allowed
from olmkit.runtime.client import Client

KEPT_SECONDS = 30.0
MAX_KEPT = 2000


@dataclass(frozen=True)
class Ask:
    """A verb on a kind: on all objects of it, on those of a namespace, or on one."""

    verb: str
    kind: Kind
    namespace: str | None = None
    name: str = ""
    subresource: str = ""

    @property
    def resource(self) -> str:
        """The kind as kubectl writes it."""
        resource = f"{self.kind.plural}.{self.kind.group}" if self.kind.group else self.kind.plural
        return f"{resource}/{self.subresource}" if self.subresource else resource

    @property
    def command(self) -> str:
        """The command that asks the same."""
        words = [f"kubectl auth can-i {self.verb} {self.kind.plural}"]
        words[0] += f".{self.kind.group}" if self.kind.group else ""
        words[0] += f"/{self.name}" if self.name else ""
        words += [f"--subresource={self.subresource}"] if self.subresource else []
        words += [f"-n {self.namespace}"] if self.namespace else []
        return " ".join(words)

    @property
    def refusal(self) -> str:
        """The sentence that names what may not be done."""
        where = f" in namespace {self.namespace}" if self.namespace else ""
        return f"You may not {self.verb} {self.resource}{f' {self.name}' if self.name else ''}{where}."

    def spec(self) -> dict[str, object]:
        """The spec of the review."""
        attributes = {
            "verb": self.verb,
            "group": self.kind.group,
            "resource": self.kind.plural,
            "namespace": self.namespace or "",
            "name": self.name,
            "subresource": self.subresource,
        }
        return {"resourceAttributes": {key: value for key, value in attributes.items() if value}}


@dataclass(frozen=True)
class PathAsk:
    """The right to get a path that is not of a kind, such as those of catalogd."""

    path: str

    @property
    def command(self) -> str:
        """The command that asks the same."""
        return f"kubectl auth can-i get {self.path}"

    @property
    def refusal(self) -> str:
        """The sentence that names what may not be done."""
        return f"You may not get {self.path}."

    def spec(self) -> dict[str, object]:
        """The spec of the review."""
        return {"nonResourceAttributes": {"verb": "get", "path": self.path}}


@dataclass(frozen=True)
class Verdict:
    """The answer to an Ask. `allowed` is None if the API server could not be asked: then nothing is refused in advance."""

    allowed: bool | None
    reason: str = ""
    command: str = ""

    def __bool__(self) -> bool:
        return self.allowed is not False

    def unless(self, refusal: str) -> Verdict:
        """This answer; or the refusal, if there is one: that concerns everybody, so that no command is named."""
        return Verdict(False, refusal) if refusal else self


class Access:
    """The reviews of one user."""

    def __init__(self, client: Client, clock: Callable[[], float] = time.monotonic) -> None:
        self._client = client
        self._clock = clock
        self._kept: dict[Ask | PathAsk, tuple[float, asyncio.Task[Verdict]]] = {}

    async def may(self, ask: Ask | PathAsk) -> Verdict:
        """The answer to one question."""
        now = self._clock()
        until, task = self._kept.get(ask, (0.0, None))
        if task is None or until <= now:
            if len(self._kept) >= MAX_KEPT:
                self._kept.clear()
            task = asyncio.create_task(self._ask(ask))
            self._kept[ask] = now + KEPT_SECONDS, task
        return await asyncio.shield(task)

    async def each(self, *asks: Ask) -> tuple[Verdict, ...]:
        """The answers to several questions, which are asked at once."""
        return tuple(await asyncio.gather(*map(self.may, asks)))

    async def _ask(self, ask: Ask | PathAsk) -> Verdict:
        try:
            allowed = await is_allowed(self._client, ask.spec())
        except ApiError:
            self._kept.pop(ask, None)
            return Verdict(None, command=ask.command)
        return Verdict(allowed, "" if allowed else ask.refusal, ask.command)
