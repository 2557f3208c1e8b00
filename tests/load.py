"""A client that makes requests one after another while something changes, and counts them.

It pauses between two requests: without that it would take a processor of those that the change is made with.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from olmkit.errors import ApiError

_BETWEEN_SECONDS = 0.1


@dataclass
class Load:
    """`answered` is the number of requests that were answered; `failures` are the messages of others and of wrong answers."""

    answered: int = 0
    failures: list[str] = field(default_factory=list)
    _more: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def after(self, count: int) -> None:
        """Return when so many more requests have been made."""
        async with self._more:
            target = self._made() + count
            await self._more.wait_for(lambda: self._made() >= target)

    def _made(self) -> int:
        return self.answered + len(self.failures)

    async def repeat(self, request: Callable[[int], Awaitable[object]]) -> None:
        """Make requests until cancelled."""
        while True:
            try:
                await request(self._made())
            except (ApiError, AssertionError) as error:
                self.failures.append(str(error) or repr(error))
            else:
                self.answered += 1
            async with self._more:
                self._more.notify_all()
            await asyncio.sleep(_BETWEEN_SECONDS)


@asynccontextmanager
async def load(request: Callable[[int], Awaitable[object]]) -> AsyncIterator[Load]:
    """Make requests inside the context; `request` gets the number of those before."""
    found = Load()
    task = asyncio.create_task(found.repeat(request))
    try:
        yield found
    finally:
        task.cancel()
        await asyncio.wait({task})
    if not task.cancelled() and (error := task.exception()) is not None:
        raise error
