"""The container images of the operators: the suite's own image with one more layer, the sources of the operators."""

from collections.abc import Mapping, Sequence
from typing import Any

from devcluster.images import Registry
from devcluster.operators.manifests import Bundle, bundles
from devcluster.processes import REPOSITORY
from olmctl.authoring.images.image import Image, descriptor, json_bytes
from olmctl.authoring.images.layers import Layer, StoredBlob, compressed, digest_of

REPOSITORY_NAME = "operators"
"""All container images have one repository, so that the layers of the suite's image are pushed once."""

_SOURCES = ("devcluster/__init__.py", "devcluster/operators/*.py")
_DIRECTORY = "operators"
_DIGEST_OF_NOTHING = digest_of(b"")

Images = Mapping[str, str]
"""Name of a bundle -> reference of the image of its container."""


def push_images(registry: Registry, host: str, base: Image, found: Sequence[Bundle] = ()) -> Images:
    """Push the container images of these bundles, without of all; the references begin with `host`, and `base` is the image of
    the suite. Raises DevclusterError.
    """
    added = compressed(_sources())
    return {
        each.name: f"{host}/{REPOSITORY_NAME}@{_push_image(registry, each, base, added)}" for each in found or bundles()
    }


def unpushed_images(host: str) -> Images:
    """References of images that do not exist, for nodes that only simulate pods."""
    return {each.name: f"{host}/{REPOSITORY_NAME}@{_DIGEST_OF_NOTHING}" for each in bundles()}


def _sources() -> dict[str, bytes]:
    paths = [path for pattern in _SOURCES for path in REPOSITORY.glob(pattern)]
    return {f"{_DIRECTORY}/{path.relative_to(REPOSITORY).as_posix()}": path.read_bytes() for path in paths}


def with_layer(base: Image, layer: Layer, settings: Mapping[str, Any], history: str) -> Image:
    """The image `base` with one more layer, these settings of containers in addition, and a line of its history."""
    known = base.configuration
    configuration = {
        **known,
        "config": {**known["config"], **settings},
        "rootfs": {**known["rootfs"], "diff_ids": [*known["rootfs"]["diff_ids"], layer.diff_id]},
        "history": [*known.get("history", ()), {"created_by": history}],
    }
    config = StoredBlob.of(json_bytes(configuration))
    manifest = {
        **base.manifest,
        "config": {**base.manifest["config"], "digest": config.digest, "size": config.size},
        "layers": [*base.manifest["layers"], descriptor(layer.media_type, layer.blob)],
    }
    return Image(json_bytes(manifest), (config, *base.blobs[1:], layer.blob))


def _push_image(registry: Registry, bundle: Bundle, base: Image, added: Layer) -> str:
    """Push the image of a bundle's container; return its digest. The digest of a bundle without one is of no image."""
    if bundle.module is None:
        return _DIGEST_OF_NOTHING
    settings = {
        "Env": [
            *base.configuration["config"]["Env"],
            f"PYTHONPATH=/{_DIRECTORY}",
            f"OPERATOR_VERSION={bundle.version}",
        ],
        "Cmd": ["/app/bin/python", "-m", f"devcluster.operators.{bundle.module}"],
    }
    image = with_layer(base, added, settings, "the sources of the operators")
    return registry.push_image(REPOSITORY_NAME, f"{bundle.package}-{bundle.version}", image)
