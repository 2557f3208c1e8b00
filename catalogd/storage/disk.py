"""What catalogd.storage.catalog_store does on the disk: the note of what is served, and content by digest. Everything here
blocks.

Run in threads by the shelf, which lets one change happen at a time. Content that is damaged is removed: that is logged with the
digest and what is wrong, and the content is read again. Content that cannot be read now is neither: it stays where it is.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Collection, Iterable, Mapping
from datetime import timedelta
from pathlib import Path

from catalogd.ingest.content import Content
from catalogd.storage.record import Record
from catalogd.storage.startup_verifier import CONTENT_FOLDER, STATE_FILE, StartupVerifier
from catalogd.storage.state_file import RetainedRecord, ServingState, dump, parse
from olmkit.errors import OlmError
from olmkit.store.checksums import CORRUPTION_ERRNOS, Integrity, IntegrityCheck
from olmkit.store.store import Store, StoreReason

UNREFERENCED_CONTENT_AGE = timedelta(minutes=10)
"""How old content is that nobody asked for, when it goes: a job that has ended may be about to tell of a younger one."""

log = logging.getLogger(__name__)


class StoreDisk:
    """Records in `root`/catalogs.json, content in `root`/content. Raises OlmError(CacheUnusable) when `root` cannot be used."""

    def __init__(self, root: Path, ahead: StartupVerifier | None = None) -> None:
        self.store = Store(root / CONTENT_FOLDER)
        self._file = root / STATE_FILE
        self._ahead = ahead

    def read_state(self) -> ServingState:
        """What was noted last, as far as it makes sense. Raises OlmError(CacheUnusable) when the file cannot be read: whoever
        went on without it would remove what it names."""
        try:
            note = parse(self._file.read_bytes())
        except FileNotFoundError:
            return ServingState()
        except OSError as error:
            if error.errno not in CORRUPTION_ERRNOS:
                text = f"{self._file} cannot be read ({error.strerror}): let this process read it, or remove it"
                raise OlmError(StoreReason.UNUSABLE, text) from error
            note = ServingState(errors=(str(error.strerror),))
        for fault in note.errors:
            log.warning("catalogs are read again: the note of what was served is damaged", extra={"fault": fault})
        return note

    def write_state(self, records: Mapping[str, Record], kept: Iterable[RetainedRecord]) -> None:
        """Atomic: a crash leaves the old note or the new one. Raises OSError."""
        fresh = self._file.with_suffix(".new")
        with open(fresh, "wb") as file:
            file.write(dump(records, kept))
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self._file)

    def verified(self, digest: str, names: Collection[str]) -> tuple[Content | None, IntegrityCheck]:
        """The content when every byte of it is there; else None and why not, logged. What is damaged is removed."""
        check = self._ahead.check(digest) if self._ahead is not None else None
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
            log.warning("content on disk cannot be read now: it is left alone, and tried again", extra=facts)
            return None, check
        if names:  # else it was only kept, and may be gone because its time was over
            self.log_damage(digest, check.why, names)
        self.forget({digest})
        return None, check

    def opened(self, digest: str) -> Content:
        """The content as it is. Raises LookupError when it is not here or makes no sense: then it is removed; OSError when it
        cannot be read now."""
        folder = self.store.path(digest)
        if folder is None:
            raise LookupError("there is no such content")
        try:
            return Content(folder)
        except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
            if isinstance(error, OSError) and error.errno not in CORRUPTION_ERRNOS:
                raise
            self.forget({digest})
            raise LookupError(f"its index cannot be read: {error}") from error

    def forget(self, digests: Iterable[str]) -> None:
        """Remove content; what cannot be removed is logged and left to the next start."""
        for digest in sorted(digests):
            try:
                self.store.remove(digest)
            except (OSError, OlmError) as error:
                log.warning("content cannot be removed", extra={"digest": digest, "error": str(error)})

    def collect(self, keep: set[str], older_than: timedelta = UNREFERENCED_CONTENT_AGE) -> None:
        """Remove content that nobody asked for, and what killed jobs left."""
        try:
            self.store.remove_abandoned_staging()
            self.store.collect_garbage(keep, older_than)
        except OSError as error:
            log.warning("the cache folder cannot be tidied", extra={"error": str(error)})

    def check_sizes(self, digests: Iterable[str]) -> dict[str, str]:
        """Those of which files are missing or of another size, and what is wrong."""
        checks = {digest: self.store.check_integrity(digest, only_sizes=True) for digest in digests}
        return {digest: check.why for digest, check in checks.items() if check.state is Integrity.CORRUPT}

    @staticmethod
    def log_damage(digest: str, fault: str, names: Iterable[str]) -> None:
        """One line in the log."""
        facts = {"digest": digest, "fault": fault, "catalogs": sorted(names)}
        log.warning("content on disk is damaged: it is not served and read again", extra=facts)
