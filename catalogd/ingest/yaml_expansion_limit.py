"""Limits how much may be written of a catalog, relative to what was read: a YAML alias of a few bytes may expand to gigabytes.

Counted by catalogd.ingest.catalog_files (read) and catalogd.ingest.content_writer (written). Opens no file.
"""

from __future__ import annotations

from olmkit.fbc.errors import BadCatalog

MAX_EXPANSION_FACTOR = 8
"""Ordinary catalogs write one to three times what was read: the blobs, and what is derived from them."""
MAX_EXPANSION_BYTES = 1024**3
"""The most that may be written beyond what was read."""
ALWAYS_ALLOWED_BYTES = 16 * 1024**2
"""Bytes that may be written of any catalog, however small it is."""


class ExpansionLimit:
    """Counts the bytes read and written of one catalog.

    The limit is MAX_EXPANSION_FACTOR times what was read or MAX_EXPANSION_BYTES beyond it, whichever is less, but at least
    ALWAYS_ALLOWED_BYTES. Not `limited`: there is no limit.
    """

    def __init__(self, *, limited: bool = True) -> None:
        self._limited = limited
        self._read = 0
        self._written = 0

    def count_read(self, count: int) -> None:
        """Count bytes that were read."""
        self._read += count

    def count_written(self, count: int) -> None:
        """Count bytes that are about to be written. Raises BadCatalog when the limit is exceeded."""
        self._written += count
        limit = max(ALWAYS_ALLOWED_BYTES, min(MAX_EXPANSION_FACTOR * self._read, self._read + MAX_EXPANSION_BYTES))
        if self._limited and self._written > limit:
            raise BadCatalog(
                f"the catalog grows to more than {MAX_EXPANSION_FACTOR} times the size of its files, or"
                f" {MAX_EXPANSION_BYTES // 1024**3} GiB beyond it, when it is read: write out the values that its YAML aliases"
                " (*name) repeat, or leave them out"
            )
