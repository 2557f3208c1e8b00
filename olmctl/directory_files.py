"""The files of a bundle in a directory of this machine.

The directory may be somebody else's: a link in it that leads outside is refused, so that no other file of this machine is
printed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from olmctl.commands import WRONG_USAGE, CommandError


class LinkOutside(Exception):
    """A link leads outside the directory; the message names it."""


def files_below(root: Path, directories: Sequence[str]) -> Iterator[Path]:
    """The files of these directories of `root`, sorted by path, each after its check. Raises LinkOutside."""
    inside = root.resolve()
    for directory in directories:
        for path in (root / directory, *sorted((root / directory).rglob("*"))):
            if path.is_symlink() and not path.resolve().is_relative_to(inside):
                raise LinkOutside(f"{path.relative_to(root).as_posix()}: is a link that leads outside the bundle")
            if path.is_file():
                yield path


def check_directory(path: Path, otherwise: str) -> None:
    """Raise CommandError if the path of an argument is no directory. `otherwise` says what the argument may be, too."""
    if not path.is_dir():
        problem = "is a file" if path.exists() else "there is no such directory"
        raise CommandError(WRONG_USAGE, f"{path}: {problem}: {otherwise}")
