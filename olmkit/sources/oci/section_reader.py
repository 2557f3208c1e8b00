"""Reads sections of a file as separate files, so that all layers of an image pass between processes as one file descriptor.

Reads by position (preadv), so processes that share the descriptor do not affect each other.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Iterator
from typing import IO, TYPE_CHECKING, cast

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

BUFFER_BYTES = 256 * 1024


class _Section(io.RawIOBase):
    def __init__(self, descriptor: int, start: int, size: int) -> None:
        self._descriptor = descriptor
        self._start = start
        self._size = size
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        self._position = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._size}[whence]
        return self._position

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        view = memoryview(buffer)[: max(0, self._size - self._position)]
        count = os.preadv(self._descriptor, [view], self._start + self._position)
        self._position += count
        return count


def sections(file: IO[bytes], sizes: Iterable[int]) -> Iterator[IO[bytes]]:
    """The consecutive sections of `file` with these sizes, each as a file. `file` has to stay open."""
    start = 0
    for size in sizes:
        with io.BufferedReader(_Section(file.fileno(), start, size), BUFFER_BYTES) as section:
            yield cast("IO[bytes]", section)
        start += size
