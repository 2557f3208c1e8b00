"""What the unpack job reports about an image that has another format than its provisioner class."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from olmkit.jobs import JobContext
from olmkit.sources.errors import BadContent
from olmkit.sources.oci.image import FetchedImage
from rukpak.bundle.unpack_job import ReadRequest, read_bundle
from tests import images

REF = "registry.example.com/a@sha256:" + "1" * 64
CONFIG_MAP = b"{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}"


@pytest.mark.parametrize(
    ("files", "message"),
    [
        pytest.param(
            {"manifests/c.yaml": CONFIG_MAP},
            f"image {REF} is not a registry+v1 bundle (it has no /metadata): for a plain+v0 bundle set "
            "spec.template.spec.provisionerClassName to core-rukpak-io-plain",
            id="a plain bundle",
        ),
        pytest.param(
            {"metadata/annotations.yaml": b"annotations: {}"},
            f'image {REF} has no content at "/manifests", where its content should be',
            id="an image without manifests",
        ),
    ],
)
def test_an_image_that_is_not_a_registry_bundle(files: dict[str, bytes], message: str, tmp_path: Path) -> None:
    layer = images.tar([images.file(name, data) for name, data in files.items()])
    with tempfile.TemporaryFile() as blob:
        blob.write(layer)
        blob.flush()
        image = FetchedImage(REF, REF.partition("@")[2], {}, ("manifests", "metadata"), (len(layer),), blob)
        with pytest.raises(BadContent) as caught:
            read_bundle(ReadRequest(image.facts(), "registry+v1"), JobContext(tmp_path, files=[blob]))
    assert (caught.value.message, caught.value.ref) == (message, REF)
