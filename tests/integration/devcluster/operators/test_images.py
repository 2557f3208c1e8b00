"""The container images of the operators, in a real registry: the base, one more layer, and the operator as the command."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
import urllib.request
from collections.abc import Iterator
from typing import Any

from devcluster.images import Registry, layer
from devcluster.operators.images import push_images
from tests.servers.local_registry import LocalRegistry

MANIFEST = "application/vnd.oci.image.manifest.v1+json"


def digest_of(content: bytes) -> str:
    return "sha256:" + hashlib.sha256(content).hexdigest()


class Base:
    """An image with one layer, like that of the suite."""

    def __init__(self) -> None:
        files = layer({"app/bin/python": b""})
        self._layer = gzip.compress(files, mtime=0)
        self.configuration: dict[str, Any] = {
            "architecture": "amd64",
            "os": "linux",
            "config": {"Env": ["PATH=/app/bin"], "User": "65532:65532", "Cmd": ["olm"]},
            "rootfs": {"type": "layers", "diff_ids": [digest_of(files)]},
        }
        self._content = json.dumps(self.configuration).encode()
        described = {"mediaType": "application/vnd.oci.image.layer.v1.tar+gzip", "size": len(self._layer)}
        self.manifest: dict[str, Any] = {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": {
                "mediaType": "application/vnd.oci.image.config.v1+json",
                "size": len(self._content),
                "digest": digest_of(self._content),
            },
            "layers": [{**described, "digest": digest_of(self._layer)}],
        }

    def read_blobs(self) -> Iterator[bytes]:
        yield self._content
        yield self._layer


def pulled(reference: str, kind: str, digest: str) -> bytes:
    """A manifest or blob of the repository of the reference."""
    host, _, repository = reference.partition("@")[0].partition("/")
    url = f"http://{host}/v2/{repository}/{kind}/{digest}"
    with urllib.request.urlopen(urllib.request.Request(url, headers={"Accept": MANIFEST}), timeout=10) as answer:
        content: bytes = answer.read()
    assert digest_of(content) == digest
    return content


def test_an_image_is_the_base_with_the_sources_of_the_operator(local_registry: LocalRegistry) -> None:
    base = Base()
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
