"""The contents of catalogs that were read, as JSON by what they depend on, for all users of the process.

Bounded by bytes: the least recently used are dropped. Equal reads at the same time are one. Decides nothing about rights: its
caller does (console.user_client).
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable

import orjson

from olmkit.api.meta import Object
from olmkit.errors import ApiError

MAX_BYTES = 48 * 1024 * 1024


class CatalogCache:
    """JSON objects by key."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._kept: OrderedDict[Hashable, bytes] = OrderedDict()
        self._reads: dict[Hashable, asyncio.Task[Object]] = {}

    async def read(self, key: Hashable, fetch: Callable[[], Awaitable[Object]]) -> Object:
        """The object of the key, which the caller owns. It is fetched if it is not kept; errors are not kept."""
        kept = self._kept.get(key)
        if kept is not None:
            self._kept.move_to_end(key)
            return _parsed(kept)
        task = self._reads.get(key)
        if task is None:
            task = self._reads[key] = asyncio.ensure_future(fetch())
            task.add_done_callback(lambda done: self._store(key, done))
            return await asyncio.shield(task)
        try:
            return await asyncio.shield(task)
        except ApiError:  # what another user may not read, this one may
            return await fetch()

    def _store(self, key: Hashable, done: asyncio.Future[Object]) -> None:
        self._reads.pop(key, None)
        if done.cancelled() or done.exception() is not None:
            return
        raw = bytes(memoryview(orjson.dumps(done.result())))  # a copy: orjson's own bytes keep a larger buffer
        if len(raw) > self._max_bytes:
            return
        self._kept[key] = raw
        self._bytes += len(raw)
        while self._bytes > self._max_bytes:
            _, dropped = self._kept.popitem(last=False)
            self._bytes -= len(dropped)


def _parsed(raw: bytes) -> Object:
    found: Object = orjson.loads(raw)
    return found
