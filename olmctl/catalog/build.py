"""`olm catalog build DIR`: write the image of a catalog, without a container engine."""

from __future__ import annotations

from pathlib import Path

from olmctl.authoring.images.contents import catalog_content
from olmctl.authoring.images.delivery import write_image


def build(directory: str, output: Path | None, tags: tuple[str, ...]) -> int:
    """Write the image of the catalog in DIR to a file, or to a directory with an OCI layout."""
    return write_image(catalog_content(Path(directory)), output, tags)
