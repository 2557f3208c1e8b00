"""Helpers for directories and files: create a locked directory, remove a tree of any content, write a file atomically."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

_OPEN_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def create_locked_directory(parent: Path, prefix: str | None = None) -> tuple[Path, int]:
    """Create a directory and lock it; returns its path and the descriptor of the lock, which the caller closes. Raises OSError.

    Another process may take the directory for abandoned and remove it before it is locked: another one is created then.
    """
    while True:
        directory = Path(tempfile.mkdtemp(dir=parent, prefix=prefix))
        with suppress(FileNotFoundError):
            lock = os.open(directory, _OPEN_FLAGS)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX)
                if os.path.samestat(os.fstat(lock), directory.stat()):
                    return directory, lock
            except BaseException:
                os.close(lock)
                raise
            os.close(lock)


def remove_if_unlocked(directory: Path) -> None:
    """Remove a directory that no process has locked. Raises OSError, also when one has."""
    lock = os.open(directory, _OPEN_FLAGS)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        remove_tree(directory)
    finally:
        os.close(lock)


def remove_tree(path: Path) -> None:
    """Remove as much as possible. Directories nested deeper than Python can follow stay; they do not keep the rest from
    removal."""
    with suppress(RecursionError):
        shutil.rmtree(path, ignore_errors=True)


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file that only this user may read; readers see the old file or the new one. Creates the directory when missing.

    Not flushed to the disk. Raises OSError; no partial file is left then.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(name, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise
