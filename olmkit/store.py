"""Content by digest on disk: published whole or not at all, verified by hash after a restart, removed when nobody wants it.

    <root>/sha256-<hex>/content/...       what was published
    <root>/sha256-<hex>/manifest.json     its files with sizes and sha256 (olmkit.store_manifest)
    <root>/.staging/<random>/             work of a job that runs, or what is left of one that was killed

Written by jobs (`publish`), read and swept by controllers. Whatever else lies in `root` is left alone. All methods block: those
that hash or remove much (`fault`, `verify`, `sweep`, `collect`) belong into a thread or a job. Never fetches anything.
"""

from __future__ import annotations

import errno
import fcntl
import logging
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import timedelta
from enum import StrEnum
from pathlib import Path

from olmkit.errors import OlmError, Waiting
from olmkit.names import is_digest
from olmkit.store_manifest import File, Manifest, describe, difference, difference_of_sizes

STAGING = ".staging"
CONTENT = "content"
MANIFEST = "manifest.json"
FULL = {errno.ENOSPC, errno.EDQUOT}
FAILED = {errno.EROFS, errno.EIO}
MANIFEST_LIMIT = 64 * 1024 * 1024

log = logging.getLogger(__name__)


class Reason(StrEnum):
    """Why content could not be kept."""

    DISK_FULL = "DiskFull"  # ENOSPC or a quota
    DISK_FAILED = "DiskFailed"  # mounted read-only, or an error of the device
    UNUSABLE = "CacheUnusable"  # the folder cannot be made


class Store:
    """Content under `root`, which is made when missing. Several processes may use one root; each digest is published once.

    Raises OlmError(CacheUnusable) when `root` is no folder and cannot be made one.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._staging = root / STAGING
        try:
            self._staging.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            text = f"content cannot be kept in {root}: {error.strerror}: name a folder that can be written"
            raise OlmError(Reason.UNUSABLE, text) from error

    def path(self, digest: str) -> Path | None:
        """The folder of that content, None when it is not here. Raises ValueError for what is no digest."""
        content = self._home(digest) / CONTENT
        return content if content.is_dir() else None

    def digests(self) -> set[str]:
        """What is here, complete or damaged."""
        names = (entry.name.replace("-", ":", 1) for entry in self._root.iterdir() if entry.is_dir())
        return {name for name in names if is_digest(name)}

    @contextmanager
    def publish(
        self, digest: str, wanted: Manifest | None = None, known: Mapping[str, File] | None = None
    ) -> Iterator[Path]:
        """An empty folder to fill; when the block ends it stands under `digest` with its manifest.

        Nothing is left of it when the block raises. Content of that digest that is here already is kept as it is. Raises
        Waiting(DiskFull, DiskFailed) when the disk is, also for an OSError of the block itself; ValueError when what the block
        left is not what `wanted` says. The digest is a name: whether content and name belong together is the caller's to check.
        Files that are in `known` by the end were hashed while they were written: they are not read again if they have that size.
        """
        home = self._home(digest)
        with _disk_said():
            self._staging.mkdir(parents=True, exist_ok=True)  # somebody may have tidied up
            self.sweep()
            with self._work() as work:
                content = work / CONTENT
                content.mkdir()
                yield content
                found = describe(content, digest, known or {})
                if wanted is not None and found != wanted:
                    raise ValueError(f"not what the manifest says: {difference(content, wanted)}")
                (work / MANIFEST).write_bytes(found.to_bytes())
                # Not flushed to the disk: what a power cut tears does not verify, and is fetched again.
                _place(work, home)

    def manifest(self, digest: str) -> Manifest | None:
        """What was published; None when it is not here or its manifest cannot be read."""
        try:
            return self._manifest(digest)
        except (OSError, ValueError):
            return None

    def fault(self, digest: str, *, only_sizes: bool = False) -> str:
        """What is wrong with that content, in a few words; "" when every file that was published is here with the same bytes,
        and no other. `only_sizes` reads no file but the manifest."""
        try:
            manifest = self._manifest(digest)
        except OSError as error:
            return f"{MANIFEST}: {error.strerror}"
        except ValueError as error:
            return str(error)
        content = self._home(digest) / CONTENT
        return difference_of_sizes(content, manifest) if only_sizes else difference(content, manifest)

    def verify(self, digest: str) -> bool:
        """Whether every file that was published is here with the same bytes, and no other. False when nothing is here."""
        return not self.fault(digest)

    def forget(self, digest: str) -> None:
        """Remove that content; nothing happens when it is not here. Files that are open can be read to their end.

        Raises Waiting(DiskFailed) when the disk cannot be written.
        """
        home = self._home(digest)
        with suppress(FileNotFoundError), _disk_said():
            # Out of sight first: what is half removed must not be found under its digest.
            trash = self._staging / f"trash-{os.urandom(8).hex()}"
            home.rename(trash)
            _remove(trash)

    def collect(self, keep: set[str], older_than: timedelta = timedelta(0)) -> set[str]:
        """Forget all but `keep` and what has been here for less than `older_than`; returns what was removed."""
        removed = set()
        for digest in sorted(self.digests() - keep):
            try:
                if time.time() - self._home(digest).stat().st_ctime >= older_than.total_seconds():
                    self.forget(digest)
                    removed.add(digest)
            except (OSError, OlmError) as error:
                log.warning("content cannot be removed", extra={"digest": digest, "error": str(error)})
        return removed

    def sweep(self) -> None:
        """Remove what killed jobs and crashes left behind. Work that is under way, in any process, is not touched.

        For the start of a controller; `publish` does it too.
        """
        for entry in self._staging.iterdir():
            with suppress(OSError):
                if entry.is_symlink() or not entry.is_dir():
                    entry.unlink()
                    continue
                lock = os.open(entry, os.O_RDONLY | os.O_DIRECTORY)
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(entry, ignore_errors=True)
                finally:
                    os.close(lock)

    def _manifest(self, digest: str) -> Manifest:
        with open(self._home(digest) / MANIFEST, "rb") as file:
            return Manifest.parse(file.read(min(os.fstat(file.fileno()).st_size, MANIFEST_LIMIT)), digest)

    def _home(self, digest: str) -> Path:
        if not is_digest(digest):
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


def _place(work: Path, home: Path) -> None:
    """By rename: whole or not at all. Another's content of that digest stays; anything else in its place goes."""
    try:
        if home.is_symlink() or home.is_file():
            home.unlink()
        work.rename(home)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise


def _remove(path: Path) -> None:
    if path.is_symlink() or not path.is_dir():
        path.unlink(missing_ok=True)
    else:
        shutil.rmtree(path, ignore_errors=True)


@contextmanager
def _disk_said() -> Iterator[None]:
    """A disk that is full or cannot be written is no surprise but a sentence."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            text = "the disk that keeps the content is full: free some space or give the cache a larger volume"
            raise Waiting(Reason.DISK_FULL, text, timedelta(minutes=1)) from error
        if error.errno in FAILED:
            text = f"the disk that keeps the content cannot be used ({error.strerror}): mount it to be written, or replace it"
            raise Waiting(Reason.DISK_FAILED, text, timedelta(minutes=1)) from error
        raise
