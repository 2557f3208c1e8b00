"""What is served under which Catalog's name, and the note on disk that lets a restart serve it again.

Filled by catalogd.reconciler, read by catalogd.server for every request. One event loop uses it; what blocks runs in threads.
Content that no name stands for any more is removed from the store.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import orjson

from catalogd.content import Content
from catalogd.world import Record
from olmkit.store import Store

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Shelved:
    """One Catalog's content."""

    record: Record
    content: Content


class Shelf:
    """Records by Catalog name in `root`/catalogs.json, content by digest in `root`/content."""

    def __init__(self, root: Path) -> None:
        self.folder = root / "content"
        self._store = Store(self.folder)
        self._file = root / "catalogs.json"
        self._shelved: dict[str, Shelved] = {}
        self._changes = asyncio.Lock()

    @property
    def names(self) -> Iterable[str]:
        """Catalogs that are served."""
        return tuple(self._shelved)

    def get(self, name: str) -> Shelved | None:
        """What is served under that name."""
        return self._shelved.get(name)

    async def restore(self) -> None:
        """Serve what was served before this process began, if every byte of it is still there; remove everything else."""
        async with self._changes:
            self._shelved = await asyncio.to_thread(self._restored)

    async def put(self, name: str, record: Record) -> None:
        """Serve that content under the name from now on. Raises LookupError when it is not in the store, or damaged."""
        async with self._changes:
            old = self._shelved.get(name)
            content = await asyncio.to_thread(self._opened, record.digest)
            self._shelved[name] = Shelved(record, content)
            await asyncio.to_thread(self._note)
            if old is not None and old.record.digest != record.digest:
                await asyncio.to_thread(self._forget, old.record.digest)

    async def drop(self, name: str) -> None:
        """Serve nothing under the name: at once, also if the disk fails afterwards."""
        old = self._shelved.pop(name, None)
        if old is None:
            return
        async with self._changes:
            await asyncio.to_thread(self._note)
            await asyncio.to_thread(self._forget, old.record.digest)

    def _restored(self) -> dict[str, Shelved]:
        self._store.sweep()
        records = self._records()
        whole = {digest for digest in {record.digest for record in records.values()} if self._store.verify(digest)}
        self._store.collect(keep=whole)
        shelved: dict[str, Shelved] = {}
        for name, record in records.items():
            if record.digest in whole:
                with suppress(LookupError):
                    shelved[name] = Shelved(record, self._opened(record.digest, shelved.values()))
        return shelved

    def _records(self) -> dict[str, Record]:
        try:
            noted = orjson.loads(self._file.read_bytes())
            return {name: Record(**record) for name, record in noted.items()}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, TypeError, AttributeError) as error:
            log.warning(
                "catalogs are read again: the note of what was served is unreadable", extra={"error": str(error)}
            )
            return {}

    def _opened(self, digest: str, others: Iterable[Shelved] | None = None) -> Content:
        """The content; one and the same for all names that share it."""
        for shelved in self._shelved.values() if others is None else others:
            if shelved.record.digest == digest:
                return shelved.content
        folder = self._store.path(digest)
        if folder is None:
            raise LookupError(digest)
        try:
            return Content(folder)
        except (OSError, ValueError, KeyError, TypeError) as error:
            self._store.forget(digest)
            raise LookupError(digest) from error

    def _note(self) -> None:
        """Atomic: a crash leaves the old note or the new one."""
        fresh = self._file.with_suffix(".new")
        with open(fresh, "wb") as file:
            file.write(orjson.dumps({name: asdict(shelved.record) for name, shelved in self._shelved.items()}))
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self._file)

    def _forget(self, digest: str) -> None:
        if all(shelved.record.digest != digest for shelved in self._shelved.values()):
            self._store.forget(digest)
