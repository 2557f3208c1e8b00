"""The files of a bundle in a folder of this machine.

The folder may be somebody else's: a link in it that leads outside is refused, so that no other file of this machine is printed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path


class LinkOutside(Exception):
    """A link leads outside the folder; the message names it."""


def files_below(root: Path, folders: Sequence[str]) -> Iterator[Path]:
    """The files of these folders of `root`, sorted by path, each after its check. Raises LinkOutside."""
    inside = root.resolve()
    for folder in folders:
        for path in (root / folder, *sorted((root / folder).rglob("*"))):
            if path.is_symlink() and not path.resolve().is_relative_to(inside):
                raise LinkOutside(f"{path.relative_to(root).as_posix()}: is a link that leads outside the bundle")
            if path.is_file():
                yield path
