"""Objects of the cluster that a command follows while it waits. Never writes."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Self

from olmkit.api.meta import Kind
from olmkit.errors import Unavailable
from olmkit.runtime.client import NO_ANSWER, REQUEST_TIMEOUT_SECONDS, Client
from olmkit.runtime.informer import Informer


class Watched:
    """Informers that run while the context is open. A command reads them, and waits for the next change of any of them."""

    def __init__(self, client: Client) -> None:
        """Follows nothing yet."""
        self._client = client
        self._tasks: list[asyncio.Task[None]] = []
        self._changed = asyncio.Event()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def follow(
        self,
        kind: Kind,
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
    ) -> Informer:
        """The objects of a kind, kept up to date; none while the cluster does not serve it. Raises Unavailable without an
        answer."""
        informer = Informer(
            self._client,
            kind,
            namespace=namespace,
            label_selector=label_selector,
            field_selector=field_selector,
            absent_is_empty=True,
        )
        informer.subscribe(lambda _: self._changed.set())
        self._tasks.append(asyncio.create_task(informer.run()))
        try:
            async with asyncio.timeout(REQUEST_TIMEOUT_SECONDS):
                await informer.synced.wait()
        except TimeoutError:
            raise Unavailable(0, NO_ANSWER, f"the API server does not list {kind.plural}") from None
        return informer

    async def change(self, until: float) -> None:
        """Wait for a change after the last call, until this time of the event loop at most."""
        try:
            async with asyncio.timeout_at(until):
                await self._changed.wait()
        except TimeoutError:
            return
        self._changed.clear()
