"""gzip and zstd files of the content in the store, each made once at low priority. catalogd.http.server looks them up.

Serving never waits for them: until a file is compressed, the original is sent. They are kept under <cache-dir>/encoded in a Store
of their own, verified after a restart, and removed with the content. Runs on every replica: run() until cancelled, then
close(). The compression itself is the job of catalogd.http.compression_job.
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
from olmkit.jobs.job import Limits, Task
from olmkit.jobs.memory_budget import MemoryBudget
from olmkit.jobs.sandbox import Sandbox
from olmkit.jobs.scheduler import Jobs
from olmkit.jobs.state import Failed, Finished, Queued, Running
from olmkit.store.store import Store, unreadable_error

COMPRESSION_VERSION = "1"
"""The version of the compressed files, part of the key of a job."""
COMPRESSION_LIMITS = Limits(memory_bytes=256 * 1024 * 1024, cpu_seconds=3600, timeout=timedelta(hours=2))
CHECK_INTERVAL_SECONDS = 30.0
"""The interval between two checks without a change of the store: a failed job may be due again."""
_NO_FILES: Mapping[str, CompressedFile] = {}

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class CompressedFile:
    """A compressed file. `tag` distinguishes its bytes from those of another version of the compressor."""

    path: Path
    size: int
    tag: str


class CompressedFiles:
    """Compressed files below `root`/encoded. Jobs stay within the `memory` budget. Raises OlmError when `root` cannot be used."""

    def __init__(self, root: Path, catalog_store: CatalogStore, memory: MemoryBudget | None = None) -> None:
        self._root = root / "encoded"
        self._store = Store(self._root)
        self._catalog_store = catalog_store
        sandbox = Sandbox(reads=(catalog_store.content_directory,), writes=(self._root,), network=False)
        self._jobs = Jobs[CompressResult](
            lambda _: self._changed.set(),
            max_concurrent=1,
            limits=COMPRESSION_LIMITS,
            preload=[COMPRESS.module],
            sandbox=sandbox,
            memory=memory,
        )
        self._files: dict[str, dict[str, dict[str, CompressedFile]]] = {}
        self._requested: set[str] = set()
        self._failed: set[str] = set()
        self._changed = asyncio.Event()
        catalog_store.on_any_change(self._changed.set)

    def find(self, digest: str, file: str) -> Mapping[str, CompressedFile]:
        """The compressed forms of a file of this content by encoding, best first; empty until they are made."""
        return self._files.get(digest, {}).get(file, _NO_FILES)

    async def run(self) -> None:
        """Make and remove compressed files as the store changes, until cancelled."""
        while True:
            self._changed.clear()
            try:
                await self._reconcile()
            except (OSError, OlmError) as error:
                log.warning(
                    "compressed files cannot be stored: catalogs are sent uncompressed", extra={"error": str(error)}
                )
            try:
                async with asyncio.timeout(CHECK_INTERVAL_SECONDS):
                    await self._changed.wait()
            except TimeoutError:
                pass

    async def close(self) -> None:
        """End the running job."""
        await self._jobs.close()

    async def _reconcile(self) -> None:
        digests = self._catalog_store.digests
        for digest in [*self._files.keys() - digests]:
            del self._files[digest]
        for digest in self._requested - digests:
            self._jobs.cancel(digest)
        self._requested &= digests
        self._failed &= digests
        await asyncio.to_thread(self._store.collect_garbage, digests | self._catalog_store.digests)
        for digest in sorted(digests - self._files.keys()):
            await self._ensure(digest)
        if not self._requested:
            await self._jobs.close()  # frees the memory of its fork server until there is more content

    async def _ensure(self, digest: str) -> None:
        """Use the files on disk, or start the job that makes them."""
        state = self._jobs.state(digest)
        if not isinstance(state, Queued | Running):
            try:
                found = await asyncio.to_thread(self._load, digest)
            except (OSError, OlmError):
                return  # unreadable at the moment: neither made again nor removed
            if found is not None:
                self._files[digest] = found
                self._requested.discard(digest)
                self._failed.discard(digest)
                self._jobs.forget(digest)
                return
            if isinstance(state, Finished):
                self._jobs.forget(digest)  # its files are corrupt, or the content was replaced
            if isinstance(state, Failed) and digest not in self._failed:
                self._failed.add(digest)
                log.warning("a catalog is sent uncompressed", extra={"digest": digest, "error": state.error.message})
        request = CompressRequest(self._catalog_store.content_directory, self._root, digest)
        self._requested.add(digest)
        self._jobs.ensure(digest, COMPRESSION_VERSION, Task(COMPRESS, request))

    def _load(self, digest: str) -> dict[str, dict[str, CompressedFile]] | None:
        """The verified files on disk; None when there are none of the current content. Files of other content are removed.

        Raises OSError and Waiting when the disk cannot be read at the moment.
        """
        directory = self._store.path(digest)
        if directory is None:
            return None
        sources = compression_sources(self._catalog_store.content_store, digest)
        if sources is None:
            return None  # the content itself is missing, or unreadable at the moment
        # Bytes are verified last: the other checks are cheap, and need the sizes to be right.
        is_current = self._store.verify(digest, only_sizes=True) and _read_sources(directory) == sources
        if not (is_current and self._store.verify(digest)):
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
                    found.setdefault(name, {})[encoding] = CompressedFile(directory / (name + ending), file.size, tag)
        return found


def _read_sources(directory: Path) -> Any:
    """The sources of compressed files; None when they are unknown. Raises OSError when the file cannot be read at the moment."""
    try:
        return orjson.loads((directory / SOURCES_FILE).read_bytes())
    except (FileNotFoundError, ValueError):
        return None
