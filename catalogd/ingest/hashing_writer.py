"""Writes a file and computes its checksums in a thread, while the caller produces more data.

Used by catalogd.ingest.content_writer for the largest file of a content: writing and hashing release the GIL, so a second
processor does them. Knows nothing about catalogs.
"""

from __future__ import annotations

import hashlib
import os
import queue
import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from olmkit.store.checksums import HASH_CHUNK_SIZE, FileChecksums

WRITE_BATCH_BYTES = 1024 * 1024
"""The size of a batch that is passed to the thread: large enough that acquiring the GIL for each costs little."""
MAX_BATCH_PIECES = 512
"""The most pieces of a batch: each output of orjson occupies a few KB, however short it is."""
MAX_QUEUED_BATCHES = 2
"""The most batches that wait for the thread."""


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
