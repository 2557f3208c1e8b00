"""The files of an image as a directory, and the names in an archive."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any

from olmctl.authoring.images.image import Image
from olmctl.authoring.images.layout import INDEX


def unpack(image: Image, directory: Path) -> None:
    """Unpack the layers to a new directory. They must not delete files of each other (no whiteouts). Needs root."""
    directory.mkdir(parents=True)
    for blob in image.blobs[1:]:
        with blob.open() as content, tarfile.open(fileobj=content, mode="r|*") as layer:
            layer.extractall(directory, filter="fully_trusted", numeric_owner=True)


def unpacked_size(directory: Path) -> int:
    """Bytes of the files below a directory."""
    return sum(path.lstat().st_size for path in directory.rglob("*") if path.is_file() and not path.is_symlink())


def named_manifests(archive: Path) -> list[dict[str, Any]]:
    """The manifests in the index of an archive, one for each name."""
    with tarfile.open(archive) as opened:
        file = opened.extractfile(INDEX)
        assert file is not None
        found: list[dict[str, Any]] = json.load(file)["manifests"]
    return found
