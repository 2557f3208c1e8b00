"""Content by digest on disk: published whole or not at all, verified by hash after a restart, removed when nobody wants it.

    <root>/sha256-<hex>/content/...       what was published
    <root>/sha256-<hex>/manifest.json     its files with sizes and sha256
    <root>/.staging/<random>/             work of a job that runs, or what is left of one that was killed

Written by jobs (`publish`), read and swept by controllers. All methods block: those that hash or remove much (`verify`, `sweep`,
`collect`) belong into a thread or a job. Never fetches anything.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from enum import StrEnum
from pathlib import Path

import orjson

from olmkit.errors import Waiting

DIGEST = re.compile(r"(sha256:[0-9a-f]{64}|sha384:[0-9a-f]{96}|sha512:[0-9a-f]{128})")
STAGING = ".staging"
CONTENT = "content"
MANIFEST = "manifest.json"
FULL = {errno.ENOSPC, errno.EDQUOT}
READ_SIZE = 1024 * 1024


class Reason(StrEnum):
    """Why content could not be kept."""

    DISK_FULL = "DiskFull"  # ENOSPC or a quota


class Store:
    """Content under `root`, which is made when missing. Several processes may use one root; each digest is published once."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._staging = root / STAGING
        self._staging.mkdir(parents=True, exist_ok=True)

    def path(self, digest: str) -> Path | None:
        """The folder of that content, None when it is not here. Raises ValueError for what is no digest."""
        content = self._home(digest) / CONTENT
        return content if content.is_dir() else None

    def digests(self) -> set[str]:
        """What is here, complete or damaged."""
        names = (entry.name.replace("-", ":", 1) for entry in self._root.iterdir() if entry.is_dir())
        return {name for name in names if DIGEST.fullmatch(name)}

    @contextmanager
    def publish(self, digest: str) -> Iterator[Path]:
        """An empty folder to fill; when the block ends it stands under `digest` with its manifest.

        Nothing is left of it when the block raises. Content of that digest that is here already is kept as it is. Raises
        Waiting(DiskFull) when the disk is, also for an OSError of the block itself. The digest is a name: whether content and
        name belong together is the caller's to check.
        """
        home = self._home(digest)
        self.sweep()
        with _disk_full_said(), self._work() as work:
            content = work / CONTENT
            content.mkdir()
            yield content
            (work / MANIFEST).write_bytes(orjson.dumps(_listing(content), option=orjson.OPT_SORT_KEYS))
            # Not flushed to the disk: what a power cut tears does not verify, and is fetched again.
            try:
                work.rename(home)
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                    raise

    def verify(self, digest: str) -> bool:
        """Whether every file that was published is here with the same bytes, and no other. False when nothing is here."""
        home = self._home(digest)
        try:
            wanted = orjson.loads((home / MANIFEST).read_bytes())
            return bool(_listing(home / CONTENT) == wanted)
        except (OSError, ValueError):  # orjson's is a ValueError
            return False

    def forget(self, digest: str) -> None:
        """Remove that content; nothing happens when it is not here. Files that are open can be read to their end."""
        with suppress(FileNotFoundError):
            # Out of sight first: what is half removed must not be found under its digest.
            trash = self._staging / f"trash-{os.urandom(8).hex()}"
            self._home(digest).rename(trash)
            shutil.rmtree(trash, ignore_errors=True)

    def collect(self, keep: set[str]) -> set[str]:
        """Forget all but `keep`; returns what was removed."""
        removed = self.digests() - keep
        for digest in sorted(removed):
            self.forget(digest)
        return removed

    def sweep(self) -> None:
        """Remove what killed jobs and crashes left behind. Work that is under way, in any process, is not touched.

        For the start of a controller; `publish` does it too.
        """
        for entry in self._staging.iterdir():
            with suppress(OSError):
                lock = os.open(entry, os.O_RDONLY | os.O_DIRECTORY)
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(entry, ignore_errors=True)
                finally:
                    os.close(lock)

    def _home(self, digest: str) -> Path:
        if not DIGEST.fullmatch(digest):
            raise ValueError(f'"{digest}" is no digest')
        return self._root / digest.replace(":", "-")

    @contextmanager
    def _work(self) -> Iterator[Path]:
        """A folder of our own, locked as long as this process lives, so that sweep knows it is in use."""
        while True:
            work = Path(tempfile.mkdtemp(dir=self._staging))
            try:
                lock = os.open(work, os.O_RDONLY | os.O_DIRECTORY)
            except FileNotFoundError:
                continue  # swept between its making and here
            fcntl.flock(lock, fcntl.LOCK_EX)
            if work.is_dir():  # else swept between here and its lock
                break
            os.close(lock)
        try:
            yield work
        finally:
            os.close(lock)
            shutil.rmtree(work, ignore_errors=True)


def _listing(folder: Path) -> dict[str, list[int | str]]:
    """Size and sha256 of every file below, by its path. Raises OSError for links, ValueError for names that are not UTF-8."""
    found: dict[str, list[int | str]] = {}
    for parent, folders, names in os.walk(folder, onerror=_raise):
        for name in folders:
            if os.path.islink(os.path.join(parent, name)):
                raise OSError(errno.ELOOP, "a link among the content")
        for name in names:
            path = os.path.join(parent, name)
            with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
                checksum = hashlib.file_digest(file, "sha256").hexdigest()
                found[_text(os.path.relpath(path, folder))] = [os.fstat(file.fileno()).st_size, checksum]
    return found


def _text(path: str) -> str:
    try:
        path.encode()
    except UnicodeEncodeError:
        raise ValueError(f"the name of a file is not UTF-8: {path!a}") from None
    return path


def _raise(error: OSError) -> None:
    raise error


@contextmanager
def _disk_full_said() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in FULL:
            raise
        text = "the disk that keeps the content is full: free some space or give the cache a larger volume"
        raise Waiting(Reason.DISK_FULL, text, timedelta(minutes=1)) from error
