"""Content by digest on disk: published whole or not at all, verified by hash after a restart, removed when nobody wants it.

    <root>/sha256-<hex>/content/...       what was published
    <root>/sha256-<hex>/manifest.json     its files with sizes and sha256 (olmkit.store.checksums)
    <root>/.staging/<random>/             work of a job that runs, or what is left of one that was killed

Written by `publish`, or in three steps by two processes: the controller makes a folder (`stage`), a job that may write nowhere
else fills it (`fill`), the controller puts it in its place (`place`). Read and swept by controllers. Whatever else lies in `root`
is left alone. All methods block: those that hash or remove much (`check`, `verify`, `sweep`, `collect`, `stage`, `place`) belong
into a thread or a job. Never fetches anything.
"""

from __future__ import annotations

import errno
import logging
import os
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import timedelta
from enum import StrEnum
from pathlib import Path

from olmkit.api.names import is_digest
from olmkit.errors import OlmError, Waiting
from olmkit.store.checksums import (
    CORRUPTION_ERRNOS,
    Checksums,
    FileChecksums,
    Integrity,
    IntegrityCheck,
    check_integrity,
    compute_checksums,
    failed_check,
)
from olmkit.store.folders import create_locked_folder, remove_if_unlocked, remove_tree

STAGING_FOLDER = ".staging"
CONTENT_FOLDER = "content"
CHECKSUMS_FILE = "manifest.json"
DISK_FULL_ERRNOS = {errno.ENOSPC, errno.EDQUOT}
DISK_FAILED_ERRNOS = {errno.EROFS, errno.EIO}
MAX_CHECKSUMS_BYTES = 64 * 1024 * 1024
UNREADABLE_RETRY_DELAY = timedelta(seconds=30)
"""After content could not be read."""

log = logging.getLogger(__name__)


class StoreReason(StrEnum):
    """Why content could not be kept or read."""

    DISK_FULL = "DiskFull"  # ENOSPC or a quota
    DISK_FAILED = "DiskFailed"  # mounted read-only, or an error of the device
    UNUSABLE = "CacheUnusable"  # the folder cannot be made, or what is noted in it cannot be read
    UNREADABLE = "CacheUnreadable"  # what is in it cannot be read now: no file descriptor, no memory, no permission


class Store:
    """Content under `root`, which is made when missing. Several processes may use one root; each digest is published once.

    With `create=False` nothing is made: for a process that only reads there. Raises OlmError(CacheUnusable) when `root` is no
    folder and cannot be made one.
    """

    def __init__(self, root: Path, *, create: bool = True) -> None:
        self._root = root
        self._staging = root / STAGING_FOLDER
        if create:
            try:
                self._staging.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise self._unusable(error) from error

    def path(self, digest: str) -> Path | None:
        """The folder of that content, None when it is not here. Raises ValueError for what is no digest, and OSError when it
        cannot be told now."""
        content = self._home(digest) / CONTENT_FOLDER
        try:
            return content if stat.S_ISDIR(os.stat(content).st_mode) else None
        except OSError as error:
            if error.errno in CORRUPTION_ERRNOS:
                return None
            raise

    def digests(self) -> set[str]:
        """What is here, complete or damaged."""
        names = (entry.name.replace("-", ":", 1) for entry in self._root.iterdir() if entry.is_dir())
        return {name for name in names if is_digest(name)}

    @contextmanager
    def publish(
        self, digest: str, wanted: Checksums | None = None, known: Mapping[str, FileChecksums] | None = None
    ) -> Iterator[Path]:
        """An empty folder to fill; when the block ends it stands under `digest` with its manifest.

        Nothing is left of it when the block raises. Content of that digest that is here already is kept as it is. Raises
        Waiting(DiskFull, DiskFailed) when the disk is, also for an OSError of the block itself; ValueError when what the block
        left is not what `wanted` says. The digest is a name: whether content and name belong together is the caller's to check.
        Files that are in `known` by the end were hashed while they were written: they are not read again if they have that size.
        """
        home = self._home(digest)
        with self.stage() as work:
            with fill_staging(work, digest, wanted, known) as content:
                yield content
            # Not flushed to the disk: what a power cut tears does not verify, and is fetched again.
            _place(work, home)

    @contextmanager
    def stage(self) -> Iterator[Path]:
        """An empty folder for `fill` and `place`, removed at the end unless it was placed. It is in use as long as this process
        lives: what a killed one leaves goes with the next `sweep`. Raises Waiting(DiskFull, DiskFailed) and
        OlmError(CacheUnusable).
        """
        with _disk_said():
            try:
                self._staging.mkdir(parents=True, exist_ok=True)  # somebody may have tidied up
            except (FileExistsError, NotADirectoryError) as error:
                raise self._unusable(error) from error
            self.remove_abandoned_staging()
            with self._work() as work:
                yield work

    def publish_staged(self, work: Path, digest: str) -> None:
        """What another process filled `work` with, a folder of `stage`, stands under `digest` from now on, in place of what was
        there: whether that may go is the caller's to check.

        Sizes are compared with the manifest, bytes are not: they are verified before the content is used. Raises ValueError when
        the folder does not hold a content and its manifest and nothing else, Waiting when it cannot be read or the disk fails.
        """
        home = self._home(digest)
        with _disk_said():
            if sorted(os.listdir(work)) != [CONTENT_FOLDER, CHECKSUMS_FILE]:
                raise ValueError("the folder does not hold a content and its manifest, and nothing else")
            if not stat.S_ISDIR(os.lstat(work / CONTENT_FOLDER).st_mode):
                raise ValueError("the content is no folder")
            found = check_integrity(
                work / CONTENT_FOLDER, Checksums.parse(_read_manifest(work), digest), only_sizes=True
            )
            if found.state is Integrity.UNKNOWN:
                raise unreadable_error(found.why)
            if found.state is Integrity.CORRUPT:
                raise ValueError(f"not what its manifest says: {found.why}")
            self.remove(digest)
            _place(work, home)

    def checksums(self, digest: str) -> Checksums | None:
        """What was published; None when it is not here or its manifest cannot be read."""
        try:
            return self._manifest(digest)
        except (OSError, ValueError):
            return None

    def check_integrity(self, digest: str, *, only_sizes: bool = False) -> IntegrityCheck:
        """Whether every file that was published is here with the same bytes, and no other; damaged when nothing is here.
        `only_sizes` reads no file but the manifest. Raises nothing for a file that cannot be read: that is State.UNKNOWN."""
        try:
            manifest = self._manifest(digest)
        except (OSError, ValueError, MemoryError) as error:
            return failed_check(error)
        return check_integrity(self._home(digest) / CONTENT_FOLDER, manifest, only_sizes=only_sizes)

    def verify(self, digest: str, *, only_sizes: bool = False) -> bool:
        """Whether that content is intact, as far as `check` looks. Raises Waiting(CacheUnreadable) when that cannot be told now:
        who would fetch the content again, or remove what is here, tries later."""
        found = self.check_integrity(digest, only_sizes=only_sizes)
        if found.state is Integrity.UNKNOWN:
            raise unreadable_error(found.why)
        return found.state is Integrity.INTACT

    def remove(self, digest: str) -> None:
        """Remove that content; nothing happens when it is not here. Files that are open can be read to their end.

        Raises Waiting(DiskFailed) when the disk cannot be written.
        """
        home = self._home(digest)
        with suppress(FileNotFoundError), _disk_said():
            # Out of sight first: what is half removed must not be found under its digest.
            trash = self._staging / f"trash-{os.urandom(8).hex()}"
            home.rename(trash)
            _remove(trash)

    def collect_garbage(self, keep: set[str], older_than: timedelta = timedelta(0)) -> set[str]:
        """Forget all but `keep` and what has been here for less than `older_than`; returns what was removed."""
        removed = set()
        for digest in sorted(self.digests() - keep):
            try:
                if time.time() - self._home(digest).stat().st_ctime >= older_than.total_seconds():
                    self.remove(digest)
                    removed.add(digest)
            except (OSError, OlmError) as error:
                log.warning("content cannot be removed", extra={"digest": digest, "error": str(error)})
        return removed

    def remove_abandoned_staging(self) -> None:
        """Remove what killed jobs and crashes left behind. Work that is under way, in any process, is not touched.

        For the start of a controller; `publish` does it too.
        """
        for entry in self._staging.iterdir():
            with suppress(OSError):
                if entry.is_symlink() or not entry.is_dir():
                    entry.unlink()
                else:
                    remove_if_unlocked(entry)

    def _manifest(self, digest: str) -> Checksums:
        return Checksums.parse(_read_manifest(self._home(digest)), digest)

    def _unusable(self, error: OSError) -> OlmError:
        text = f"content cannot be kept in {self._root}: {error.strerror}: name a folder that can be written"
        return OlmError(StoreReason.UNUSABLE, text)

    def _home(self, digest: str) -> Path:
        if not is_digest(digest):
            raise ValueError(f'"{digest}" is no digest')
        return self._root / digest.replace(":", "-")

    @contextmanager
    def _work(self) -> Iterator[Path]:
        """A folder of our own, locked as long as this process lives, so that sweep knows it is in use."""
        work, lock = create_locked_folder(self._staging)
        try:
            yield work
        finally:
            os.close(lock)
            remove_tree(work)


@contextmanager
def fill_staging(
    work: Path, digest: str, wanted: Checksums | None = None, known: Mapping[str, FileChecksums] | None = None
) -> Iterator[Path]:
    """An empty folder below `work`, which is one of `Store.stage`; when the block ends its manifest is beside it.

    Writes below `work` only. Arguments and errors are those of `Store.publish`.
    """
    with _disk_said():
        content = work / CONTENT_FOLDER
        content.mkdir()
        yield content
        found = compute_checksums(content, digest, known or {})
        if wanted is not None and found != wanted:
            raise ValueError(f"not what the manifest says: {check_integrity(content, wanted).why}")
        (work / CHECKSUMS_FILE).write_bytes(found.to_bytes())


def _read_manifest(home: Path) -> bytes:
    """Raises OSError, also for a link; never waits, whatever is there."""
    with open(os.open(home / CHECKSUMS_FILE, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        return file.read(min(os.fstat(file.fileno()).st_size, MAX_CHECKSUMS_BYTES))


def unreadable_error(why: str) -> Waiting:
    """The error for content that may be intact and cannot be read; `why` is a few words, such as those of a Check."""
    return Waiting(
        StoreReason.UNREADABLE,
        f"the content that is kept on the disk cannot be read now ({why})",
        UNREADABLE_RETRY_DELAY,
    )


def raise_unless_corrupt(error: OSError) -> None:
    """Raises Waiting(CacheUnreadable) for an error that says nothing about the content."""
    if error.errno not in CORRUPTION_ERRNOS:
        raise unreadable_error(error.strerror or str(error)) from error


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
        remove_tree(path)


@contextmanager
def _disk_said() -> Iterator[None]:
    """A disk that is full or cannot be written is no surprise but a sentence."""
    try:
        yield
    except OSError as error:
        if error.errno in DISK_FULL_ERRNOS:
            text = "the disk that keeps the content is full: free some space or give the cache a larger volume"
            raise Waiting(StoreReason.DISK_FULL, text, timedelta(minutes=1)) from error
        if error.errno in DISK_FAILED_ERRNOS:
            text = f"the disk that keeps the content cannot be used ({error.strerror}): mount it to be written, or replace it"
            raise Waiting(StoreReason.DISK_FAILED, text, timedelta(minutes=1)) from error
        raise
