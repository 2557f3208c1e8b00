"""Content by digest on disk: published atomically, verified by checksum after a restart, removed when it is unused.

    <root>/sha256-<hex>/content/...       the published files
    <root>/sha256-<hex>/manifest.json     their sizes and sha256 (olmkit.store.checksums)
    <root>/.staging/<random>/             content that a job is writing, or what a killed job left

Content is published by `publish`, or in three steps by two processes: the controller creates a staging directory (`stage`), a job
that may write nowhere else writes the content into it (`fill_staging`), the controller publishes it (`publish_staged`). Other
files in `root` are left alone. All methods block: run those that hash or remove many files (`check_integrity`, `verify`,
`remove_abandoned_staging`, `collect_garbage`, `stage`, `publish_staged`) in a thread or a job. Never fetches anything.
"""

from __future__ import annotations

import errno
import logging
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
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
from olmkit.store.directories import create_locked_directory, remove_if_unlocked, remove_tree
from olmkit.store.disk_errors import disk_errors_as_waiting
from olmkit.stored_times import has_passed

STAGING_DIRECTORY = ".staging"
CONTENT_DIRECTORY = "content"
CHECKSUMS_FILE = "manifest.json"
MAX_CHECKSUMS_BYTES = 64 * 1024 * 1024
UNREADABLE_RETRY_DELAY = timedelta(seconds=30)
"""The delay before content that could not be read is read again."""

log = logging.getLogger(__name__)


class StoreReason(StrEnum):
    """The reasons why content could not be stored or read; for a full or failed disk see olmkit.store.disk_errors."""

    UNUSABLE = "CacheUnusable"  # the directory cannot be created, or its state file cannot be read
    UNREADABLE = "CacheUnreadable"  # its files cannot be read now: no file descriptor, no memory, no permission


class Store:
    """Content in the directory `root`, which is created when missing. Several processes may share it; a digest is published once.

    With `create=False` no directory is created, for a process that only reads. Raises OlmError(CacheUnusable) when `root` is
    not a directory and cannot be created.
    """

    def __init__(self, root: Path, *, create: bool = True) -> None:
        self._root = root
        self._staging = root / STAGING_DIRECTORY
        if create:
            try:
                self._staging.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise self._unusable(error) from error

    def path(self, digest: str) -> Path | None:
        """The directory of the content, None when it is not stored.

        Raises ValueError when `digest` is not a digest, and OSError when the disk cannot be read.
        """
        content = self._home(digest) / CONTENT_DIRECTORY
        try:
            return content if stat.S_ISDIR(os.stat(content).st_mode) else None
        except OSError as error:
            if error.errno in CORRUPTION_ERRNOS:
                return None
            raise

    def digests(self) -> set[str]:
        """The digests of all stored content, intact or corrupt."""
        names = (entry.name.replace("-", ":", 1) for entry in self._root.iterdir() if entry.is_dir())
        return {name for name in names if is_digest(name)}

    @contextmanager
    def publish(
        self, digest: str, expected: Checksums | None = None, hashed: Mapping[str, FileChecksums] | None = None
    ) -> Iterator[Path]:
        """Yield an empty directory for the content; when the block ends, it is published under `digest` with its checksums.

        Nothing is published when the block raises. Content that is already stored under the digest is kept unchanged. The digest
        is only a name: the caller checks that it belongs to the content. Files that are in `hashed` when the block ends were
        hashed while they were written: they are not read again if they have the size given there.

        Raises Waiting(DiskFull, DiskFailed) for a full or failed disk, also for an OSError that the block raises, and ValueError
        when the content differs from `expected`.
        """
        home = self._home(digest)
        with self.stage() as work:
            with fill_staging(work, digest, expected, hashed) as content:
                yield content
            # Not flushed to the disk: content that a power cut truncates fails verification and is fetched again.
            _rename(work, home)

    @contextmanager
    def stage(self) -> Iterator[Path]:
        """Yield an empty directory for `fill_staging` and `publish_staged`, removed at the end unless it was published.

        It is locked while this process runs: a directory that a killed process left is removed by `remove_abandoned_staging`.
        Raises Waiting(DiskFull, DiskFailed) and OlmError(CacheUnusable).
        """
        with disk_errors_as_waiting():
            try:
                self._staging.mkdir(parents=True, exist_ok=True)  # it may have been removed
            except (FileExistsError, NotADirectoryError) as error:
                raise self._unusable(error) from error
            self.remove_abandoned_staging()
            with self._locked_staging() as work:
                yield work

    def publish_staged(self, work: Path, digest: str) -> None:
        """Publish `work`, a directory of `stage` that another process has filled, under `digest`; it replaces the stored content.

        The caller checks that the stored content may be replaced. Sizes are compared with the checksums file; bytes are not, they
        are verified before the content is used. Raises ValueError when the directory holds anything but a content and its
        checksums file, and Waiting when it cannot be read or the disk fails.
        """
        home = self._home(digest)
        with disk_errors_as_waiting():
            if sorted(os.listdir(work)) != [CONTENT_DIRECTORY, CHECKSUMS_FILE]:
                raise ValueError("the directory does not hold exactly a content and its checksums file")
            if not stat.S_ISDIR(os.lstat(work / CONTENT_DIRECTORY).st_mode):
                raise ValueError("the content is not a directory")
            found = check_integrity(
                work / CONTENT_DIRECTORY, Checksums.parse(_read_checksums_file(work), digest), only_sizes=True
            )
            if found.state is Integrity.UNKNOWN:
                raise unreadable_error(found.why)
            if found.state is Integrity.CORRUPT:
                raise ValueError(f"the content differs from its checksums file: {found.why}")
            self.remove(digest)
            _rename(work, home)

    def checksums(self, digest: str) -> Checksums | None:
        """The checksums of the content; None when it is not stored or its checksums file cannot be read."""
        try:
            return self._read_checksums(digest)
        except (OSError, ValueError):
            return None

    def check_integrity(self, digest: str, *, only_sizes: bool = False) -> IntegrityCheck:
        """Check whether exactly the published files are stored, with the same bytes; Integrity.CORRUPT when the content is
        missing.

        `only_sizes` compares names and sizes, and reads the checksums file only. A file that cannot be read raises no error: the
        result is Integrity.UNKNOWN.
        """
        try:
            checksums = self._read_checksums(digest)
        except (OSError, ValueError, MemoryError) as error:
            return failed_check(error)
        return check_integrity(self._home(digest) / CONTENT_DIRECTORY, checksums, only_sizes=only_sizes)

    def verify(self, digest: str, *, only_sizes: bool = False) -> bool:
        """Report whether the content is intact, see `check_integrity`.

        Raises Waiting(CacheUnreadable) when the disk cannot be read now: the content must be neither fetched again nor removed.
        """
        found = self.check_integrity(digest, only_sizes=only_sizes)
        if found.state is Integrity.UNKNOWN:
            raise unreadable_error(found.why)
        return found.state is Integrity.INTACT

    def remove(self, digest: str) -> None:
        """Remove the content; does nothing when it is not stored. Open files can still be read to the end.

        Raises Waiting(DiskFailed) when the disk cannot be written.
        """
        home = self._home(digest)
        with suppress(FileNotFoundError), disk_errors_as_waiting():
            # Rename first: partly removed content must not be found under its digest.
            trash = self._staging / f"trash-{os.urandom(8).hex()}"
            home.rename(trash)
            _remove(trash)

    def collect_garbage(self, keep: set[str], older_than: timedelta = timedelta(0)) -> set[str]:
        """Remove all content but `keep` and what has been stored for less than `older_than`; returns the removed digests."""
        removed = set()
        for digest in sorted(self.digests() - keep):
            try:
                stored = datetime.fromtimestamp(self._home(digest).stat().st_ctime, UTC)
                if has_passed(stored, older_than, datetime.now(UTC)):
                    self.remove(digest)
                    removed.add(digest)
            except (OSError, OlmError) as error:
                log.warning("content cannot be removed", extra={"digest": digest, "error": str(error)})
        return removed

    def remove_abandoned_staging(self) -> None:
        """Remove staging directories that killed processes left. Directories in use by any process are kept.

        Called when a controller starts, and by `stage` and `publish`.
        """
        entries = list(self._staging.iterdir()) if self._staging.is_dir() else []
        for entry in entries:
            with suppress(OSError):
                if entry.is_symlink() or not entry.is_dir():
                    entry.unlink()
                else:
                    remove_if_unlocked(entry)

    def _read_checksums(self, digest: str) -> Checksums:
        return Checksums.parse(_read_checksums_file(self._home(digest)), digest)

    def _unusable(self, error: OSError) -> OlmError:
        text = f"content cannot be kept in {self._root}: {error.strerror}: name a directory that can be written"
        return OlmError(StoreReason.UNUSABLE, text)

    def _home(self, digest: str) -> Path:
        if not is_digest(digest):
            raise ValueError(f'"{digest}" is not a digest')
        return self._root / digest.replace(":", "-")

    @contextmanager
    def _locked_staging(self) -> Iterator[Path]:
        """A new staging directory, locked while this process runs so that `remove_abandoned_staging` keeps it."""
        work, lock = create_locked_directory(self._staging)
        try:
            yield work
        finally:
            os.close(lock)
            remove_tree(work)


@contextmanager
def fill_staging(
    work: Path, digest: str, expected: Checksums | None = None, hashed: Mapping[str, FileChecksums] | None = None
) -> Iterator[Path]:
    """Yield an empty content directory in `work`, a directory of `Store.stage`; when the block ends, its checksums file is
    written.

    Writes below `work` only. Arguments and errors are those of `Store.publish`.
    """
    with disk_errors_as_waiting():
        content = work / CONTENT_DIRECTORY
        content.mkdir()
        yield content
        found = compute_checksums(content, digest, hashed or {})
        if expected is not None and found != expected:
            raise ValueError(
                f"the content differs from the expected checksums: {check_integrity(content, expected).why}"
            )
        (work / CHECKSUMS_FILE).write_bytes(found.to_bytes())


def _read_checksums_file(home: Path) -> bytes:
    """Raises OSError, also for a symbolic link. Never blocks on a pipe or device."""
    with open(os.open(home / CHECKSUMS_FILE, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        return file.read(min(os.fstat(file.fileno()).st_size, MAX_CHECKSUMS_BYTES))


def unreadable_error(why: str) -> Waiting:
    """The error for content that may be intact but cannot be read; `why` is a phrase such as IntegrityCheck.why."""
    return Waiting(
        StoreReason.UNREADABLE,
        f"the content that is kept on the disk cannot be read now ({why})",
        UNREADABLE_RETRY_DELAY,
    )


def raise_unless_corrupt(error: OSError) -> None:
    """Raises Waiting(CacheUnreadable) unless the error means that the content is missing or corrupt."""
    if error.errno not in CORRUPTION_ERRNOS:
        raise unreadable_error(error.strerror or str(error)) from error


def _rename(work: Path, home: Path) -> None:
    """Publish atomically. Content that another process published stays; a file or link in its place is replaced."""
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
