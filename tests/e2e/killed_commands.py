"""A command of `olm` whose process is killed after each write, again and again, until it ends by itself."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from olmctl.commands import CommandError
from olmctl.operators.retrying_client import RetryingClient
from olmctl.questions.session import Session

Object = dict[str, Any]


class Killed(BaseException):
    """The process of the command ends."""


class DyingClient(RetryingClient):
    """A client whose process is killed after the first write that changes something."""

    def __init__(self, kubeconfig: str, seen: set[str]) -> None:
        super().__init__(kubeconfig)
        self._seen = seen
        self._is_dead = False

    async def request(self, method: str, path: str, **options: Any) -> Object:
        if self._is_dead:
            raise Killed
        answer = await super().request(method, path, **options)
        if method != "GET":
            version = "" if "/leases/" in path else answer.get("metadata", {}).get("resourceVersion", "")
            written = f"{method} {path} {version}"  # to renew a Lease is no step
            if written not in self._seen:
                self._seen.add(written)
                self._is_dead = True
                raise Killed
        return answer


def killed_again_and_again(
    kubeconfig: Path,
    command: Callable[[Session], Awaitable[object]],
    seen: set[str],
    on_kill: Callable[[], None] = lambda: None,
    last_status: int = 0,
) -> int:
    """Run the command until it ends, by itself or with this status; returns how often it was killed, after one write each."""

    async def once() -> None:
        async with DyingClient(str(kubeconfig), seen) as client:
            await command(Session(client, "olm-suite-system"))

    for kills in range(100):
        try:
            asyncio.run(once())
        except Killed:
            on_kill()
            continue
        except CommandError as error:
            if error.status != last_status:
                raise
        return kills
    pytest.fail("the command does not end")
