"""Reads the bundle of a directory: registry+v1 if it has metadata/, else plain+v0."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from olmctl.directory_files import LinkOutside, files_below, no_manifests
from rukpak.format import BadBundle, Bundle, read_plain, read_registry
from rukpak.format.errors import UNPACK_FAILED


def read_directory(directory: Path) -> Bundle:
    """The bundle. Raises BadBundle, OSError."""
    files = bundle_files(directory)
    return read_registry(files) if (directory / "metadata").is_dir() else read_plain(files)


def bundle_files(directory: Path) -> Mapping[str, bytes]:
    """The files of the bundle by path. Raises BadBundle, OSError."""
    if not directory.is_dir():
        raise BadBundle(UNPACK_FAILED, f"{directory}: no such directory")
    try:
        paths = list(files_below(directory, ("manifests", "metadata")))
    except LinkOutside as error:
        raise BadBundle(UNPACK_FAILED, f"{directory}/{error}") from None
    files = {path.relative_to(directory).as_posix(): path.read_bytes() for path in paths}
    if not any(name.startswith("manifests/") for name in files):
        raise BadBundle(UNPACK_FAILED, no_manifests(directory))
    return files
