"""Folders that others filled are removed with whatever lies in them, folders are locked, and files are written whole.

For olmkit.store.store, olmkit.jobs, olmkit.tls and operator_controller.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def create_locked_folder(parent: Path, prefix: str | None = None) -> tuple[Path, int]:
    """A new folder and the descriptor that locks it, to be closed by the caller. Raises OSError.

    Until it is locked another process may take it for abandoned and remove it: then another one is made.
    """
    while True:
        folder = Path(tempfile.mkdtemp(dir=parent, prefix=prefix))
        with suppress(FileNotFoundError):
            lock = os.open(folder, _FLAGS)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX)
                if os.path.samestat(os.fstat(lock), folder.stat()):
                    return folder, lock
            except BaseException:
                os.close(lock)
                raise
            os.close(lock)


def remove_if_unlocked(folder: Path) -> None:
    """Remove a folder that nobody has locked. Raises OSError, also when somebody has."""
    lock = os.open(folder, _FLAGS)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        remove_tree(folder)
    finally:
        os.close(lock)


def remove_tree(path: Path) -> None:
    """As far as that can be done. Folders that lie deeper than Python can follow stay, and keep nothing else from its end."""
    with suppress(RecursionError):
        shutil.rmtree(path, ignore_errors=True)


def write_atomically(path: Path, data: bytes) -> None:
    """A file that only this user may read, in a folder that is made when missing: whoever reads finds the old one or the new.

    Not flushed to the disk. Raises OSError, and leaves nothing then.
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
