"""The bytes of a stream that were read and not yet consumed, with their line and column in the file.

Holds a chunk, or as much as one document has. Independent of any format. Pure.
"""

from __future__ import annotations

import re
from typing import Final, Protocol

CHUNK_BYTES: Final = 1024 * 1024
"""Bytes requested by one read."""
_SPACE = re.compile(rb"\s+")


class Readable(Protocol):
    """A binary stream; may return fewer bytes than requested, and none only at its end."""

    def read(self, size: int, /) -> bytes:
        """Read at most `size` bytes."""
        ...


class Buffer:
    """The bytes of a stream that were read and not yet consumed: those of `data` from `at` on. `line` is the line of `at`.

    `unguessed` is how many of the next bytes a wrong guess has shown not to end with the object they begin with, so that the
    caller does not guess there again. `_dropped` is how many characters of the first line of `data` came before `data`.
    """

    def __init__(self, stream: Readable) -> None:
        self._stream = stream
        self.ended = False
        self.unguessed = 0
        self.data = b""
        self.at = 0
        self.line = 1
        self._dropped = 0

    def more(self) -> bool:
        """Read a chunk and set `at` to 0. False at the end of the stream."""
        left = self.left()
        # Each read doubles the buffer, so that copying a long document costs no more than reading it.
        chunk = b"" if self.ended else self._stream.read(max(CHUNK_BYTES, left))
        self.ended = not chunk
        self._dropped = self.column() - 1
        self.data = self.data[self.at :] + chunk if left else chunk
        self.at = 0
        return bool(chunk)

    def column(self) -> int:
        """The column of `at` in characters, from 1; bytes that are not UTF-8 count as U+FFFD. Takes time in the line's length."""
        start = self.data.rfind(b"\n", 0, self.at) + 1
        dropped = 0 if start else self._dropped
        return dropped + len(self.data[start : self.at].decode(errors="replace")) + 1

    def left(self) -> int:
        """The number of bytes that were read and not consumed."""
        return len(self.data) - self.at

    def view(self, length: int) -> memoryview:
        """The next bytes, not copied and not consumed."""
        return memoryview(self.data)[self.at : self.at + length]

    def skip(self, length: int, lines: int | None = None) -> None:
        """Consume the next bytes; `lines` is how many newlines they contain, if that is known."""
        if lines is None:
            lines = self.data.count(b"\n", self.at, self.at + length)
        self.line += lines
        self.unguessed = max(self.unguessed - length, 0)
        self.at += length

    def take(self, length: int) -> bytes:
        """Consume and return the next bytes."""
        taken = self.data[self.at : self.at + length]
        self.skip(length)
        return taken

    def opens_with_brace(self) -> bool:
        """Report whether `{` is the first character that is no space, within about CHUNK_BYTES. Consumes nothing."""
        while not (text := self.data.lstrip()) and self.left() < CHUNK_BYTES and self.more():
            pass
        return text.startswith(b"{")

    def skip_space(self) -> bool:
        """Consume bytes up to the next character that is no space. False when there is none."""
        while True:
            if not self.data.startswith(b"{", self.at) and (match := _SPACE.match(self.data, self.at)):
                self.skip(match.end() - self.at)
            if self.left() or not self.more():
                return bool(self.left())

    def starts_with(self, prefix: bytes | tuple[bytes, ...]) -> bool:
        """Report whether the next bytes are this prefix, or one of these, of at most three bytes each."""
        while len(self.data) - self.at < 3 and self.more():
            pass
        return self.data.startswith(prefix, self.at)

    def length_to(self, needle: bytes, limit: int = CHUNK_BYTES) -> int:
        """Bytes up to the end of the next `needle`, searched in about `limit` bytes; -1 when it is not found."""
        seen = 0
        while True:
            found = self.data.find(needle, self.at + seen)
            if found >= 0:
                return found + len(needle) - self.at
            seen = max(self.left() - len(needle) + 1, 0)
            if self.left() >= limit or not self.more():
                return -1
