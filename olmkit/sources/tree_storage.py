"""Where the files of a tree go as they come out of layers: onto the disk, or wherever another Storage takes them.

Called by tree.py only, which decides what replaces, hides or means what: a storage does as it is told. Paths are relative and
have no `..`; their folders were made before.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Protocol

COPY_BYTES = 1024 * 1024


class ByteReader(Protocol):
    """The bytes of one file. May give fewer than asked for, and none only at the end."""

    def read(self, size: int, /) -> bytes:
        """At most `size` bytes."""
        ...


class TreeStorage(Protocol):
    """Keeps files by path. `folder` is where files without a name may be made meanwhile."""

    folder: Path

    def make_folder(self, path: str) -> None:
        """A folder that is not there yet."""
        ...

    def remove_folder(self, path: str) -> None:
        """A folder that is empty by now."""
        ...

    def write(self, path: str, data: ByteReader) -> None:
        """A file that is not there yet; `data` need not be read to its end."""
        ...

    def remove(self, path: str) -> None:
        """A file."""
        ...

    def link(self, path: str, target: str) -> None:
        """A second name, which is not there yet, of the file `target`."""
        ...


class DiskStorage:
    """Below a folder; never follows a link, for there are none."""

    def __init__(self, root: Path) -> None:
        self.folder = root

    def make_folder(self, path: str) -> None:
        """See Storage, as all below."""
        os.mkdir(self._at(path), 0o755)

    def remove_folder(self, path: str) -> None:
        os.rmdir(self._at(path))

    def write(self, path: str, data: ByteReader) -> None:
        descriptor = os.open(self._at(path), os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644)
        with os.fdopen(descriptor, "wb", buffering=0) as out:
            while chunk := data.read(COPY_BYTES):
                written = 0
                while written < len(chunk):
                    written += out.write(memoryview(chunk)[written:])

    def remove(self, path: str) -> None:
        os.unlink(self._at(path))

    def link(self, path: str, target: str) -> None:
        os.link(self._at(target), self._at(path))

    def _at(self, path: str) -> str:
        return os.path.join(self.folder, path)
