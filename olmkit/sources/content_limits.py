"""The limits of unpacked content: bytes, files and paths of one image, commit or archive, and the text about what exceeds them.

Tree enforces them while it is filled, so that nothing beyond a limit is written. The limits of a download and of a pack are made
from the same values. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass

DIRECTORY_BYTES = 4096
"""Bytes that a directory counts for the limit: about its size on disk, and more than its node takes in memory."""


@dataclass(frozen=True)
class ContentLimits:
    """The limits of one image, for all layers together, selected or not."""

    bytes: int = 4 * 1024**3
    """Bytes of all files after decompression; a directory counts as DIRECTORY_BYTES."""
    files: int = 100_000
    """Entries of any type, and directories without an entry of their own."""
    path: int = 3072
    """Bytes of one path. Linux opens paths of 4095 bytes, and those of stores begin with the directory of the content."""
    depth: int = 64
    """Directories in one path."""

    def excess(self, size: int, files: int, directories: int) -> str:
        """Explain what exceeds the limits, the bytes of all files or the number of files and directories; empty: nothing does."""
        if size + directories * DIRECTORY_BYTES > self.bytes:
            included = ", directories included" if directories * DIRECTORY_BYTES > size else ""
            return f"larger than {self.bytes:,} bytes{included}, the most that is read"
        if files + directories > self.files:
            return f"more than {self.files:,} files and directories, the most that are read"
        return ""


CATALOG_LIMITS = ContentLimits()
BUNDLE_LIMITS = ContentLimits(bytes=256 * 1024**2)
MAX_UPLOAD_BYTES = 32 * 1024**2
"""Bytes of one archive that is uploaded."""
MAX_STORED_UPLOAD_BYTES = 256 * 1024**2
"""Bytes of all uploads of a cluster: its API server stores them, in a database of 2 GiB by default."""
