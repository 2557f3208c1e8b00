"""Writes files in directories that somebody else may have prepared, such as a checkout: each whole or not at all, and never
through a link that leads outside.

A file is written beside its place, as a new file, and renamed. What another process has left at that place is removed, and one
that still writes there is waited for. The place of a file is never a link that is followed: it is replaced.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO


def replace_file(path: Path, data: bytes) -> None:
    """Write the file in a directory that exists. Raises OSError."""
    with replaced_file(path) as file:
        file.write(data)


@contextlib.contextmanager
def replaced_file(path: Path) -> Iterator[IO[bytes]]:
    """A file to write to, which takes the place of `path` at the end of the block, with the permissions of the file that was
    there. After an error the old file stays. Raises OSError."""
    partial = partial_file(path)
    with open(_new_file(partial), "wb") as file:
        try:
            yield file
            file.flush()
            if path.is_file() and not path.is_symlink():
                os.fchmod(file.fileno(), path.stat().st_mode & 0o777)
            os.fsync(file.fileno())
            if path.is_dir() and not path.is_symlink():
                raise IsADirectoryError(errno.EISDIR, "a directory is in the place of the file", str(path))
            partial.replace(path)
        except BaseException as error:
            partial.unlink(missing_ok=True)
            if isinstance(error, OSError) and error.filename is None:
                error.filename = str(path)  # that of a full disk names no file
            raise


def partial_file(path: Path) -> Path:
    """The place of a file while it is written."""
    return path.with_name(f".{path.name}.partial")


def is_partial(path: Path) -> bool:
    """Report whether a path is the place of another file while it is written."""
    return path.name.startswith(".") and path.suffix == ".partial" and not path.is_symlink()


def _new_file(path: Path) -> int:
    """The descriptor of a new file, which is locked until it is closed. Raises OSError."""
    while True:
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        except FileExistsError:
            _remove_left(path)
            continue
        # Until it is locked, another process may take it for one that was left.
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if _is_at(path, descriptor):
            return descriptor
        os.close(descriptor)


def _remove_left(path: Path) -> None:
    """Remove what is at the place, when no process writes to it. Raises OSError."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    except OSError:  # a link, or a file that may not be read
        path.unlink(missing_ok=True)
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if _is_at(path, descriptor):
            path.unlink()
    finally:
        os.close(descriptor)


def _is_at(path: Path, descriptor: int) -> bool:
    """Report whether the path is the open file."""
    try:
        return os.path.samestat(path.lstat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def make_directory(path: Path, *roots: Path) -> None:
    """Make the directory and those above it. Raises OSError, also if a link leads it out of a root whose path it begins with."""
    for root in roots:
        if _is_below(os.path.abspath(path), os.path.abspath(root)) and not _is_below(
            os.path.realpath(path), os.path.realpath(root)
        ):
            raise OSError(errno.ELOOP, f"a link in this path leads out of {root}: remove the link", str(path))
    path.mkdir(parents=True, exist_ok=True)


def make_own_directory(path: Path) -> None:
    """Make the directory in one that exists; a link in its place is replaced. Raises OSError."""
    if path.is_symlink():
        path.unlink()
    path.mkdir(exist_ok=True)


def _is_below(path: str, root: str) -> bool:
    return Path(path).is_relative_to(root)


@contextlib.contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Let no other command change what is in the directory until the block ends; waits for one that does. Raises OSError."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
