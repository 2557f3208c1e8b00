"""The disk operations of catalogd.storage.catalog_store: the state file, and content by digest. Everything here blocks.

CatalogStore calls it in threads, for one change at a time. Corrupt content is logged with its digest and the fault, and removed,
so that it is loaded again. Content that cannot be read at the moment is neither removed nor reported as corrupt.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Collection, Coroutine, Iterable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

from catalogd.ingest.content import Content
from catalogd.storage.record import Record
from catalogd.storage.startup_verifier import CONTENT_DIRECTORY, STATE_FILE, StartupVerifier
from catalogd.storage.state_file import RetainedRecord, ServingState, dump, parse
from olmkit.errors import OlmError
from olmkit.store.checksums import CORRUPTION_ERRNOS, Integrity, IntegrityCheck
from olmkit.store.store import Store, StoreReason

Value = TypeVar("Value")


UNREFERENCED_CONTENT_AGE = timedelta(minutes=10)
"""The age at which unreferenced content is removed. Younger content may be the result of a job that has just ended."""

log = logging.getLogger(__name__)


class StoreDisk:
    """Records in `root`/catalogs.json, content in `root`/content. Raises OlmError(CacheUnusable) when `root` cannot be used."""

    def __init__(self, root: Path, startup_verifier: StartupVerifier | None = None) -> None:
        self.store = Store(root / CONTENT_DIRECTORY)
        self._file = root / STATE_FILE
        self._startup_verifier = startup_verifier

    def read_state(self) -> ServingState:
        """Read the state file, without its invalid entries.

        Raises OlmError(CacheUnusable) when the file cannot be read: without it, all content that it names would be removed.
        """
        try:
            state = parse(self._file.read_bytes())
        except FileNotFoundError:
            return ServingState()
        except OSError as error:
            if error.errno not in CORRUPTION_ERRNOS:
                text = f"{self._file} cannot be read ({error.strerror}): let this process read it, or remove it"
                raise OlmError(StoreReason.UNUSABLE, text) from error
            state = ServingState(errors=(str(error.strerror),))
        for fault in state.errors:
            log.warning("the state file is damaged: its catalogs are loaded again", extra={"fault": fault})
        return state

    def write_state(self, records: Mapping[str, Record], retained: Iterable[RetainedRecord]) -> None:
        """Replace the state file atomically. Raises OSError."""
        fresh = self._file.with_suffix(".new")
        with open(fresh, "wb") as file:
            file.write(dump(records, retained))
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self._file)

    def verified(self, digest: str, names: Collection[str]) -> tuple[Content | None, IntegrityCheck]:
        """The content if every byte of it is intact; otherwise None and the reason, which is logged. Removes corrupt content."""
        verifier = self._startup_verifier
        check = verifier.check(digest) if verifier is not None else None
        if check is None or check.state is Integrity.UNKNOWN:
            check = self.store.check_integrity(digest)
        if check.state is Integrity.INTACT:
            try:
                return self.opened(digest), check
            except LookupError as error:
                check = IntegrityCheck(Integrity.CORRUPT, str(error))
            except (OSError, MemoryError) as error:
                check = IntegrityCheck(Integrity.UNKNOWN, str(error) or "there is not enough memory to read it")
        if check.state is Integrity.UNKNOWN:
            facts = {"digest": digest, "error": check.why, "catalogs": sorted(names)}
            log.warning("content on disk cannot be read at the moment, trying again", extra=facts)
            return None, check
        if names:  # otherwise it was only retained, and may have been removed when its retention ended
            self.log_damage(digest, check.why, names)
        self.remove({digest})
        return None, check

    def opened(self, digest: str) -> Content:
        """Open the content without verifying it.

        Raises LookupError when it is not stored or is invalid (then it is removed), and
        OSError when it cannot be read at the moment.
        """
        directory = self.store.path(digest)
        if directory is None:
            raise LookupError("there is no such content")
        try:
            return Content(directory)
        except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
            if isinstance(error, OSError) and error.errno not in CORRUPTION_ERRNOS:
                raise
            self.remove({digest})
            raise LookupError(f"its index cannot be read: {error}") from error

    def remove(self, digests: Iterable[str]) -> None:
        """Remove content. What cannot be removed is logged, and removed at the next start."""
        for digest in sorted(digests):
            try:
                self.store.remove(digest)
            except (OSError, OlmError) as error:
                log.warning("content cannot be removed", extra={"digest": digest, "error": str(error)})

    def collect(self, referenced: set[str], older_than: timedelta = UNREFERENCED_CONTENT_AGE) -> None:
        """Remove content that is not referenced and older than `older_than`, and the staging directories of killed jobs."""
        try:
            self.store.remove_abandoned_staging()
            self.store.collect_garbage(referenced, older_than)
        except OSError as error:
            log.warning("unreferenced content cannot be removed", extra={"error": str(error)})

    def check_sizes(self, digests: Iterable[str]) -> dict[str, str]:
        """Check names and sizes of files only. Returns the fault of each content that is corrupt."""
        checks = {digest: self.store.check_integrity(digest, only_sizes=True) for digest in digests}
        return {digest: check.why for digest, check in checks.items() if check.state is Integrity.CORRUPT}

    @staticmethod
    def log_damage(digest: str, fault: str, names: Iterable[str]) -> None:
        """Log that content is corrupt."""
        facts = {"digest": digest, "fault": fault, "catalogs": sorted(names)}
        log.warning("content on disk is damaged: it is removed and loaded again", extra=facts)


async def run_to_completion(work: Coroutine[Any, Any, Value]) -> Value:
    """Await `work`. If the caller is cancelled, the cancellation is raised once `work` has ended.

    A thread that writes cannot be stopped, and must not run at the same time as whatever the caller does next.
    """
    task = asyncio.create_task(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        if not task.cancelled():
            task.exception()  # marks the exception as retrieved
        raise
