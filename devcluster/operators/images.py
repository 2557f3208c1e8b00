"""The container images of the operators: the suite's own image with one more layer, the sources of the operators."""

import gzip
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from devcluster.images import Registry, layer
from devcluster.operators.manifests import Bundle, bundles
from devcluster.processes import REPOSITORY

REPOSITORY_NAME = "operators"
"""All container images have one repository, so that the layers of the suite's image are pushed once."""

_SOURCES = ("devcluster/__init__.py", "devcluster/operators/*.py")
_DIRECTORY = "operators"
_LAYER_TYPE = "application/vnd.oci.image.layer.v1.tar+gzip"
_DIGEST_OF_NOTHING = "sha256:" + hashlib.sha256(b"").hexdigest()

Body = dict[str, Any]
Images = Mapping[str, str]
"""Name of a bundle -> reference of the image of its container."""


class BaseImage(Protocol):
    """An image, such as release.archive reads it."""

    manifest: dict[str, Any]
    configuration: dict[str, Any]

    def read_blobs(self) -> Iterator[bytes]:
        """The configuration and the layers."""


def push_images(registry: Registry, host: str, base: BaseImage, found: Sequence[Bundle] = ()) -> Images:
    """Push the container images of these bundles, without of all; the references begin with `host`, and `base` is the image of
    the suite. Raises DevclusterError.
    """
    blobs = list(base.read_blobs())
    added = layer(_sources())
    return {
        each.name: f"{host}/{REPOSITORY_NAME}@{_push_image(registry, each, base, blobs, added)}"
        for each in found or bundles()
    }


def unpushed_images(host: str) -> Images:
    """References of images that do not exist, for nodes that only simulate pods."""
    return {each.name: f"{host}/{REPOSITORY_NAME}@{_DIGEST_OF_NOTHING}" for each in bundles()}


def _sources() -> dict[str, bytes]:
    paths = [path for pattern in _SOURCES for path in REPOSITORY.glob(pattern)]
    return {f"{_DIRECTORY}/{path.relative_to(REPOSITORY).as_posix()}": path.read_bytes() for path in paths}


def _push_image(registry: Registry, bundle: Bundle, base: BaseImage, blobs: list[bytes], added: bytes) -> str:
    """Push the image of a bundle's container; return its digest. The digest of a bundle without one is of no image."""
    if bundle.module is None:
        return _DIGEST_OF_NOTHING
    configuration = json.dumps(_configuration(bundle, base.configuration, added), sort_keys=True).encode()
    packed = gzip.compress(added, 6, mtime=0)
    manifest = {
        **base.manifest,
        "config": {**base.manifest["config"], "digest": _digest(configuration), "size": len(configuration)},
        "layers": [
            *base.manifest["layers"],
            {"mediaType": _LAYER_TYPE, "digest": _digest(packed), "size": len(packed)},
        ],
    }
    content = json.dumps(manifest, sort_keys=True).encode()
    tag = f"{bundle.package}-{bundle.version}"
    # The first blob is the configuration of the base.
    return registry.push_image(REPOSITORY_NAME, tag, content, [configuration, *blobs[1:], packed])


def _configuration(bundle: Bundle, base: Mapping[str, Any], added: bytes) -> Body:
    """The configuration of the suite's image with one more layer, and the operator as its command."""
    command = ["/app/bin/python", "-m", f"devcluster.operators.{bundle.module}"]
    environment = [*base["config"]["Env"], f"PYTHONPATH=/{_DIRECTORY}", f"OPERATOR_VERSION={bundle.version}"]
    layers = {**base["rootfs"], "diff_ids": [*base["rootfs"]["diff_ids"], _digest(added)]}
    history = [*base.get("history", ()), {"created_by": "the sources of the operators"}]
    config = {**base["config"], "Env": environment, "Cmd": command}
    return {**base, "config": config, "rootfs": layers, "history": history}


def _digest(content: bytes) -> str:
    return "sha256:" + hashlib.sha256(content).hexdigest()
