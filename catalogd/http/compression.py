"""gzip and zstd of what the store holds, made once per content at low priority. Filled after the store; asked by
catalogd.http.server.

Serving does not wait for it: until a file is made, the plain one is sent. Kept under <cache-dir>/encoded in a Store of its own,
verified after a restart, removed with the content. A service of catalogd on every replica: run() until cancelled, then close().
The work is catalogd.http.compression_job's.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import orjson

from catalogd.http.compression_job import (
    COMPRESS,
    COMPRESSIBLE_FILES,
    SOURCES_FILE,
    SUFFIX_BY_ENCODING,
    CompressRequest,
    CompressResult,
    compression_sources,
)
from catalogd.storage.catalog_store import CatalogStore
from olmkit.errors import OlmError
from olmkit.jobs import Failed, Finished, Jobs, Limits, MemoryBudget, Queued, Running, Sandbox, Task
from olmkit.store.store import Store, unreadable_error

COMPRESSION_VERSION = "1"
"""Of the way files are encoded; Jobs keeps an end under it."""
COMPRESSION_LIMITS = Limits(memory_bytes=256 * 1024 * 1024, cpu_seconds=3600, timeout=timedelta(hours=2))
CHECK_INTERVAL_SECONDS = 30.0
"""Between two looks when nothing happens: a job that failed may be due again."""
_NONE: Mapping[str, CompressedFile] = {}

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class CompressedFile:
    """An encoded file. `tag` tells its bytes from those another version of the compressor made."""

    path: Path
    size: int
    tag: str


class CompressedFiles:
    """Encoded files below `root`/encoded, made within `memory`. Raises OlmError when `root` cannot be used."""

    def __init__(self, root: Path, catalog_store: CatalogStore, memory: MemoryBudget | None = None) -> None:
        self._root = root / "encoded"
        self._store = Store(self._root)
        self._catalog_store = catalog_store
        sandbox = Sandbox(reads=(catalog_store.content_folder,), writes=(self._root,), network=False)
        self._jobs = Jobs[CompressResult](
            lambda _: self._changed.set(),
            max_concurrent=1,
            limits=COMPRESSION_LIMITS,
            preload=[COMPRESS.module],
            sandbox=sandbox,
            memory=memory,
        )
        self._forms: dict[str, dict[str, dict[str, CompressedFile]]] = {}
        self._asked: set[str] = set()
        self._failed: set[str] = set()
        self._changed = asyncio.Event()
        catalog_store.on_any_change(self._changed.set)

    def find(self, digest: str, file: str) -> Mapping[str, CompressedFile]:
        """The forms of a file of that content by encoding, best first; none when they are not made (yet)."""
        return self._forms.get(digest, {}).get(file, _NONE)

    async def run(self) -> None:
        """Keep step with the store until cancelled."""
        while True:
            self._changed.clear()
            try:
                await self._step()
            except (OSError, OlmError) as error:
                log.warning("encoded files cannot be kept: catalogs are sent as they are", extra={"error": str(error)})
            try:
                async with asyncio.timeout(CHECK_INTERVAL_SECONDS):
                    await self._changed.wait()
            except TimeoutError:
                pass

    async def close(self) -> None:
        """End the work under way."""
        await self._jobs.close()

    async def _step(self) -> None:
        wanted = self._catalog_store.digests
        for digest in [*self._forms.keys() - wanted]:
            del self._forms[digest]
        for digest in self._asked - wanted:
            self._jobs.cancel(digest)
        self._asked &= wanted
        self._failed &= wanted
        await asyncio.to_thread(self._store.collect_garbage, wanted | self._catalog_store.digests)
        for digest in sorted(wanted - self._forms.keys()):
            await self._look(digest)
        if not self._asked:
            await self._jobs.close()  # its fork server holds memory that nobody needs until the next content

    async def _look(self, digest: str) -> None:
        """Take what there is, else have it made."""
        state = self._jobs.state(digest)
        if not isinstance(state, Queued | Running):
            try:
                found = await asyncio.to_thread(self._opened, digest)
            except (OSError, OlmError):
                return  # it cannot be read now: neither made again nor removed
            if found is not None:
                self._forms[digest] = found
                self._asked.discard(digest)
                self._failed.discard(digest)
                self._jobs.forget(digest)
                return
            if isinstance(state, Finished):
                self._jobs.forget(digest)  # what it made is damaged, or the content is another by now
            if isinstance(state, Failed) and digest not in self._failed:
                self._failed.add(digest)
                log.warning("a catalog is sent uncompressed", extra={"digest": digest, "error": state.error.message})
        request = CompressRequest(self._catalog_store.content_folder, self._root, digest)
        self._asked.add(digest)
        self._jobs.ensure(digest, COMPRESSION_VERSION, Task(COMPRESS, request))

    def _opened(self, digest: str) -> dict[str, dict[str, CompressedFile]] | None:
        """The forms on disk, verified; None, and nothing on disk, when there are none of the content as it is. Raises OSError
        and Waiting when that cannot be told now."""
        folder = self._store.path(digest)
        if folder is None:
            return None
        sources = compression_sources(self._catalog_store.content_store, digest)
        if sources is None:
            return None  # the content itself is away, or cannot be read now
        # The bytes last: what is noted cannot be read before the sizes are known, and may spare them.
        is_of_it = self._store.verify(digest, only_sizes=True) and _read_sources(folder) == sources
        if not (is_of_it and self._store.verify(digest)):
            self._store.remove(digest)
            return None
        manifest = self._store.checksums(digest)
        if manifest is None:
            raise unreadable_error("its checksums file")
        found: dict[str, dict[str, CompressedFile]] = {}
        for name in COMPRESSIBLE_FILES:
            plain = sources["files"].get(name, [0])[0]
            for encoding, ending in SUFFIX_BY_ENCODING.items():
                file = manifest.files.get(name + ending)
                if file is not None and file.size < plain:
                    tag = hashlib.sha256("".join(file.chunk_digests).encode()).hexdigest()[:8]
                    found.setdefault(name, {})[encoding] = CompressedFile(folder / (name + ending), file.size, tag)
        return found


def _read_sources(folder: Path) -> Any:
    """What encoded files were made of; None when that is not noted. Raises OSError when it cannot be read now."""
    try:
        return orjson.loads((folder / SOURCES_FILE).read_bytes())
    except (FileNotFoundError, ValueError):
        return None
