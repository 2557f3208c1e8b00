"""Selects the files of a catalog that .indexignore does not exclude, and their order (docs/formats.md 1.1).

Pure: is given paths and the contents of the files named .indexignore, and opens none.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence

import re2
from pathspec import PathSpec
from pathspec.pattern import Pattern

from olmkit.fbc.errors import BadCatalog

IGNORE_FILE = ".indexignore"
MAX_IGNORE_FILE_BYTES = 64 * 1024
MAX_PATTERN_CHECKS = 10_000_000
"""Patterns times files: a check takes a microsecond or more."""

_Ignores = Mapping[str, PathSpec[Pattern]]


def select_paths(paths: Iterable[str], ignores: Mapping[str, bytes]) -> Iterator[str]:
    """The paths that no .indexignore excludes, in the order of a walk. Raises BadCatalog when there are too many checks.

    `ignores` are the files of that name, by their directory ("" is the root). A directory is never excluded as such: patterns are
    applied to files only, deeper and later ones win, so that a directory that a parent ignores can include files again.
    """
    paths = list(paths)
    if len(paths) * sum(text.count(b"\n") + 1 for text in ignores.values()) > MAX_PATTERN_CHECKS:
        raise BadCatalog(f"{len(paths):,} files are too many for as many patterns as its files {IGNORE_FILE} hold")
    patterns = {directory: _patterns(text, directory) for directory, text in ignores.items()}
    for path in sorted(paths, key=lambda path: os.fsencode(path).split(b"/")):
        if not patterns or not _is_ignored(os.fsencode(path).decode(errors="replace").split("/"), patterns):
            yield path


def ignore_file_too_large(directory: str) -> BadCatalog:
    """The error of an .indexignore of more than MAX_IGNORE_FILE_BYTES in that directory."""
    return BadCatalog(f"{directory}/{IGNORE_FILE}: is larger than {MAX_IGNORE_FILE_BYTES // 1024} KiB".lstrip("/"))


def _is_ignored(parts: Sequence[str], patterns: _Ignores) -> bool:
    """Report whether the file is excluded; the deepest directory that has a pattern for it decides."""
    for depth in range(len(parts) - 1, -1, -1):
        found = patterns.get("/".join(parts[:depth]))
        if found is not None and (included := found.check_file("/".join(parts[depth:])).include) is not None:
            return bool(included)
    return False


def _patterns(text: bytes, directory: str) -> PathSpec[Pattern]:
    """A line that is no pattern matches nothing, as in opm.

    RE2 reads each character of a path once, however many stars a pattern has; Python's own expressions would not end.
    """
    lines = [line.strip() for line in text.decode(errors="replace").split("\n")]
    patterns = [each for line in lines if line and not line.startswith("#") for each in _pattern(line)]
    try:
        return PathSpec(patterns, backend="re2")
    except re2.error as error:
        place = f"{directory}/{IGNORE_FILE}".lstrip("/")
        raise BadCatalog(f"{place}: holds more patterns, or longer ones, than are read") from error


def _pattern(line: str) -> Iterable[Pattern]:
    if not line.removeprefix("!").strip("/"):
        return ()  # the library reads a lone slash as a pattern for everything
    try:
        return PathSpec.from_lines("gitignore", [line]).patterns
    except ValueError:
        return ()
