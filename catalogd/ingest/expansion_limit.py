"""How much may be written of a catalog, by how much was read of it: an alias of YAML is a few bytes and may stand for gigabytes.

Counted by catalogd.ingest.catalog_files (what is read) and catalogd.ingest.content_writer (what is written). Values only:
opens no file.
"""

from __future__ import annotations

from olmkit.fbc.errors import BadCatalog

MAX_EXPANSION_FACTOR = 8
"""Ordinary catalogs write once to three times what was read: the blobs, and what is derived of them."""
MAX_EXPANSION_BYTES = 1024**3
"""Bytes."""
ALWAYS_ALLOWED_BYTES = 16 * 1024**2
"""Bytes."""


class ExpansionLimit:
    """Bytes read and bytes written of one catalog. What is written must stay below the lesser of 8 times what was read and 1 GiB
    beyond it, but may always be 16 MiB. Not `limited`: nothing is too much."""

    def __init__(self, *, limited: bool = True) -> None:
        self._limited = limited
        self._read = 0
        self._written = 0

    def count_read(self, count: int) -> None:
        """More of the catalog's files was read."""
        self._read += count

    def count_written(self, count: int) -> None:
        """More is about to be written. Raises BadCatalog when that is too much."""
        self._written += count
        limit = max(ALWAYS_ALLOWED_BYTES, min(MAX_EXPANSION_FACTOR * self._read, self._read + MAX_EXPANSION_BYTES))
        if self._limited and self._written > limit:
            raise BadCatalog(
                f"the catalog grows to more than {MAX_EXPANSION_FACTOR} times the size of its files, or"
                f" {MAX_EXPANSION_BYTES // 1024**3} GiB beyond it, when it is read: write out the values that its YAML aliases"
                " (*name) repeat, or leave them out"
            )
