"""A tar archive, plain or packed with gzip or zstd, onto disk: as one layer of an image, under the same policy.

Called by http.py with an archive whose digest is known. tarfile never extracts anything here, and the ending of a name says
nothing: the first bytes do.
"""

from __future__ import annotations

from typing import IO

from olmkit.sources.errors import SourceReason
from olmkit.sources.oci import layers
from olmkit.sources.tree import Tree, TreeError

UNSUPPORTED_MAGICS = (
    (b"PK\x03\x04", "a zip archive"),
    (b"PK\x05\x06", "a zip archive"),
    (b"BZh", "packed with bzip2"),
    (b"\xfd7zXZ\x00", "packed with xz"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"Rar!", "a rar archive"),
)
TEXT_STARTS = (b"<", b"{", b"#", b"version https://git-lfs")
"""Pages, JSON errors and pointers to other storage: what a server sends in an archive's place."""


def unpack(archive: IO[bytes], tree: Tree) -> None:
    """Everything in it. Raises TreeError with words that fit "archive X ..."."""
    archive.seek(0)
    start = archive.read(512)
    _refuse_others(start)
    tree.layer = 1
    layers.unpack(archive, tree, layers.Budget(tree.limits.bytes, tree.limits.files, tree.noun))
    tree.finish()


def _refuse_others(start: bytes) -> None:
    for magic, what in UNSUPPORTED_MAGICS:
        if start.startswith(magic):
            words = f"is {what}, which is not read: make it a tar archive, plain or packed with gzip or zstd"
            raise TreeError(SourceReason.UNSUPPORTED_CONTENT, words)
    if not start:
        raise TreeError(SourceReason.UNSUPPORTED_CONTENT, "is empty")
    text = start.lstrip()
    if any(text.startswith(each) for each in TEXT_STARTS) and b"\0" not in start:
        # Not what it says: it may be the answer of a server that whoever reads the object could not ask.
        words = (
            "is no archive but text, such as a page, an error or a pointer to other storage: see what the URL answers"
        )
        raise TreeError(SourceReason.UNSUPPORTED_CONTENT, words)
