"""One content from the leader's disk to ours, byte for byte, verified against its manifest before it is published.

Used by catalogd.replication.follower. A copy that is interrupted goes on where it was, also with another leader as long as that
has the same files; what is left of one that fails is removed.
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
from catalogd.storage.completion import run_to_completion
from olmkit.store.checksums import Checksums
from olmkit.store.store import Store

COPY_IDLE_TIMEOUT = 60.0
"""Seconds without a byte after which a copy is given up: longer than it takes another replica to become the leader."""
RETRY_DELAY_SECONDS = 0.5


@dataclass(frozen=True)
class Copier:
    """Copies into `store` from whoever `leader` says; that may change meanwhile, "" is nobody."""

    store: Store
    source: LeaderClient
    leader: Callable[[], str]
    idle_timeout: float = COPY_IDLE_TIMEOUT

    async def copy(self, digest: str) -> None:
        """Content `digest` is in the store, whole. Raises Trouble, Waiting for the disk, OSError and ValueError."""
        if await asyncio.to_thread(self.store.verify, digest):
            return
        await asyncio.to_thread(self.store.remove, digest)
        manifest = await self.source.manifest(self._leader(), digest)
        async with _publishing(self.store, manifest) as folder:
            for name, file in manifest.files.items():
                await asyncio.to_thread((folder / name).parent.mkdir, parents=True, exist_ok=True)
                await self._fetch(folder / name, manifest, name, file.size)

    async def _fetch(self, path: Path, manifest: Checksums, name: str, size: int) -> None:
        deadline = time.monotonic() + self.idle_timeout
        with await asyncio.to_thread(open, path, "wb", 0) as file:
            while True:
                at = file.tell()
                try:
                    return await self._read(file, manifest, name, size)
                except Interrupted:
                    if file.tell() > at:
                        deadline = time.monotonic() + self.idle_timeout
                    if time.monotonic() > deadline:
                        raise
                await self._another_attempt(manifest, deadline)

    async def _read(self, file: Any, manifest: Checksums, name: str, size: int) -> None:
        if file.tell() == size > 0:
            return
        async with aclosing(self.source.read(self._leader(), manifest.digest, name, file.tell(), size)) as pieces:
            async for piece in pieces:
                await asyncio.to_thread(_write, file, piece)

    async def _another_attempt(self, manifest: Checksums, deadline: float) -> None:
        """Wait until there is a leader that has the same files. Raises Trouble when it has others, or none."""
        while True:
            await asyncio.sleep(RETRY_DELAY_SECONDS)
            try:
                if await self.source.manifest(self._leader(), manifest.digest) != manifest:
                    raise ReplicationError("the leader is another one, and has other files under that digest")
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
async def _publishing(store: Store, manifest: Checksums) -> AsyncIterator[Path]:
    """Store.publish for what is awaited: hashing and removing are done in a thread."""
    publishing = store.publish(manifest.digest, manifest)
    folder = publishing.__enter__()
    try:
        yield folder
    except BaseException as error:
        if not await run_to_completion(asyncio.to_thread(publishing.__exit__, type(error), error, error.__traceback__)):
            raise
    else:
        await run_to_completion(asyncio.to_thread(publishing.__exit__, None, None, None))
