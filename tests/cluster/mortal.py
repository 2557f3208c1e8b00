"""A process that is killed after its n-th write: for tests that kill a controller between any two of its writes.

The n-th write reaches the API server, but its response never reaches the process, and no request passes afterwards; the process
is then cancelled. Only its cache folder remains. The API server is the real one.
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


@dataclass
class Fate:
    """When the process is killed. `left` is the number of writes until then, of those that change something; None: never."""

    left: int | None = None
    dead: asyncio.Event = field(default_factory=asyncio.Event)

    def strikes(self) -> bool:
        """Count a write; returns whether it was the last one."""
        if self.left is None:
            return False
        self.left -= 1
        if self.left == 0:
            self.dead.set()
        return self.left <= 0


class Mortal(Client):
    """A client that ends according to `fate`."""

    fate: Fate

    async def request(self, method: str, path: str, **options: Any) -> Object:
        await self._alive()
        answer = await super().request(method, path, **options)
        is_event = "/events" in path
        is_rehearsal = (options.get("query") or {}).get("dryRun") is not None
        if method != "GET" and not is_event and not is_rehearsal and self.fate.strikes():
            await asyncio.Event().wait()
        await self._alive()
        return answer

    async def _alive(self) -> None:
        if self.fate.dead.is_set():
            await asyncio.Event().wait()


@contextlib.asynccontextmanager
async def life(name: str, settings: Settings, build: Build) -> AsyncIterator[Fate]:
    """Run the process `name` once; it can be killed at any point."""
    fate = Fate()
    async with await Mortal.connect(settings.kubeconfig) as client:
        client.fate = fate
        manager = Manager(name, settings, client)
        try:
            await build(manager)
            run = asyncio.create_task(manager.run())
            try:
                yield fate
            finally:
                run.cancel()
                await asyncio.wait({run})
        finally:
            await manager.close()
    if not run.cancelled() and (error := run.exception()) is not None:
        raise error


async def first(*happenings: Awaitable[Any]) -> None:
    """Wait until one of these events is set."""
    tasks = [asyncio.ensure_future(happening) for happening in happenings]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
