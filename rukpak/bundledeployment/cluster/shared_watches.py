"""Watches that several BundleDeployments need at times: each starts with the first one that needs it and ends with the last.

Never reads an object, and never writes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from olmkit.runtime.informer import Informer
from rukpak.bundledeployment.cluster.inventory import InformerFactory

SYNC_TIMEOUT_SECONDS = 2.0
"""The time for which a pass waits for the first lists of its watches."""

Watchable = TypeVar("Watchable", bound=Hashable)


@dataclass
class _Watched:
    informer: Informer
    names: set[str] = field(default_factory=set)
    """The BundleDeployments that need it."""


class SharedWatches(Generic[Watchable]):
    """All watches of one sort. `start` returns the informer of what is to be watched, which `informers` has made."""

    def __init__(self, informers: InformerFactory, start: Callable[[Watchable], Informer]) -> None:
        self._informers = informers
        self._start = start
        self._watched: dict[Watchable, _Watched] = {}

    async def watch(self, name: str, wanted: Iterable[Watchable]) -> dict[Watchable, Informer]:
        """Watch these for a BundleDeployment, and no others. Each is synced, unless their first lists take long."""
        kept = frozenset(wanted)
        await self._release(name, keep=kept)
        for each in sorted(kept, key=str):
            watched = self._watched.get(each)
            if watched is None:
                watched = self._watched[each] = _Watched(self._start(each))
            watched.names.add(name)
        informers = {each: self._watched[each].informer for each in kept}
        with suppress(TimeoutError):
            async with asyncio.timeout(SYNC_TIMEOUT_SECONDS):
                for informer in informers.values():
                    await informer.synced.wait()
        return informers

    async def forget(self, name: str) -> None:
        """The BundleDeployment needs none any more."""
        await self._release(name, keep=frozenset())

    def names_of(self, watched: Watchable) -> list[str]:
        """The BundleDeployments that need it, sorted; none if it is not watched."""
        known = self._watched.get(watched)
        return sorted(known.names) if known is not None else []

    async def _release(self, name: str, keep: frozenset[Watchable]) -> None:
        for each, watched in list(self._watched.items()):
            if name in watched.names and each not in keep:
                watched.names.discard(name)
                if not watched.names and self._watched.get(each) is watched:
                    del self._watched[each]
                    await self._informers.remove_informer(watched.informer)
