"""The platforms of images on a real registry."""

from __future__ import annotations

import pytest

from olmkit.sources.errors import BadContent, ImageNotFound
from olmkit.sources.oci.platforms import platforms
from olmkit.sources.oci.registries_conf import Registries
from tests import images
from tests.images import MANIFEST
from tests.servers.local_registry import LocalRegistry


async def test_platforms_are_those_of_the_index_or_of_the_config(local_registry: LocalRegistry) -> None:
    registries = Registries.load(local_registry.registries_conf)
    host = local_registry.address
    digest = images.push(host, "platforms/one", "v1", [], {})
    entries = dict.fromkeys(("linux/amd64", "linux/arm64", "unknown/unknown"), digest)
    images.push_index(host, "platforms/one", "both", entries)
    assert await platforms(f"{host}/platforms/one:v1", registries) == (("linux", "amd64"),)
    assert await platforms(f"{host}/platforms/one:both", registries) == (("linux", "amd64"), ("linux", "arm64"))
    with pytest.raises(ImageNotFound):
        await platforms(f"{host}/platforms/one:gone", registries)
    manifest = images.push_blobs(host, "platforms/one", [], {})
    artifact = {**manifest, "config": {**manifest["config"], "mediaType": "application/vnd.example.config+json"}}
    images.push_manifest(host, "platforms/one", "other", artifact, MANIFEST["oci"])
    with pytest.raises(BadContent):
        await platforms(f"{host}/platforms/one:other", registries)
