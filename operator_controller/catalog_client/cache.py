"""The packages that were parsed from resolution documents: in memory, by the digest of the document, within a budget.

Used by client.py. A document that is the same in two contents, or in two catalogs, is parsed once.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from operator_controller.resolve.documents import ParsedPackage

MAX_CACHED_DOCUMENTS = 2048
MAX_CACHED_BYTES = 64 * 1024 * 1024
"""Bytes of all cached documents together, as they were read. Their parsed values take several times that."""


@dataclass(frozen=True)
class CachedPackage:
    """What was parsed from the document of a package. `size`: bytes of the document."""

    package: str
    parsed: ParsedPackage
    size: int = 0


class MemoryCache:
    """Parsed documents by digest. The least recently used is evicted first; the one added last always stays."""

    def __init__(self, max_documents: int = MAX_CACHED_DOCUMENTS, max_bytes: int = MAX_CACHED_BYTES) -> None:
        self._max_documents, self._max_bytes = max_documents, max_bytes
        self._entries: OrderedDict[str, CachedPackage] = OrderedDict()
        self._size = 0

    @property
    def size(self) -> int:
        """Bytes of all cached documents."""
        return self._size

    def get(self, digest: str) -> CachedPackage | None:
        """The entry, which counts as used; None if there is none."""
        entry = self._entries.get(digest)
        if entry is not None:
            self._entries.move_to_end(digest)
        return entry

    def put(self, digest: str, entry: CachedPackage) -> None:
        """Add or replace the entry; evict others while the budget is exceeded."""
        self._remove(digest)
        self._entries[digest] = entry
        self._size += entry.size
        while len(self._entries) > 1 and (len(self._entries) > self._max_documents or self._size > self._max_bytes):
            self._remove(next(iter(self._entries)))

    def retain_only(self, packages: set[str]) -> None:
        """Remove the entries of all other packages."""
        for digest, entry in [*self._entries.items()]:
            if entry.package not in packages:
                self._remove(digest)

    def _remove(self, digest: str) -> None:
        entry = self._entries.pop(digest, None)
        self._size -= entry.size if entry is not None else 0
