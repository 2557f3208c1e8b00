"""`olm bundle build DIRECTORY`: write the image of a bundle, without a container engine."""

from __future__ import annotations

from pathlib import Path

from olmctl.authoring.images.contents import bundle_content
from olmctl.authoring.images.delivery import write_image


def build(directory: str, output: Path | None, tags: tuple[str, ...]) -> int:
    """Write the image of the bundle in DIRECTORY to a file, or to a directory with an OCI layout."""
    return write_image(bundle_content(Path(directory)), output, tags)
