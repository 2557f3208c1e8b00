"""The files of a catalog, in the order they count: every regular file that no .indexignore excludes (formats 1.1).

Called by olmkit.fbc.reading. Never opens a catalog file itself and never leaves the catalog's folder.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from pathspec import PathSpec
from pathspec.pattern import Pattern

from olmkit.fbc.errors import BadCatalog

IGNORE_FILE = ".indexignore"
_IGNORE_LIMIT = 1024 * 1024


def discover(root: Path) -> Iterator[str]:
    """Paths relative to `root`, in lexical order of their parts, as a walk meets them.

    Folders are never left out as such: patterns are asked about files only, deeper and later ones win, so that a folder a
    parent ignores can bring files back. Links to files count as files. Raises BadCatalog for a link that leads out of `root`.
    """
    yield from _walk(root, root.resolve(), (), ())


def _walk(
    root: Path, resolved_root: Path, parts: tuple[str, ...], ignores: Sequence[tuple[int, PathSpec[Pattern]]]
) -> Iterator[str]:
    """The files below root/parts. `ignores`: per folder on the way its depth and patterns."""
    folder = root.joinpath(*parts)
    with os.scandir(folder) as entries:
        found = sorted(entries, key=lambda entry: os.fsencode(entry.name))
    here = _patterns(folder, "/".join(parts))
    ignores = [*ignores, (len(parts), here)] if here else ignores
    for entry in found:
        path = (*parts, entry.name)
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(root, resolved_root, path, ignores)
        elif entry.name != IGNORE_FILE and _is_file(entry, resolved_root, path) and not _is_ignored(path, ignores):
            yield "/".join(path)


def _is_file(entry: os.DirEntry[str], resolved_root: Path, path: tuple[str, ...]) -> bool:
    if entry.is_symlink() and not Path(entry.path).resolve().is_relative_to(resolved_root):
        raise BadCatalog(f"{'/'.join(path)}: is a link that leads outside the catalog")
    return entry.is_file()


def _is_ignored(path: tuple[str, ...], ignores: Sequence[tuple[int, PathSpec[Pattern]]]) -> bool:
    for depth, patterns in reversed(ignores):
        included = patterns.check_file("/".join(path[depth:])).include
        if included is not None:
            return bool(included)
    return False


def _patterns(folder: Path, shown: str) -> PathSpec[Pattern] | None:
    path = folder / IGNORE_FILE
    if not path.is_file() or path.is_symlink():
        return None
    if path.stat().st_size > _IGNORE_LIMIT:
        raise BadCatalog(f"{shown}/{IGNORE_FILE}: is larger than 1 MiB".lstrip("/"))
    lines = [line.strip() for line in path.read_text(errors="replace").splitlines()]
    try:
        return PathSpec.from_lines("gitignore", [line for line in lines if line and not line.startswith("#")])
    except ValueError as error:
        raise BadCatalog(f"{shown}/{IGNORE_FILE}: {error}".lstrip("/")) from error
