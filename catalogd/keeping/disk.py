"""What catalogd.keeping.shelf does on the disk: the note of what is served, and content by digest. Everything here blocks.

Run in threads by the shelf, which lets one change happen at a time. A disk that fails or holds nonsense costs what it held: that
is logged with the digest and what is wrong, and read again.
"""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Collection, Iterable, Mapping
from datetime import timedelta
from pathlib import Path

from catalogd.keeping.ahead import CONTENT, NOTE, Ahead
from catalogd.keeping.note import KeptRecord, Note, dump, parse
from catalogd.keeping.record import Record
from catalogd.reading.content import Content
from olmkit.errors import OlmError
from olmkit.store import Store

UNWANTED = timedelta(minutes=10)
"""How old content is that nobody asked for, when it goes: a job that has ended may be about to tell of a younger one."""
CROWDED = {errno.EMFILE, errno.ENFILE, errno.ENOMEM}
"""Why a file cannot be opened although nothing is wrong with it."""

log = logging.getLogger(__name__)


class ShelfDisk:
    """Records in `root`/catalogs.json, content in `root`/content. Raises OlmError(CacheUnusable) when `root` cannot be used."""

    def __init__(self, root: Path, ahead: Ahead | None = None) -> None:
        self.store = Store(root / CONTENT)
        self._file = root / NOTE
        self._ahead = ahead

    def read_note(self) -> Note:
        """What was noted last, as far as it can be read."""
        try:
            note = parse(self._file.read_bytes())
        except FileNotFoundError:
            return Note()
        except OSError as error:
            note = Note(faults=(str(error.strerror),))
        for fault in note.faults:
            log.warning("catalogs are read again: the note of what was served is damaged", extra={"fault": fault})
        return note

    def write_note(self, records: Mapping[str, Record], kept: Iterable[KeptRecord]) -> None:
        """Atomic: a crash leaves the old note or the new one. Raises OSError."""
        fresh = self._file.with_suffix(".new")
        with open(fresh, "wb") as file:
            file.write(dump(records, kept))
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self._file)

    def verified(self, digest: str, names: Collection[str]) -> tuple[Content | None, str]:
        """The content when every byte of it is there; else None and why not, logged, and what is left of it removed."""
        fault = self._ahead.fault(digest) if self._ahead is not None else None
        if fault is None:
            fault = self.store.fault(digest)
        if not fault:
            try:
                return self.opened(digest), ""
            except (OSError, LookupError) as error:
                fault = str(error)
        if names:  # else it was only kept, and may be gone because its time was over
            self.say_damaged(digest, fault, names)
        self.forget({digest})
        return None, fault

    def opened(self, digest: str) -> Content:
        """The content as it is. Raises LookupError when it is not here or cannot be read: then it is removed; OSError when
        there are too many open files."""
        folder = self.store.path(digest)
        if folder is None:
            raise LookupError("there is no such content")
        try:
            return Content(folder)
        except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
            if isinstance(error, OSError) and error.errno in CROWDED:
                raise
            self.forget({digest})
            raise LookupError(f"its index cannot be read: {error}") from error

    def forget(self, digests: Iterable[str]) -> None:
        """Remove content; what cannot be removed is logged and left to the next start."""
        for digest in sorted(digests):
            try:
                self.store.forget(digest)
            except (OSError, OlmError) as error:
                log.warning("content cannot be removed", extra={"digest": digest, "error": str(error)})

    def collect(self, keep: set[str], older_than: timedelta = UNWANTED) -> None:
        """Remove content that nobody asked for, and what killed jobs left."""
        try:
            self.store.sweep()
            self.store.collect(keep, older_than)
        except OSError as error:
            log.warning("the cache folder cannot be tidied", extra={"error": str(error)})

    def look(self, digests: Iterable[str]) -> dict[str, str]:
        """Those of which files are missing or of another size, and what is wrong."""
        faults = {digest: self.store.fault(digest, only_sizes=True) for digest in digests}
        return {digest: fault for digest, fault in faults.items() if fault}

    @staticmethod
    def say_damaged(digest: str, fault: str, names: Iterable[str]) -> None:
        """One line in the log."""
        facts = {"digest": digest, "fault": fault, "catalogs": sorted(names)}
        log.warning("content on disk is damaged: it is not served and read again", extra=facts)
