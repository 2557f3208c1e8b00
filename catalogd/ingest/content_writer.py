"""Writes the blobs of a catalog, as they are parsed, to the files of catalogd.ingest.content.

Blobs pass through once and are not kept in memory: the parts of bundles that are needed later go to a temporary file, packages
and channels are read again from the written file. catalogd.ingest.serialized_blobs makes what is written of each blob,
catalogd.ingest.package_index what is derived from all blobs of a package. The largest file is
written and hashed in a thread: both release the GIL, so a second processor does them.
"""

from __future__ import annotations

import hashlib
import os
import queue
import tempfile
import threading
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import orjson

from catalogd.ingest.catalog_summary import CatalogSummary
from catalogd.ingest.content import BLOBS_FILE, CONTENT_FORMAT, INDEX_FILE, METADATA_FILE, BlobIndex
from catalogd.ingest.package_index import BlobReader, PackageIndexWriter
from catalogd.ingest.serialized_blobs import SerializedBlob, serialize_blob
from catalogd.ingest.yaml_expansion_limit import ExpansionLimit
from olmkit.fbc.blobs import Blob
from olmkit.fbc.errors import BadCatalog
from olmkit.gocompat.numbers import read_json
from olmkit.store.checksums import HASH_CHUNK_SIZE, FileChecksums

WRITE_BATCH_BYTES = 1024 * 1024
"""The size of a batch that is passed to the thread: large enough that acquiring the GIL for each costs little."""
MAX_BATCH_PIECES = 512
"""The most pieces of a batch: each output of orjson occupies a few KB, however short it is."""
MAX_QUEUED_BATCHES = 2
"""The most batches that wait for the thread."""


WRITE_BUFFER_BYTES = 1024 * 1024
COPY_CHUNK_BYTES = 1024 * 1024
MAX_BLOBS = 300_000
"""The most blobs of one catalog: the byte range of each is in memory while it is served. The largest public catalogs have
20,000."""
MAX_NAMES_LENGTH = 32 * 1024 * 1024
"""The most characters of the schemas, packages and names of all blobs, which are in memory with the ranges."""
_UNORDERED_FILE = "all.unordered"


class ContentWriter:
    """Writes the files of one catalog into `directory`. `catalog_digest` is its digest in the resolution documents.

    `expansion` limits the bytes of all files; without it there is no limit.
    `checksums` are filled by `finish`: the checksums of files that were hashed while they were written.
    """

    def __init__(
        self,
        directory: Path,
        catalog_digest: str,
        *,
        expansion: ExpansionLimit | None = None,
    ) -> None:
        self.checksums: dict[str, FileChecksums] = {}
        self.expansion = expansion or ExpansionLimit(limited=False)
        self._directory = directory
        self._digest = catalog_digest
        self._blobs = HashingWriter(directory / BLOBS_FILE)
        self._parts = tempfile.TemporaryFile(dir=directory, buffering=WRITE_BUFFER_BYTES)  # noqa: SIM115 closed by __exit__
        self._names = 0
        self._index = BlobIndex()
        self._part_numbers, self._part_ends = array("Q"), array("Q", [0])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._parts.close()
        self._blobs.__exit__(kind, error, trace)

    @property
    def blob_count(self) -> int:
        """The number of blobs that were added."""
        return len(self._index)

    def add(self, blob: Blob) -> None:
        """Add the next blob of the catalog. Raises BadCatalog when the catalog is too large."""
        self.add_serialized(serialize_blob(blob))

    def add_serialized(self, blob: SerializedBlob) -> None:
        """Add a blob that was serialized elsewhere. Raises BadCatalog."""
        self._names += len(blob.schema) + len(blob.package) + len(blob.name)
        _check_count(len(self._index) + 1)
        if self._names > MAX_NAMES_LENGTH:
            raise BadCatalog(f"the names of the catalog's blobs take more than {MAX_NAMES_LENGTH // 1024**2} MiB")
        self.expansion.count_written(len(blob.line) + len(blob.part))
        self._blobs.write(blob.line)
        number = self._index.add(blob.schema, blob.package, blob.name, len(blob.line))
        if blob.part:
            self._parts.write(blob.part)
            self._part_numbers.append(number)
            self._part_ends.append(self._part_ends[-1] + len(blob.part))

    def finish(self, ranges: Sequence[range] | None = None) -> CatalogSummary:
        """Write the files that depend on all blobs. Nothing may be added afterwards.

        `ranges` are the numbers of the blobs of the catalog, in its order; by default all, in the order in which they were added.
        Raises BadCatalog.
        """
        _check_count(sum(map(len, ranges or ())))  # links may repeat a blob many times
        self.checksums[BLOBS_FILE] = self._blobs.finish()
        self._parts.flush()
        numbers: Sequence[int] = range(len(self._index))
        if ranges is not None and not _are_contiguous(ranges, len(self._index)):
            numbers = array("Q", chain.from_iterable(ranges))
            self._reorder(ranges, numbers)
        blobs = _WrittenBlobs(self._blobs, self._index, numbers, self._part)
        packages = PackageIndexWriter(self._directory, self._digest, blobs, self.expansion)
        facts = packages.write()
        summary = packages.summary()
        self._write(INDEX_FILE, self._index.dump())
        facts = {
            "format": CONTENT_FORMAT,
            **facts,
            "summary": summary.to_json(),
        }
        self._write(METADATA_FILE, orjson.dumps(facts))
        return summary

    def _write(self, name: str, data: bytes) -> None:
        self.expansion.count_written(len(data))
        (self._directory / name).write_bytes(data)

    def _reorder(self, ranges: Iterable[range], numbers: Iterable[int]) -> None:
        """Write the blobs again, in another order. Links may repeat a blob many times."""
        before, index = self._blobs, self._index.reordered(numbers)
        self.expansion.count_written(max(index.size - before.size, 0))
        (self._directory / BLOBS_FILE).rename(self._directory / _UNORDERED_FILE)
        with before:
            self._blobs = HashingWriter(self._directory / BLOBS_FILE)
            for each in ranges:
                if each:
                    start, end = self._index.byte_range(each[0])[0], sum(self._index.byte_range(each[-1]))
                    for at in range(start, end, COPY_CHUNK_BYTES):
                        self._blobs.write(before.read(at, min(COPY_CHUNK_BYTES, end - at)))
            self.checksums[BLOBS_FILE] = self._blobs.finish()
        (self._directory / _UNORDERED_FILE).unlink()
        self._index = index

    def _part(self, number: int) -> Any:
        at = bisect_left(self._part_numbers, number)
        start = self._part_ends[at]
        part = orjson.loads(os.pread(self._parts.fileno(), self._part_ends[at + 1] - start, start))
        part[0]["properties"] = orjson.Fragment(part[0]["properties"])
        return part


class _WrittenBlobs(BlobReader):
    """Reads the written blobs in the order of the catalog. `numbers` are the numbers under which they were added."""

    def __init__(self, file: HashingWriter, index: BlobIndex, numbers: Sequence[int], part: Any) -> None:
        self.index = index
        self._file = file
        self._numbers = numbers
        self._part = part

    def value(self, number: int) -> Any:
        """Read a blob."""
        return read_json(self._file.read(*self.index.byte_range(number)))

    def bundle_part(self, number: int) -> Any:
        return self._part(self._numbers[number])


def _check_count(count: int) -> None:
    if count > MAX_BLOBS:
        raise BadCatalog(f"the catalog holds more than {MAX_BLOBS:,} blobs")


def _are_contiguous(ranges: Iterable[range], count: int) -> bool:
    end = 0
    for each in ranges:
        if each:
            if each.start != end:
                return False
            end = each.stop
    return end == count


class HashingWriter:
    """Writes a new file at `path`."""

    def __init__(self, path: Path) -> None:
        self.size = 0
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
        self._batch: list[bytes] = []
        self._batched = 0
        self._error: BaseException | None = None
        self._chunk_digests: list[str] = []
        self._chunk_hash, self._chunk_remaining = hashlib.sha256(), HASH_CHUNK_SIZE
        self._queue: queue.Queue[Sequence[bytes] | None] = queue.Queue(MAX_QUEUED_BATCHES)
        self._thread: threading.Thread | None = threading.Thread(target=self._work, name="hashing-writer", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._end()
        finally:
            os.close(self._file)

    def write(self, data: bytes) -> None:
        """Append data. Raises OSError for an error of earlier data."""
        self._batch.append(data)
        self._batched += len(data)
        self.size += len(data)
        if self._batched >= WRITE_BATCH_BYTES or len(self._batch) >= MAX_BATCH_PIECES:
            self._submit_batch()

    def finish(self) -> FileChecksums:
        """Wait until everything is written. Returns size and checksums; nothing may be written afterwards. Raises OSError."""
        self._submit_batch()
        self._end()
        if self._error is not None:
            raise self._error
        return FileChecksums(self.size, tuple(self._chunk_digests))

    def read(self, start: int, length: int) -> bytes:
        """Read written data; only after `finish`."""
        return os.pread(self._file, length, start)

    def _submit_batch(self) -> None:
        if self._error is not None:
            raise self._error
        self._queue.put(self._batch)
        self._batch, self._batched = [], 0

    def _end(self) -> None:
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join()
            self._thread = None

    def _work(self) -> None:
        while (batch := self._queue.get()) is not None:
            if self._error is None:
                try:
                    self._append(b"".join(batch))
                except BaseException as error:  # raised by the next call of write() or finish()
                    self._error = error
        if self._chunk_remaining < HASH_CHUNK_SIZE:
            self._chunk_digests.append(self._chunk_hash.hexdigest())

    def _append(self, data: bytes) -> None:
        left = memoryview(data)
        while left:
            written = os.write(self._file, left[: self._chunk_remaining])
            self._chunk_hash.update(left[:written])
            left, self._chunk_remaining = left[written:], self._chunk_remaining - written
            if self._chunk_remaining == 0:
                self._chunk_digests.append(self._chunk_hash.hexdigest())
                self._chunk_hash, self._chunk_remaining = hashlib.sha256(), HASH_CHUNK_SIZE
