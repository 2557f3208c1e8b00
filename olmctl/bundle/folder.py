"""Reads the bundle of a folder: registry+v1 if it has metadata/, else plain+v0."""

from __future__ import annotations

from pathlib import Path

from olmctl.folder_files import LinkOutside, files_below
from rukpak.format import BadBundle, Bundle, read_plain, read_registry
from rukpak.format.errors import UNPACK_FAILED


def read_folder(folder: Path) -> Bundle:
    """The bundle. Raises BadBundle, OSError."""
    if not folder.is_dir():
        raise BadBundle(UNPACK_FAILED, f"{folder}: no such folder")
    try:
        paths = list(files_below(folder, ("manifests", "metadata")))
    except LinkOutside as error:
        raise BadBundle(UNPACK_FAILED, f"{folder}/{error}") from None
    files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}
    if not any(name.startswith("manifests/") for name in files):
        text = f'{folder} has no "manifests" folder with files in it: give the folder of one version of one bundle'
        raise BadBundle(UNPACK_FAILED, text)
    return read_registry(files) if (folder / "metadata").is_dir() else read_plain(files)
