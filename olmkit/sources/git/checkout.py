"""Writes the files of one commit into a Tree, under the same rules as the files of an image layer.

Regular files and directories only; symbolic links become hard links to their targets. Within the selected directory,
submodules and pointers of Git LFS are refused, and names that git refuses on any file system.
"""

from __future__ import annotations

from collections.abc import Iterator
from stat import S_ISDIR, S_ISLNK, S_ISREG
from typing import IO, cast

from dulwich.index import validate_path_element_hfs, validate_path_element_ntfs
from dulwich.objects import S_ISGITLINK

from olmkit.sources.errors import SourceReason, quoted
from olmkit.sources.git.pack import PackObjects
from olmkit.sources.tree import Tree, TreeError

MAX_LINK_BYTES = 4096
LFS_POINTER = b"version https://git-lfs.github.com/spec/"
"""The start of a file that Git LFS keeps elsewhere."""
MISSING_OBJECT_ERROR = "sent a pack without a part of the commit"


def check_out(objects: PackObjects, root: bytes, tree: Tree) -> None:
    """Fill `tree` from the directory `root`. Raises TreeError, whose detail follows "commit C of X ", and PACK_ERRORS."""
    tree.layer = 1
    left = tree.limits.files
    directories: list[tuple[bytes, str, int]] = [(root, "", 0)]
    while directories:
        name, path, depth = directories.pop()
        for entry, mode, value in _entries(objects, name, path):
            left -= 1
            if left < 0:
                words = f"contains more than {tree.limits.files:,} files and directories, the most that are read"
                raise TreeError(SourceReason.TOO_LARGE, words)
            below = f"{path}/{_entry_name(entry, path)}" if path else _entry_name(entry, path)
            if not (tree.selects(below) or tree.leads_to_selection(below)):
                continue
            _check_name(entry, below, depth, tree)
            if S_ISDIR(mode):
                tree.directory(below)
                directories.append((value, below, depth + 1))
            else:
                _add_file(objects, value, mode, below, tree)
    tree.finish()


def _entries(objects: PackObjects, name: bytes, path: str) -> Iterator[tuple[bytes, int, bytes]]:
    entries = objects.tree(name)
    if entries is None:
        raise TreeError(SourceReason.SOURCE_UNAVAILABLE, f"{MISSING_OBJECT_ERROR}: the directory {quoted(path or '/')}")
    return entries


def _add_file(objects: PackObjects, value: bytes, mode: int, path: str, tree: Tree) -> None:
    if S_ISGITLINK(mode):
        words = f"contains {quoted(path)}, a submodule: submodules are not fetched: add their files to the repository"
        raise TreeError(SourceReason.UNSUPPORTED_CONTENT, words)
    if not S_ISREG(mode) and not S_ISLNK(mode):
        raise TreeError(SourceReason.UNSAFE, f"contains {quoted(path)}, which is neither a file nor a directory")
    data = objects.file(value)
    if data is None:
        raise TreeError(SourceReason.SOURCE_UNAVAILABLE, f"{MISSING_OBJECT_ERROR}: {quoted(path)}")
    if S_ISREG(mode):
        if tree.selects(path) and data.read(len(LFS_POINTER)) == LFS_POINTER:
            words = f"contains {quoted(path)}, a pointer of Git LFS, which is not read: add the file itself to the repository"
            raise TreeError(SourceReason.UNSUPPORTED_CONTENT, words)
        tree.file(path, cast("IO[bytes]", objects.file(value)))
        return
    target = data.read(MAX_LINK_BYTES + 1)
    if len(target) > MAX_LINK_BYTES or b"\0" in target:
        raise TreeError(SourceReason.UNSAFE, f"contains {quoted(path)}, a link whose target is not a path")
    tree.symbolic_link(path, target.decode(errors="surrogateescape"))


def _entry_name(entry: bytes, path: str) -> str:
    try:
        return entry.decode()
    except UnicodeDecodeError:
        shown = quoted(f"{path}/{entry.decode(errors='backslashreplace')}".lstrip("/"))
        raise TreeError(SourceReason.UNSAFE, f"contains {shown}: a name that is not UTF-8") from None


def _check_name(entry: bytes, path: str, depth: int, tree: Tree) -> None:
    """Check the name, which has to be a single part of a path."""
    plain = entry not in (b"", b".", b"..") and b"/" not in entry and b"\0" not in entry
    if not plain or not validate_path_element_ntfs(entry) or not validate_path_element_hfs(entry):
        raise TreeError(SourceReason.UNSAFE, f"contains {quoted(path)}: a name that git does not allow")
    if len(entry) > 255 or len(path.encode()) > tree.limits.path:
        raise TreeError(SourceReason.TOO_LARGE, f"contains {quoted(path, 60)}: a path too long")
    if depth >= tree.limits.depth:
        words = f"contains {quoted(path, 60)}: a path more than {tree.limits.depth} directories deep"
        raise TreeError(SourceReason.TOO_LARGE, words)
