"""The container images of the operators, in a real registry: the base, one more layer, and the operator as the command."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import urllib.request

from devcluster.images import Registry
from devcluster.operators.images import push_images
from olmctl.authoring.images.image import Image, make_image
from olmctl.authoring.images.layers import compressed, digest_of
from tests.servers.local_registry import LocalRegistry

MANIFEST = "application/vnd.oci.image.manifest.v1+json"


def base_image() -> Image:
    """An image with one layer, like that of the suite."""
    settings = {"Env": ["PATH=/app/bin"], "User": "65532:65532", "Cmd": ["olm"]}
    return make_image([compressed({"app/bin/python": b""})], settings)


def pulled(reference: str, kind: str, digest: str) -> bytes:
    """A manifest or blob of the repository of the reference."""
    host, _, repository = reference.partition("@")[0].partition("/")
    url = f"http://{host}/v2/{repository}/{kind}/{digest}"
    with urllib.request.urlopen(urllib.request.Request(url, headers={"Accept": MANIFEST}), timeout=10) as answer:
        content: bytes = answer.read()
    assert digest_of(content) == digest
    return content


def test_an_image_is_the_base_with_the_sources_of_the_operator(local_registry: LocalRegistry) -> None:
    base = base_image()
    pushed = push_images(Registry(local_registry.address), local_registry.address, base)
    reference = pushed["greeter.v2.0.0"]
    manifest = json.loads(pulled(reference, "manifests", reference.partition("@")[2]))
    configuration = json.loads(pulled(reference, "blobs", manifest["config"]["digest"]))
    kept, added = manifest["layers"]
    assert [kept] == base.manifest["layers"]
    files = gzip.decompress(pulled(reference, "blobs", added["digest"]))
    assert configuration["rootfs"]["diff_ids"][1:] == [digest_of(files)]
    with tarfile.open(fileobj=io.BytesIO(files)) as archive:
        assert "operators/devcluster/operators/greeter.py" in archive.getnames()
    config = configuration["config"]
    assert config["User"] == "65532:65532"
    assert config["Cmd"] == ["/app/bin/python", "-m", "devcluster.operators.greeter"]
    assert config["Env"] == ["PATH=/app/bin", "PYTHONPATH=/operators", "OPERATOR_VERSION=2.0.0"]
