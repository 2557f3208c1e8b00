"""`olm bundle push PATH IMAGE...`: push the image of a bundle, without a container engine."""

from __future__ import annotations

from pathlib import Path

from olmctl.authoring.images.contents import bundle_content
from olmctl.authoring.images.delivery import push_image
from olmkit.sources.access import Access


def push(
    path: str,
    references: tuple[str, ...],
    registries_conf: Path | None,
    pull_cas_dir: Path | None,
    allow_source_cidr: tuple[str, ...],
) -> int:
    """Push the bundle in PATH, its directory or an image that was built before, to the references."""
    return push_image(Path(path), bundle_content, references, Access(registries_conf, pull_cas_dir, allow_source_cidr))
