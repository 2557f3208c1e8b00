"""The directories of this machine that arguments name, and the files of a bundle in one.

The directory may be somebody else's: a link in it that leads outside is refused, so that no other file of this machine is
printed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from olmctl.commands import WRONG_USAGE, CommandError

GIVE_CATALOG = "give the directory of a catalog (`olm catalog render IMAGE` prints the one of an image)"


class LinkOutside(Exception):
    """A link leads outside the directory; the message names it."""


def files_below(root: Path, directories: Sequence[str]) -> Iterator[Path]:
    """The files of these directories of `root`, sorted by path, each after its check. Raises LinkOutside."""
    inside = os.path.realpath(root)  # Path.resolve() refuses a link that leads to itself, which is no file
    for directory in directories:
        for path in (root / directory, *sorted((root / directory).rglob("*"))):
            if path.is_symlink() and not Path(os.path.realpath(path)).is_relative_to(inside):
                raise LinkOutside(f"{path.relative_to(root).as_posix()}: is a link that leads outside the bundle")
            if path.is_file():
                yield path


def is_directory_meant(text: str) -> bool:
    """Report whether an argument IMAGE|DIRECTORY means a directory: the path exists, or it cannot be an image with its
    registry."""
    if Path(text).exists() or text.startswith((".", "/", "~")):
        return True
    # Imported here because commands that take directories alone need no references.
    from olmkit.sources.errors import BadReference
    from olmkit.sources.oci.reference import parse

    try:
        parse(text)
    except BadReference:
        return True
    return "/" not in text and ":" not in text


def check_directory(
    path: Path, otherwise: str = "give the directory of a bundle, or an image with its registry"
) -> None:
    """Raise CommandError if the path of an argument is no directory. `otherwise` says what the argument may be, too."""
    if not path.is_dir():
        problem = "is a file" if path.exists() else "there is no such directory"
        raise CommandError(WRONG_USAGE, f"{path}: {problem}: {otherwise}")


def _is_bundle(directory: Path) -> bool:
    """Report whether a directory with manifests/ is a bundle, as config/ of a project is not."""
    return (directory / "metadata").is_dir() or directory.name == "bundle"


def no_manifests(directory: Path) -> str:
    """The error about the directory of an argument that is no bundle: it names one below, as the directory of a project has."""
    below = sorted(path.parent for path in directory.glob("*/manifests") if _is_bundle(path.parent))
    example = f", such as {below[0]}" if below else ""
    wanted = f"give the directory of one version of one bundle{example}"
    return f'{directory} has no "manifests" directory with files in it: {wanted}'
