"""A stream's bytes on their way through the reader of documents, with their place in the file.

Called by olmkit.fbc.documents. Holds a chunk, or as much as one document has. Knows no format. Pure.
"""

from __future__ import annotations

import re
from typing import Final, Protocol

CHUNK: Final = 1024 * 1024
"""Bytes that are asked for at once."""
_SPACE = re.compile(rb"\s+")


class Readable(Protocol):
    """A binary stream; may return fewer bytes than asked for, and none only at its end."""

    def read(self, size: int, /) -> bytes:
        """At most `size` bytes."""
        ...


class Buffer:
    """What was read of a stream and not yet taken, from `at` on; `line` is the line of `at`.

    `_dropped` is how many characters of the line of `data` stood before `data`.
    `unguessed`: of the next bytes so many are known not to end with the object they begin with; a guess would be wrong again.
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
        """Read on. False at the end of the stream. Moves `at` to 0."""
        left = self.left()
        # Twice as much each time: what a long document was copied by then is no more than the document.
        chunk = b"" if self.ended else self._stream.read(max(CHUNK, left))
        self.ended = not chunk
        self._dropped = self.column() - 1
        self.data = self.data[self.at :] + chunk if left else chunk
        self.at = 0
        return bool(chunk)

    def column(self) -> int:
        """The column of `at`, from 1, in characters; what is no UTF-8 as the U+FFFD it becomes. Costs its line's length."""
        start = self.data.rfind(b"\n", 0, self.at) + 1
        dropped = 0 if start else self._dropped
        return dropped + len(self.data[start : self.at].decode(errors="replace")) + 1

    def left(self) -> int:
        """Bytes read and not taken."""
        return len(self.data) - self.at

    def view(self, length: int) -> memoryview:
        """The next bytes, without copying them."""
        return memoryview(self.data)[self.at : self.at + length]

    def skip(self, length: int, lines: int | None = None) -> None:
        """Let the next bytes go; `lines` is how many newlines they hold, if that is known."""
        if lines is None:
            lines = self.data.count(b"\n", self.at, self.at + length)
        self.line += lines
        self.unguessed = max(self.unguessed - length, 0)
        self.at += length

    def take(self, length: int) -> bytes:
        """The next bytes, which are then gone."""
        taken = self.data[self.at : self.at + length]
        self.skip(length)
        return taken

    def opens_with_brace(self) -> bool:
        """Whether the first character that is no space is `{`, if it comes early; takes nothing."""
        while not (text := self.data.lstrip()) and self.left() < CHUNK and self.more():
            pass
        return text.startswith(b"{")

    def skip_space(self) -> bool:
        """Go to the next character that is no space. False when there is none."""
        while True:
            if not self.data.startswith(b"{", self.at) and (match := _SPACE.match(self.data, self.at)):
                self.skip(match.end() - self.at)
            if self.left() or not self.more():
                return bool(self.left())

    def starts_with(self, prefix: bytes | tuple[bytes, ...]) -> bool:
        """Whether that, or one of those, comes next; they have at most three bytes."""
        while len(self.data) - self.at < 3 and self.more():
            pass
        return self.data.startswith(prefix, self.at)

    def length_to(self, needle: bytes, limit: int = CHUNK) -> int:
        """Bytes up to the end of the next `needle`, looked for in about `limit` bytes; -1 when it is not there."""
        seen = 0
        while True:
            found = self.data.find(needle, self.at + seen)
            if found >= 0:
                return found + len(needle) - self.at
            seen = max(self.left() - len(needle) + 1, 0)
            if self.left() >= limit or not self.more():
                return -1
