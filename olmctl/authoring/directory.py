"""The files and the blobs of a catalog's directory: every regular file that no .indexignore excludes, in the order of a walk.

Streams: memory does not grow with the catalog. Reading stops at the first file that cannot be read, as in opm. Never leaves the
directory and never changes it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from olmkit.fbc.blobs import Blob, parse_blob
from olmkit.fbc.documents import read_documents
from olmkit.fbc.errors import BadCatalog, BadDocument
from olmkit.fbc.indexignore import IGNORE_FILE, MAX_IGNORE_FILE_BYTES, ignore_file_too_large, select_paths


def read_directory(root: Path) -> Iterator[Blob]:
    """All blobs below `root` in walk order. Raises BadCatalog, whose text begins with the file's path and the line."""
    if not root.exists():
        raise BadCatalog("there is no such directory")
    if not root.is_dir():
        raise BadCatalog("the catalog is a file, not a directory")
    for path in discover(root):
        try:
            with open(root / path, "rb", buffering=0) as stream:
                for document in read_documents(stream):
                    yield parse_blob(document)
        except BadDocument as error:
            raise BadCatalog(f"{path}: {error}") from error
        except OSError as error:
            raise _unreadable(path, error) from error


def discover(root: Path, added: Iterable[str] = ()) -> Iterator[str]:
    """The paths of a catalog's files relative to `root`, in lexical order of their parts, as a walk meets them.

    `added` are paths of files that do not exist yet, which come last. Links to files count as files. Raises BadCatalog for a link
    that leads out of `root` and for a large .indexignore.
    """
    paths: list[str] = []
    ignores: dict[str, bytes] = {}
    _walk(root, Path(os.path.realpath(root)), "", paths, ignores)
    yield from select_paths([*paths, *added], ignores)


def _walk(root: Path, resolved_root: Path, directory: str, paths: list[str], ignores: dict[str, bytes]) -> None:
    """Add the files below root/directory to `paths`, and those named .indexignore to `ignores`."""
    with os.scandir(root / directory) as entries:
        for entry in sorted(entries, key=lambda entry: os.fsencode(entry.name)):
            path = f"{directory}/{entry.name}" if directory else entry.name
            if entry.is_dir(follow_symlinks=False):
                _walk(root, resolved_root, path, paths, ignores)
            elif entry.name == IGNORE_FILE:
                if entry.is_file(follow_symlinks=False):
                    ignores[directory] = _ignore_file(Path(entry.path), directory)
            elif _is_file(entry, resolved_root, path):
                paths.append(path)


def _is_file(entry: os.DirEntry[str], resolved_root: Path, path: str) -> bool:
    if entry.is_symlink() and not Path(os.path.realpath(entry.path)).is_relative_to(resolved_root):
        raise BadCatalog(f"{path}: is a link that leads outside the catalog")
    try:
        return entry.is_file()
    except OSError as error:  # a link that leads to itself
        raise _unreadable(path, error) from error


def _unreadable(path: str, error: OSError) -> BadCatalog:
    return BadCatalog(f"{path}: cannot be read: {error.strerror}")


def _ignore_file(path: Path, directory: str) -> bytes:
    if path.stat().st_size > MAX_IGNORE_FILE_BYTES:
        raise ignore_file_too_large(directory)
    return path.read_bytes()
