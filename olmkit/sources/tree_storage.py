"""Stores the files of a Tree as they are unpacked: on disk (DiskStorage), or in another TreeStorage, such as catalogd's.

Called by tree.py only, which resolves replacements, whiteouts and links, and enforces the limits; a storage only carries out its
calls. Paths are relative, without `..`, and their directories exist.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Protocol

COPY_BYTES = 1024 * 1024


class ByteReader(Protocol):
    """The bytes of one file. A read may return fewer bytes than requested, and none only at the end."""

    def read(self, size: int, /) -> bytes:
        """Read at most `size` bytes."""
        ...


class TreeStorage(Protocol):
    """Stores files by path. `directory` is for temporary files without a name."""

    directory: Path

    def make_directory(self, path: str) -> None:
        """Make a directory that does not exist yet."""
        ...

    def remove_directory(self, path: str) -> None:
        """Remove an empty directory."""
        ...

    def write(self, path: str, data: ByteReader) -> None:
        """Write a file that does not exist yet; `data` need not be read to its end."""
        ...

    def remove(self, path: str) -> None:
        """Remove a file."""
        ...

    def link(self, path: str, target: str) -> None:
        """Make a hard link, which does not exist yet, to the file `target`."""
        ...


class DiskStorage:
    """Stores files below a directory. There are no symbolic links below it."""

    def __init__(self, root: Path) -> None:
        self.directory = root

    def make_directory(self, path: str) -> None:
        """See TreeStorage."""
        os.mkdir(self._at(path), 0o755)

    def remove_directory(self, path: str) -> None:
        """See TreeStorage."""
        os.rmdir(self._at(path))

    def write(self, path: str, data: ByteReader) -> None:
        """See TreeStorage."""
        descriptor = os.open(self._at(path), os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644)
        with os.fdopen(descriptor, "wb", buffering=0) as out:
            while chunk := data.read(COPY_BYTES):
                written = 0
                while written < len(chunk):
                    written += out.write(memoryview(chunk)[written:])

    def remove(self, path: str) -> None:
        """See TreeStorage."""
        os.unlink(self._at(path))

    def link(self, path: str, target: str) -> None:
        """See TreeStorage."""
        os.link(self._at(target), self._at(path))

    def _at(self, path: str) -> str:
        return os.path.join(self.directory, path)
