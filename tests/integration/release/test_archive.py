"""The archive of an image: the names that tools find it by."""

from __future__ import annotations

import json
from pathlib import Path

from release.archive import Image, write_archive

DIGEST = "sha256:" + "1" * 64


def layout(directory: Path) -> Path:
    """An image layout with one image, as a builder names it."""
    blobs = directory / "blobs" / "sha256"
    blobs.mkdir(parents=True)
    (blobs / ("1" * 64)).write_text(json.dumps({"config": {"digest": "sha256:" + "2" * 64}, "layers": []}))
    (blobs / ("2" * 64)).write_text(json.dumps({"config": {}}))
    manifest = {"digest": DIGEST, "annotations": {"org.opencontainers.image.ref.name": "of-the-builder"}}
    (directory / "index.json").write_text(json.dumps({"manifests": [manifest]}))
    return directory


def test_each_tag_names_the_image_for_copying_and_for_the_nodes_that_it_is_loaded_to(tmp_path: Path) -> None:
    target = tmp_path / "image.tar"
    digest = write_archive(layout(tmp_path / "layout"), target, ("olm-suite:v1", "olm-suite:latest"), 0)
    assert digest == DIGEST
    assert [each["annotations"] for each in Image(target).index["manifests"]] == [
        {
            "org.opencontainers.image.ref.name": f"olm-suite:{tag}",
            "io.containerd.image.name": f"docker.io/library/olm-suite:{tag}",
        }
        for tag in ("v1", "latest")
    ]
