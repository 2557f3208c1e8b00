"""A file that is written and hashed by a thread, beside what makes its content.

Used by catalogd.ingest.content_writer for the largest file of a content: writing and hashing let go of Python's lock, so that
a second processor does them. Knows nothing of catalogs.
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
"""Bytes handed over at a time, about: enough that taking Python's lock for each costs nothing."""
MAX_BATCH_PIECES = 512
"""Pieces of a batch: what orjson wrote keeps the place it had while it grew, a few KB for a line of ten bytes."""
MAX_QUEUED_BATCHES = 2
"""Batches that may wait."""


class HashingWriter:
    """Bytes one after the other into a new file at `path`."""

    def __init__(self, path: Path) -> None:
        self.size = 0
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
        self._batch: list[bytes] = []
        self._batched = 0
        self._error: BaseException | None = None
        self._portions: list[str] = []
        self._hashing, self._room = hashlib.sha256(), HASH_CHUNK_SIZE
        self._queue: queue.Queue[Sequence[bytes] | None] = queue.Queue(MAX_QUEUED_BATCHES)
        self._thread: threading.Thread | None = threading.Thread(target=self._work, name="append", daemon=True)
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
        """Append. May raise OSError for what was appended before."""
        self._batch.append(data)
        self._batched += len(data)
        self.size += len(data)
        if self._batched >= WRITE_BATCH_BYTES or len(self._batch) >= MAX_BATCH_PIECES:
            self._hand_over()

    def finish(self) -> FileChecksums:
        """Its size and hashes, when all of it is in the file; nothing may be written afterwards. Raises OSError."""
        self._hand_over()
        self._end()
        if self._error is not None:
            raise self._error
        return FileChecksums(self.size, tuple(self._portions))

    def read(self, start: int, length: int) -> bytes:
        """Of what is written; only after `finish`."""
        return os.pread(self._file, length, start)

    def _hand_over(self) -> None:
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
                except BaseException as error:  # told to the writer, who is in the middle of something else
                    self._error = error
        if self._room < HASH_CHUNK_SIZE:
            self._portions.append(self._hashing.hexdigest())

    def _append(self, data: bytes) -> None:
        left = memoryview(data)
        while left:
            written = os.write(self._file, left[: self._room])
            self._hashing.update(left[:written])
            left, self._room = left[written:], self._room - written
            if self._room == 0:
                self._portions.append(self._hashing.hexdigest())
                self._hashing, self._room = hashlib.sha256(), HASH_CHUNK_SIZE
