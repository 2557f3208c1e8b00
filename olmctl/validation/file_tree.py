"""The files of a bundle in a directory of this machine, bounded, without what lies outside it.

Links are followed within the directory only. Devices, pipes and sockets are never opened.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

MAX_FILES = 10_000
MAX_BYTES = 64 * 1024**2
"""Bytes of all files together: what rukpak stores of one bundle."""
MAX_DEPTH = 50
"""Levels of directories."""
NO_SUCH_FILE = "no such file or directory"


class TooLarge(ValueError):
    """A directory has more files or bytes than a bundle may have."""


@dataclass(frozen=True)
class FileTree:
    """The content of a directory by paths relative to it."""

    files: Mapping[str, bytes] = field(repr=False)
    directories: frozenset[str] = frozenset()
    unreadable: Mapping[str, str] = field(default_factory=dict)
    """Links that lead nowhere, outside or to a directory, and what is no file -> why it cannot be read."""

    def names(self, directory: str) -> list[str]:
        """The names in a directory, sorted as Go sorts them; none if there is no such directory."""
        return self._names.get(directory, [])

    @cached_property
    def _names(self) -> Mapping[str, list[str]]:
        found: dict[str, list[str]] = {}
        for path in (*self.files, *self.unreadable, *self.directories):
            directory, _, name = path.rpartition("/")
            found.setdefault(directory, []).append(name)
        return {directory: sorted(names, key=os.fsencode) for directory, names in found.items()}

    def walk(self, directory: str) -> Iterator[str]:
        """The paths of all files below a directory, those that cannot be read too, in the order of Go's Walk. Hidden directories
        are left out."""
        for name in self.names(directory):
            path = f"{directory}/{name}" if directory else name
            if path not in self.directories:
                yield path
            elif not name.startswith("."):
                yield from self.walk(path)


def read_tree(root: Path) -> FileTree:
    """The files below `root`. Raises OSError if a directory or file may not be read, TooLarge."""
    inside = os.path.realpath(root)
    files: dict[str, bytes] = {}
    directories: set[str] = set()
    unreadable: dict[str, str] = {}
    left = MAX_BYTES
    pending = [""]
    while pending:
        directory = pending.pop()
        with os.scandir(os.path.join(inside, directory)) as entries:
            for entry in entries:
                path = f"{directory}/{entry.name}" if directory else entry.name
                if entry.is_dir(follow_symlinks=False):
                    directories.add(path)
                    pending.append(path)
                elif problem := _problem(entry, inside):
                    unreadable[path] = problem
                else:
                    files[path] = _read(entry.path, left)
                    left -= len(files[path])
                if path.count("/") > MAX_DEPTH:
                    raise TooLarge(f"{root} has more than {MAX_DEPTH} levels of directories")
                if len(files) + len(directories) + len(unreadable) > MAX_FILES:
                    raise TooLarge(f"{root} has more than {MAX_FILES:,} files")
                if left < 0:
                    raise TooLarge(f"{root} has more than {MAX_BYTES:,} bytes")
    return FileTree(files, frozenset(directories), unreadable)


def _problem(entry: os.DirEntry[str], inside: str) -> str:
    """Explain why this is no file to read; empty if it is one."""
    if entry.is_symlink():
        meant = os.path.realpath(entry.path)
        if meant != inside and not meant.startswith(inside.rstrip("/") + "/"):
            return "the link leads outside the bundle"
    try:
        mode = entry.stat().st_mode
    except OSError:
        return NO_SUCH_FILE
    if stat.S_ISREG(mode):
        return ""
    return "is a directory" if stat.S_ISDIR(mode) else "is no regular file"


def _read(path: str, limit: int) -> bytes:
    """The first limit + 1 bytes of the file."""
    with open(path, "rb") as file:
        return file.read(limit + 1)
