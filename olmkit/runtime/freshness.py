"""Checks whether the informers that decisions are made from are up to date, and waits until they are.

One per reader: olmkit.runtime.controller (no pass begins while one of its informers is stale), and whatever else decides from
several informers, as the Resolver does. An informer is stale until it has been listed in this term of the lease, and while its
watch is cut (olmkit.runtime.informer, which logs that). Never lists anything itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from olmkit.runtime import metrics
from olmkit.runtime.informer import Informer


class Freshness:
    """The informers that `reader`, a name for metrics, decides from; it is fresh while none of them is stale."""

    def __init__(self, reader: str, *informers: Informer) -> None:
        self._informers: list[Informer] = []
        self._fresh = asyncio.Event()
        self._fresh.set()
        self._handlers: list[Callable[[], None]] = []
        for informer in informers:
            self.add(informer)
        metrics.STALE_INFORMERS.labels(reader).set_function(self._count_stale)

    @property
    def informers(self) -> list[Informer]:
        """Those that were added, without duplicates."""
        return list(self._informers)

    @property
    def is_fresh(self) -> bool:
        """True if no informer is stale."""
        return self._fresh.is_set()

    def add(self, informer: Informer) -> None:
        """Another one; twice is once."""
        if informer not in self._informers:
            self._informers.append(informer)
            informer.on_freshness(self._on_change)
            self._on_change()

    def on_fresh(self, handler: Callable[[], None]) -> None:
        """Call `handler` each time the last stale informer has become fresh. It must return quickly and must not raise."""
        self._handlers.append(handler)

    async def wait(self) -> None:
        """Wait until no informer is stale. What is read of them before the next `await` is up to date."""
        while not self._fresh.is_set():
            await self._fresh.wait()

    def _count_stale(self) -> int:
        """The informers that others wait for; one that does not run has nobody who waits."""
        return sum(each.stale and each.is_running for each in self._informers)

    def _on_change(self) -> None:
        is_fresh = not any(informer.stale for informer in self._informers)
        if is_fresh == self._fresh.is_set():
            return
        if not is_fresh:
            self._fresh.clear()
            return
        self._fresh.set()
        for handler in tuple(self._handlers):
            handler()
