"""A process that is killed after its n-th write: for tests that kill a controller between any two of its writes.

The n-th write reaches the API server, but its response never reaches the process, and no request passes afterwards; the process
is then cancelled. Only its cache directory remains. The API server is the real one.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from olmkit.runtime.client import Client
from olmkit.runtime.manager import Manager, Settings

Object = dict[str, Any]
Build = Callable[[Manager], Awaitable[None]]
REVIEWS = "/apis/authorization.k8s.io/"
"""Requests that ask for permissions: they are created, and change nothing."""


@dataclass
class KillSwitch:
    """When the process is killed. `writes_left` is the number of writes until then, of those that change something; None:
    never. Writes of a status count only if `counts_status`: while a process starts, it may report a status that the next write
    replaces."""

    writes_left: int | None = None
    counts_status: bool = True
    writes: list[str] = field(default_factory=list)
    """The writes that were counted."""
    sent: list[tuple[str, str]] = field(default_factory=list)
    """Each request that may change something, counted or not: the user that it is sent as, "" for the process itself, and its
    method and path."""
    killed: asyncio.Event = field(default_factory=asyncio.Event)
    under_way: int = 0
    """Writes that count and have no response."""

    @property
    def was_killed(self) -> bool:
        """Whether the last write was made. Others may hear of it before its response sets `killed`: a process that ends meanwhile
        does not receive it either."""
        return self.writes_left is not None and self.writes_left <= self.under_way

    def counts(self, path: str) -> bool:
        """Whether a write counts."""
        return self.writes_left is not None and (self.counts_status or not path.endswith("/status"))

    def count_write(self, path: str) -> bool:
        """Count a write that was carried out; returns whether it was the last one."""
        if self.writes_left is None:
            return False
        self.writes_left -= 1
        self.writes.append(path)
        if self.writes_left == 0:
            self.killed.set()
        return self.writes_left <= 0


class KillableClient(Client):
    """A client whose requests end when `kill_switch` is set."""

    kill_switch: KillSwitch

    async def request(self, method: str, path: str, **options: Any) -> Object:
        await self._alive()
        changes_nothing = (options.get("query") or {}).get("dryRun") is not None or path.startswith(REVIEWS)
        if method != "GET" and not changes_nothing:
            self.kill_switch.sent.append((self._impersonation.get("Impersonate-User", ""), f"{method} {path}"))
        if method == "GET" or "/events" in path or changes_nothing or not self.kill_switch.counts(path):
            answer = await super().request(method, path, **options)
        else:
            self.kill_switch.under_way += 1
            try:
                answer = await super().request(method, path, **options)
            finally:
                self.kill_switch.under_way -= 1
            if self.kill_switch.count_write(f"{method} {path}"):
                await asyncio.Event().wait()
        await self._alive()
        return answer

    async def _alive(self) -> None:
        if self.kill_switch.killed.is_set():
            await asyncio.Event().wait()


@contextlib.asynccontextmanager
async def run_killable(name: str, settings: Settings, build: Build) -> AsyncIterator[KillSwitch]:
    """Run the process `name` once; it can be killed at any point."""
    kill_switch = KillSwitch()
    async with await KillableClient.connect(settings.kubeconfig) as client:
        client.kill_switch = kill_switch
        manager = Manager(name, settings, client)
        try:
            await build(manager)
            run = asyncio.create_task(manager.run())
            try:
                yield kill_switch
            finally:
                run.cancel()
                await asyncio.wait({run})
        finally:
            await manager.close()
    if not run.cancelled() and (error := run.exception()) is not None:
        raise error


async def first(*awaitables: Awaitable[Any]) -> None:
    """Wait until one of these events is set."""
    tasks = [asyncio.ensure_future(awaitable) for awaitable in awaitables]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
