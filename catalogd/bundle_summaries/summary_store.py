"""The summaries on disk, by the digest of the image, and which image of which Catalog has which digest.

    <root>/content/sha256-<hex>/content/summary.json.zst    a summary
    <root>/state.json                                       what is kept, when it was used, and who has proved to have it

What is in the state file is served; everything else is removed. A summary is given to a Catalog only if its credentials have
proved that they may read the image: two Catalogs may name one image (docs/decisions/0015). The least recently used summaries are
removed when there are too many. What is damaged is removed, and made again.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import orjson

from catalogd.bundle_summaries.summary_task import SUMMARY_FILE, SummaryResult, checked
from olmkit.api.names import is_digest
from olmkit.errors import OlmError
from olmkit.sources.oci.reference import parse
from olmkit.store.store import CONTENT_DIRECTORY, Store

MAX_BYTES = 64 * 1024**2
"""Bytes of all summaries."""
MAX_SUMMARIES = 4096
MAX_PROOFS = 8192
STATE_FORMAT = 1

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Proof:
    """A Catalog whose credentials may read an image: its uid, the reference of the image, and the versions of its Secrets."""

    uid: str
    image: str
    access: str

    @property
    def is_by_digest(self) -> bool:
        """True if the reference never means another image."""
        return "@" in self.image


@dataclass(frozen=True)
class Kept:
    """A summary on disk. `used` is in seconds since 1970."""

    size: int
    used: float


@dataclass(frozen=True)
class Proved:
    """The digest that an image had at that time, in seconds since 1970."""

    digest: str
    at: float


@dataclass
class _State:
    kept: dict[str, Kept] = field(default_factory=dict)
    proofs: dict[Proof, Proved] = field(default_factory=dict)

    def to_json(self) -> bytes:
        kept = {digest: [each.size, each.used] for digest, each in self.kept.items()}
        proofs = [[proof.uid, proof.image, proof.access, each.digest, each.at] for proof, each in self.proofs.items()]
        return orjson.dumps({"format": STATE_FORMAT, "kept": kept, "proofs": proofs})

    @classmethod
    def parse(cls, data: bytes) -> _State:
        """An empty one for what cannot be read: summaries are made again."""
        try:
            value: Any = orjson.loads(data)
            if value["format"] != STATE_FORMAT:
                return cls()
            kept = {
                digest: Kept(int(size), float(used))
                for digest, (size, used) in value["kept"].items()
                if is_digest(digest)
            }
            proofs = {
                Proof(str(uid), str(image), str(access)): Proved(str(digest), float(at))
                for uid, image, access, digest, at in value["proofs"]
                if digest in kept
            }
        except (ValueError, TypeError, LookupError, AttributeError):
            return cls()
        return cls(kept, proofs)


class SummaryStore:
    """The summaries below `root`. `max_bytes` are those of all together. Raises OlmError(CacheUnusable)."""

    def __init__(self, root: Path, max_bytes: int = MAX_BYTES) -> None:
        self.directory = root / "content"
        self.store = Store(self.directory)
        self._file = root / "state.json"
        self._max_bytes = max_bytes
        self._state = _State()
        self._changes = asyncio.Lock()

    async def restore(self) -> None:
        """Read what the previous process kept, and remove all else."""
        async with self._changes:
            self._state = await asyncio.to_thread(self._restored)

    def _restored(self) -> _State:
        try:
            state = _State.parse(self._file.read_bytes())
        except OSError:
            state = _State()
        try:
            self.store.remove_abandoned_staging()
            self.store.collect_garbage(set(state.kept))
            stored = self.store.digests()
        except OSError as error:
            log.warning("summaries of bundles cannot be read", extra={"error": str(error)})
            return _State()
        kept = {digest: each for digest, each in state.kept.items() if digest in stored}
        return _State(kept, {proof: each for proof, each in state.proofs.items() if each.digest in kept})

    def find(self, proof: Proof) -> Proved | None:
        """The image of a Catalog, if its summary is kept and the Catalog may have it."""
        return self._state.proofs.get(proof)

    async def read(self, digest: str) -> bytes | None:
        """The compressed summary; None if it is not kept any more."""
        found = self._state.kept.get(digest)
        if found is None:
            return None
        data = await asyncio.to_thread(self._read, digest)
        if data is None:
            await self._remove([digest])
        elif digest in self._state.kept:
            self._state.kept[digest] = replace(found, used=time.time())
        return data

    def _read(self, digest: str) -> bytes | None:
        directory = self.store.path(digest)
        try:
            data = (directory / SUMMARY_FILE).read_bytes() if directory is not None else b""
            checked(data)
        except (OSError, ValueError) as error:
            log.warning(
                "the summary of a bundle is damaged, and made again", extra={"digest": digest, "error": str(error)}
            )
            return None
        return data

    async def add(self, proof: Proof, digest: str, data: bytes | None = None) -> None:
        """Keep the summary that a job has published, or these bytes of the leader, for that Catalog. Raises OlmError, ValueError,
        OSError."""
        async with self._changes:
            size = await asyncio.to_thread(self._published, digest, data)
            self._state.kept[digest] = Kept(size, time.time())
            self._state.proofs.pop(proof, None)
            self._state.proofs[proof] = Proved(digest, time.time())
        await self._remove(self._least_used())

    def _published(self, digest: str, data: bytes | None) -> int:
        """The size of the summary."""
        if data is not None and self.store.path(digest) is None:
            checked(data)
            with self.store.publish(digest) as directory:
                (directory / SUMMARY_FILE).write_bytes(data)
        found = self.store.path(digest)
        if found is None:
            raise ValueError("the summary is not in the store")
        return (found / SUMMARY_FILE).stat().st_size

    def _least_used(self) -> list[str]:
        """The summaries that are too many."""
        state, removed = self._state, []
        total, count = sum(each.size for each in state.kept.values()), len(state.kept)
        for digest, each in sorted(state.kept.items(), key=lambda item: item[1].used):
            if total <= self._max_bytes and count <= MAX_SUMMARIES:
                break
            removed.append(digest)
            total, count = total - each.size, count - 1
        return removed

    async def _remove(self, digests: Iterable[str]) -> None:
        async with self._changes:
            gone = set(digests)
            proofs = [(proof, each) for proof, each in self._state.proofs.items() if each.digest not in gone]
            self._state.proofs = dict(proofs[-MAX_PROOFS:])
            for digest in gone:
                self._state.kept.pop(digest, None)
            try:
                await asyncio.to_thread(self._write, gone, self._state.to_json())
            except (OSError, OlmError) as error:
                log.warning("summaries of bundles cannot be written", extra={"error": str(error)})

    def _write(self, gone: set[str], state: bytes) -> None:
        for digest in gone:
            self.store.remove(digest)
        fresh = self._file.with_suffix(".new")
        fresh.write_bytes(state)
        os.replace(fresh, self._file)

    def publish(self, image: str, directory: Path, result: SummaryResult) -> None:
        """Publish the directory of a summary job, whose content and result are not trusted. Blocks. Raises ValueError, OlmError,
        OSError."""
        if not is_digest(result.digest) or (parse(image).digest or result.digest) != result.digest:
            raise ValueError("the job has read another image")
        if result.staged and self.store.path(result.digest) is None:
            staged_summary(directory)
            self.store.publish_staged(directory, result.digest)


def staged_summary(directory: Path) -> bytes:
    """The compressed summary in the directory of a job. Raises ValueError and OSError."""
    content = directory / CONTENT_DIRECTORY
    if os.listdir(content) != [SUMMARY_FILE]:
        raise ValueError("the directory does not hold exactly a summary")
    descriptor = os.open(content / SUMMARY_FILE, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        data = file.read(1024**2)
    checked(data)
    return data
