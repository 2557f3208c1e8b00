"""A zip archive on a web server is unpacked into a Tree, member by member, under the rules of a tar archive.

Called by http.py with an archive whose digest is verified. zipfile parses headers and decompresses, and extracts nothing. Only
the members that the tree selects are decompressed. Raises TreeError (tree.py) with a detail that follows "archive X ".
"""

from __future__ import annotations

import stat
import struct
import zipfile
import zlib
from dataclasses import dataclass
from typing import IO

from olmkit.sources.errors import SourceReason, quoted
from olmkit.sources.oci.layers import Budget, check_text, member_path, refuse_kind
from olmkit.sources.tree import Tree, TreeError

MAGICS = (b"PK\x03\x04", b"PK\x05\x06")
"""Starts of a zip archive; the second one is of an empty one."""
COMPRESSIONS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
"""The compressions that are read: those that every writer of zip archives uses by default."""
MAX_LIST_BYTES = 24 * 1024**2
"""The limit of the list of members, which zipfile reads into memory: 100,000 members with paths of 150 bytes have less."""
IS_ENCRYPTED = 0x1
"""The flag of a member that needs a password."""
_UNIX_MODE_SHIFT = 16
_UNIX_SYSTEMS = frozenset({3, 19})
"""The systems, as a member names its own, whose file names may contain a backslash: Unix and macOS."""
_INVALID: tuple[type[Exception], ...] = (
    *(zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, struct.error),
    *(ValueError, RuntimeError, OverflowError),  # of names that are no UTF-8, and of offsets outside the archive
)


def unpack(archive: IO[bytes], tree: Tree, budget: Budget) -> None:
    """Add the members to the tree. Unix links and kinds of files are respected where the archive has them."""
    try:
        with zipfile.ZipFile(_Reader(archive)) as opened:
            for info in opened.infolist():
                budget.take_file()
                _check_separators(info)
                path = member_path(info.filename, tree)
                if path and (tree.selects(path) or tree.leads_to_selection(path)):
                    check_text(info.orig_filename)  # zipfile cuts the other name at a NUL
                    _add_member(opened, info, path, tree, budget)
    except _INVALID as error:
        raise TreeError(SourceReason.UNSUPPORTED, f"is not a complete zip archive: {error}") from error


def _check_separators(info: zipfile.ZipInfo) -> None:
    """Raises TreeError for a path with the separators of Windows, which would be one name of a file. On Unix it may be one."""
    if "\\" in info.orig_filename and info.create_system not in _UNIX_SYSTEMS:
        words = f"contains {quoted(info.orig_filename)}, a path with backslashes: archive it with a program that writes slashes"
        raise TreeError(SourceReason.UNSUPPORTED, words)


def _add_member(opened: zipfile.ZipFile, info: zipfile.ZipInfo, path: str, tree: Tree, budget: Budget) -> None:
    kind = stat.S_IFMT(info.external_attr >> _UNIX_MODE_SHIFT)
    if info.is_dir() or kind == stat.S_IFDIR:
        tree.directory(path)
        return
    if kind not in (0, stat.S_IFREG, stat.S_IFLNK):
        refuse_kind(path, is_device=kind in (stat.S_IFCHR, stat.S_IFBLK), is_pipe=kind == stat.S_IFIFO)
    if info.flag_bits & IS_ENCRYPTED:
        raise TreeError(
            SourceReason.UNSUPPORTED, f"contains {quoted(path)}, which is encrypted: archive it without a password"
        )
    if info.compress_type not in COMPRESSIONS:
        name = zipfile.compressor_names.get(info.compress_type, str(info.compress_type))  # type: ignore[attr-defined]
        words = f"contains {quoted(path)}, compressed with method {name}: use deflate, which is the default of zip"
        raise TreeError(SourceReason.UNSUPPORTED, words)
    with opened.open(info) as data:
        counted = _Counted(data, budget)
        if kind == stat.S_IFLNK:
            tree.symbolic_link(path, counted.read(tree.limits.path + 1).decode())
        else:
            tree.file(path, counted)


@dataclass
class _Counted:
    """The bytes of a member, taken from the budget: the size in its header may be wrong."""

    data: IO[bytes]
    budget: Budget

    def read(self, size: int, /) -> bytes:
        """Raises TreeError(TooLarge)."""
        chunk = self.data.read(size)
        self.budget.take_bytes(len(chunk))
        return chunk


@dataclass
class _Reader:
    """The archive, whose reading fails as an invalid archive for an offset that is outside it; an error of the disk stays one.

    The list of members is the only part that zipfile reads at once.
    """

    file: IO[bytes]

    def read(self, size: int = -1, /) -> bytes:
        """Up to `size` bytes from the position. Raises TreeError(TooLarge) for a list of members that is too large."""
        if size > MAX_LIST_BYTES:
            raise TreeError(SourceReason.TOO_LARGE, "contains more files than are read of one")
        return self.file.read(size)

    def tell(self) -> int:
        """The position."""
        return self.file.tell()

    def seek(self, offset: int, whence: int = 0, /) -> int:
        """Change the position. Raises BadZipFile for one before the start."""
        start = {1: self.file.tell}.get(whence, lambda: 0)()
        if whence != 2 and start + offset < 0:
            raise zipfile.BadZipFile("an offset is outside the archive")
        return self.file.seek(offset, whence)

    def seekable(self) -> bool:
        """Report that zipfile may seek."""
        return True
