"""The files of a catalog, in the order they count: every regular file that no .indexignore excludes (formats 1.1).

Called by olmkit.fbc.folder for a folder, and by catalogd.ingest.catalog_files for files that never were in one. Never opens a
catalog file itself and never leaves the catalog's folder.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import re2
from pathspec import PathSpec
from pathspec.pattern import Pattern

from olmkit.fbc.errors import BadCatalog

IGNORE_FILE = ".indexignore"
MAX_IGNORE_FILE_BYTES = 64 * 1024
"""Bytes of one .indexignore."""
MAX_PATTERN_CHECKS = 10_000_000
"""Patterns times files: a look takes a microsecond or more."""

_Ignores = Mapping[str, PathSpec[Pattern]]


def discover(root: Path) -> Iterator[str]:
    """Paths relative to `root`, in lexical order of their parts, as a walk meets them.

    Links to files count as files. Raises BadCatalog for a link that leads out of `root` and for a large .indexignore.
    """
    paths: list[str] = []
    ignores: dict[str, bytes] = {}
    _walk(root, root.resolve(), "", paths, ignores)
    yield from select_paths(paths, ignores)


def select_paths(paths: Iterable[str], ignores: Mapping[str, bytes]) -> Iterator[str]:
    """Those of the paths that no .indexignore excludes, as a walk meets them. Raises BadCatalog when to find out costs too much.

    `ignores` are the files of that name, by their folder ("" is the root).

    Folders are never left out as such: patterns are asked about files only, deeper and later ones win, so that a folder a
    parent ignores can bring files back.
    """
    paths = list(paths)
    if len(paths) * sum(text.count(b"\n") + 1 for text in ignores.values()) > MAX_PATTERN_CHECKS:
        raise BadCatalog(f"{len(paths):,} files are too many for as many patterns as its files {IGNORE_FILE} hold")
    patterns = {folder: _patterns(text, folder) for folder, text in ignores.items()}
    for path in sorted(paths, key=lambda path: os.fsencode(path).split(b"/")):
        if not patterns or not _is_ignored(os.fsencode(path).decode(errors="replace").split("/"), patterns):
            yield path


def ignore_file_too_large(folder: str) -> BadCatalog:
    """What is wrong with an .indexignore of more than MAX_IGNORE_FILE_BYTES bytes in that folder."""
    return BadCatalog(f"{folder}/{IGNORE_FILE}: is larger than {MAX_IGNORE_FILE_BYTES // 1024} KiB".lstrip("/"))


def _walk(root: Path, resolved_root: Path, folder: str, paths: list[str], ignores: dict[str, bytes]) -> None:
    """The files below root/folder."""
    with os.scandir(root / folder) as entries:
        for entry in sorted(entries, key=lambda entry: os.fsencode(entry.name)):
            path = f"{folder}/{entry.name}" if folder else entry.name
            if entry.is_dir(follow_symlinks=False):
                _walk(root, resolved_root, path, paths, ignores)
            elif entry.name == IGNORE_FILE:
                if entry.is_file(follow_symlinks=False):
                    ignores[folder] = _ignore_file(Path(entry.path), folder)
            elif _is_file(entry, resolved_root, path):
                paths.append(path)


def _is_file(entry: os.DirEntry[str], resolved_root: Path, path: str) -> bool:
    if entry.is_symlink() and not Path(entry.path).resolve().is_relative_to(resolved_root):
        raise BadCatalog(f"{path}: is a link that leads outside the catalog")
    return entry.is_file()


def _ignore_file(path: Path, folder: str) -> bytes:
    if path.stat().st_size > MAX_IGNORE_FILE_BYTES:
        raise ignore_file_too_large(folder)
    return path.read_bytes()


def _is_ignored(parts: Sequence[str], patterns: _Ignores) -> bool:
    """By the deepest folder whose patterns say anything of the file."""
    for depth in range(len(parts) - 1, -1, -1):
        found = patterns.get("/".join(parts[:depth]))
        if found is not None and (included := found.check_file("/".join(parts[depth:])).include) is not None:
            return bool(included)
    return False


def _patterns(text: bytes, folder: str) -> PathSpec[Pattern]:
    """A line that is no pattern matches nothing, as upstream has it.

    RE2 asks each character of a path once, however many stars a pattern has; Python's own expressions would not come to an end.
    """
    lines = [line.strip() for line in text.decode(errors="replace").split("\n")]
    patterns = [each for line in lines if line and not line.startswith("#") for each in _pattern(line)]
    try:
        return PathSpec(patterns, backend="re2")
    except re2.error as error:
        fault = f"{folder}/{IGNORE_FILE}".lstrip("/")
        raise BadCatalog(f"{fault}: holds more patterns, or longer ones, than are read") from error


def _pattern(line: str) -> Iterable[Pattern]:
    if not line.removeprefix("!").strip("/"):
        return ()  # the library takes a lone slash for everything
    try:
        return PathSpec.from_lines("gitignore", [line]).patterns
    except ValueError:
        return ()
