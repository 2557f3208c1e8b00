"""Images as values: a manifest (OCI) and the blobs that it names, which are read when they are needed. Opens no file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from olmctl.authoring.images.layers import Layer, StoredBlob, digest_of
from olmkit.sources.oci.manifests import OCI_MANIFEST

CONFIG_TYPE = "application/vnd.oci.image.config.v1+json"


@dataclass(frozen=True)
class Image:
    """An image: its manifest as it is stored, and its blobs, the configuration first, then the layers, lowest first."""

    manifest_bytes: bytes = field(repr=False)
    blobs: tuple[StoredBlob, ...]

    @cached_property
    def digest(self) -> str:
        """The digest of the manifest, which names the image."""
        return digest_of(self.manifest_bytes)

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """The manifest as JSON values."""
        found: dict[str, Any] = json.loads(self.manifest_bytes)
        return found

    @cached_property
    def configuration(self) -> dict[str, Any]:
        """The configuration as JSON values."""
        found: dict[str, Any] = json.loads(self.blobs[0].read())
        return found

    @property
    def media_type(self) -> str:
        """The media type of the manifest."""
        return str(self.manifest.get("mediaType") or OCI_MANIFEST)


def make_image(layers: Sequence[Layer], settings: Mapping[str, Any]) -> Image:
    """The image of these layers, lowest first, with the settings of containers, such as {"Labels": ...}."""
    configuration = {
        "architecture": "amd64",
        "os": "linux",
        "config": settings,
        "rootfs": {"type": "layers", "diff_ids": [layer.diff_id for layer in layers]},
    }
    config = StoredBlob.of(json_bytes(configuration))
    manifest = {
        "schemaVersion": 2,
        "mediaType": OCI_MANIFEST,
        "config": descriptor(CONFIG_TYPE, config),
        "layers": [descriptor(layer.media_type, layer.blob) for layer in layers],
    }
    return Image(json_bytes(manifest), (config, *(layer.blob for layer in layers)))


def labelled_image(layers: Sequence[Layer], labels: Mapping[str, str]) -> Image:
    """The image of these layers with these labels."""
    return make_image(layers, {"Labels": dict(sorted(labels.items()))})


def descriptor(media_type: str, blob: StoredBlob) -> dict[str, Any]:
    """The descriptor of a blob in a manifest."""
    return {"mediaType": media_type, "digest": blob.digest, "size": blob.size}


def json_bytes(value: Any) -> bytes:
    """JSON without blanks, with sorted keys."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
