"""Copies one content from the leader to the store of this replica, and verifies it against its checksums before it is published.

An interrupted copy is resumed where it stopped, also from another leader as long as that has the same files. A copy that fails
leaves nothing behind.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from catalogd.replication.client import Interrupted, LeaderClient, ReplicationError
from catalogd.storage.disk import run_to_completion
from olmkit.store.checksums import Checksums
from olmkit.store.store import Store

COPY_IDLE_TIMEOUT_SECONDS = 60.0
"""A copy without a byte for this long fails. Longer than another replica takes to become the leader."""
RETRY_DELAY_SECONDS = 0.5


@dataclass(frozen=True)
class Copier:
    """Copies into `store` from the address that `leader` returns, which may change during a copy; "" when there is none."""

    store: Store
    source: LeaderClient
    leader: Callable[[], str]
    idle_timeout: float = COPY_IDLE_TIMEOUT_SECONDS

    async def copy(self, digest: str) -> None:
        """Copy the content, unless it is stored and intact. Raises ReplicationError, Waiting (disk), OSError and ValueError."""
        if await asyncio.to_thread(self.store.verify, digest):
            return
        await asyncio.to_thread(self.store.remove, digest)
        checksums = await self.source.checksums(self._leader(), digest)
        async with _publishing(self.store, checksums) as directory:
            for name, file in checksums.files.items():
                await asyncio.to_thread((directory / name).parent.mkdir, parents=True, exist_ok=True)
                await self._fetch(directory / name, checksums, name, file.size)

    async def _fetch(self, path: Path, checksums: Checksums, name: str, size: int) -> None:
        deadline = time.monotonic() + self.idle_timeout
        with await asyncio.to_thread(open, path, "wb", 0) as file:
            while True:
                at = file.tell()
                try:
                    return await self._read(file, checksums, name, size)
                except Interrupted:
                    if file.tell() > at:
                        deadline = time.monotonic() + self.idle_timeout
                    if time.monotonic() > deadline:
                        raise
                await self._wait_for_leader(checksums, deadline)

    async def _read(self, file: Any, checksums: Checksums, name: str, size: int) -> None:
        if file.tell() == size > 0:
            return
        async with aclosing(self.source.read(self._leader(), checksums.digest, name, file.tell(), size)) as chunks:
            async for chunk in chunks:
                await asyncio.to_thread(_write, file, chunk)

    async def _wait_for_leader(self, checksums: Checksums, deadline: float) -> None:
        """Wait until there is a leader that has the same files. Raises ReplicationError when it has other files, or there is
        none."""
        while True:
            await asyncio.sleep(RETRY_DELAY_SECONDS)
            try:
                if await self.source.checksums(self._leader(), checksums.digest) != checksums:
                    raise ReplicationError("the leader has changed, and has other files under this digest")
                return
            except Interrupted:
                if time.monotonic() > deadline:
                    raise

    def _leader(self) -> str:
        if address := self.leader():
            return address
        raise Interrupted("there is no leader to copy from")


def _write(file: Any, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[file.write(view) :]


@asynccontextmanager
async def _publishing(store: Store, checksums: Checksums) -> AsyncIterator[Path]:
    """Store.publish() as an asynchronous context manager: hashing and removing run in a thread."""
    publishing = store.publish(checksums.digest, checksums)
    directory = publishing.__enter__()
    try:
        yield directory
    except BaseException as error:
        if not await run_to_completion(asyncio.to_thread(publishing.__exit__, type(error), error, error.__traceback__)):
            raise
    else:
        await run_to_completion(asyncio.to_thread(publishing.__exit__, None, None, None))
