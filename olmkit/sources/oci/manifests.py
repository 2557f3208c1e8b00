"""Manifests and indexes of OCI and Docker: parsed from the bytes of a registry, and the platform selected from an index.

Pure. The bytes are untrusted: for any input the result is a value or InvalidManifest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from olmkit.api.names import is_digest
from olmkit.sources.errors import quoted

OCI_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
OCI_INDEX = "application/vnd.oci.image.index.v1+json"
DOCKER_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
DOCKER_MANIFEST_LIST = "application/vnd.docker.distribution.manifest.list.v2+json"
MANIFEST_MEDIA_TYPES = frozenset({OCI_MANIFEST, DOCKER_MANIFEST})
INDEX_MEDIA_TYPES = frozenset({OCI_INDEX, DOCKER_MANIFEST_LIST})
ACCEPT_HEADER = ", ".join((OCI_MANIFEST, OCI_INDEX, DOCKER_MANIFEST, DOCKER_MANIFEST_LIST))
LAYER_MEDIA_TYPES = frozenset(
    f"application/vnd.{kind}"
    for kind in (
        "oci.image.layer.v1.tar",
        "oci.image.layer.v1.tar+gzip",
        "oci.image.layer.v1.tar+zstd",
        "docker.image.rootfs.diff.tar",
        "docker.image.rootfs.diff.tar.gzip",
        "docker.image.rootfs.diff.tar.zstd",
    )
)
FOREIGN_LAYER_MEDIA_TYPES = (
    "application/vnd.docker.image.rootfs.foreign.",
    "application/vnd.oci.image.layer.nondistributable.",
)
"""Layers that are not stored in the registry but at a URL in the manifest."""

CONFIG_MEDIA_TYPES = frozenset(
    {"application/vnd.oci.image.config.v1+json", "application/vnd.docker.container.image.v1+json"}
)
CHART_CONFIG_MEDIA_TYPE = "application/vnd.cncf.helm.config.v1+json"
CHART_MEDIA_TYPES = frozenset({"application/vnd.cncf.helm.chart.content.v1.tar+gzip", "application/tar+gzip"})
"""The layer of a chart, as Helm pushes it and as older versions did. Others, such as its provenance, are left out."""
ARCHITECTURES: Mapping[str, str] = {"x86_64": "amd64", "aarch64": "arm64", "armv7l": "arm", "i686": "386"}
"""The machine of os.uname() to the architecture of image indexes; others have the same name (ppc64le, s390x, riscv64)."""
MAX_LAYERS = 500
MAX_INDEX_DEPTH = 4
"""Nested indexes on the way to an image."""


class InvalidManifest(ValueError):
    """The message follows "image X "."""


@dataclass(frozen=True)
class Descriptor:
    """A blob by digest; `platform` is (os, architecture) where an index has it."""

    media_type: str
    digest: str
    size: int
    platform: tuple[str, str] | None = None
    attestation: bool = False


@dataclass(frozen=True)
class Manifest:
    """One image."""

    config: Descriptor
    layers: tuple[Descriptor, ...]


@dataclass(frozen=True)
class Index:
    """Images for several platforms."""

    entries: tuple[Descriptor, ...]


def parse(data: bytes, content_type: str, *, is_chart_wanted: bool = False) -> Manifest | Index:
    """Parse a manifest or an index; its own media type takes precedence over the header. With `is_chart_wanted`, also that of a
    Helm chart, an artifact with the packed chart as its only layer. Raises InvalidManifest."""
    document = _object(data, "has a manifest that")
    own_type = document.get("mediaType")
    kind = own_type if isinstance(own_type, str) and own_type else content_type
    if "manifests" in document and ("layers" in document or "config" in document):
        raise InvalidManifest("has a manifest that is both an index and an image")
    if kind in INDEX_MEDIA_TYPES or (kind not in MANIFEST_MEDIA_TYPES and "manifests" in document):
        return Index(tuple(descriptor(each) for each in _list(document, "manifests")))
    if kind in MANIFEST_MEDIA_TYPES or "layers" in document:
        return _manifest(document, is_chart_wanted=is_chart_wanted)
    if document.get("schemaVersion") == 1:
        raise InvalidManifest("is in Docker's old format, schema 1: push it as an OCI or a Docker v2 image")
    raise InvalidManifest(f"has a manifest of type {quoted(kind)}: push it as an OCI or a Docker v2 image")


def choose(index: Index, machine: str) -> Descriptor:
    """The entry for linux on this machine (os.uname().machine), else linux/amd64, else the first for linux or for no platform.

    Content is not executed, so the image of another architecture serves; that of another operating system has other paths. The
    entry may be an index. Raises InvalidManifest, with the platforms that exist.
    """
    images = sorted(filter(_is_image, index.entries), key=lambda entry: entry.media_type in INDEX_MEDIA_TYPES)
    for architecture in (ARCHITECTURES.get(machine, machine), "amd64"):
        for entry in images:
            if entry.platform == ("linux", architecture):
                return entry
    if not images:
        raise InvalidManifest("has an index without an image in it")
    for entry in images:
        if entry.platform is None or entry.platform[0] == "linux":
            return entry
    available = ", ".join(sorted({"/".join(entry.platform) for entry in images if entry.platform}))
    raise InvalidManifest(f"has no image for linux, only for {quoted(available)}")


def labels(config: bytes) -> dict[str, str]:
    """The labels of an image's config. Raises InvalidManifest."""
    inner = _object(config, "has a config that").get("config")
    found = inner.get("Labels") if isinstance(inner, dict) else None
    if not isinstance(found, dict):
        return {}
    return {key: value for key, value in found.items() if isinstance(value, str)}


def platforms(index: Index) -> tuple[tuple[str, str], ...]:
    """The platforms (os, architecture) of the images of an index, in its order."""
    return tuple(dict.fromkeys(entry.platform for entry in filter(_is_image, index.entries) if entry.platform))


def platform_of(config: bytes) -> tuple[str, str]:
    """The platform (os, architecture) of an image's config; linux and amd64 if it has none. Raises InvalidManifest."""
    document = _object(config, "has a config that")
    return str(document.get("os") or "linux"), str(document.get("architecture") or "amd64")


def tags(data: bytes) -> list[str] | None:
    """The tags of a list of the distribution API; None if it is none."""
    try:
        found = orjson.loads(data)
    except orjson.JSONDecodeError:
        return None
    listed = (found.get("tags") or []) if isinstance(found, dict) else None
    return [each for each in listed if isinstance(each, str)] if isinstance(listed, list) else None


def _is_image(entry: Descriptor) -> bool:
    known = entry.media_type in MANIFEST_MEDIA_TYPES | INDEX_MEDIA_TYPES
    return known and not entry.attestation and (entry.platform is None or "unknown" not in entry.platform)


def _object(data: bytes, subject: str) -> dict[str, Any]:
    try:
        document = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise InvalidManifest(f"{subject} is not JSON") from error
    if not isinstance(document, dict):
        raise InvalidManifest(f"{subject} is not a JSON object")
    return document


def _list(document: Mapping[str, Any], key: str) -> Sequence[Any]:
    value = document.get(key)
    if not isinstance(value, list):
        raise InvalidManifest(f"has a manifest without a list of {key}")
    return value


def _manifest(document: Mapping[str, Any], *, is_chart_wanted: bool) -> Manifest:
    config = descriptor(document.get("config"))
    if is_chart_wanted and config.media_type == CHART_CONFIG_MEDIA_TYPE:
        found = [descriptor(each) for each in _list(document, "layers")]
        charts = tuple(each for each in found if each.media_type in CHART_MEDIA_TYPES)
        if len(charts) != 1:
            raise InvalidManifest(f"is a Helm chart with {len(charts)} layers of charts; it has to have one")
        return Manifest(config, charts)
    if config.media_type not in CONFIG_MEDIA_TYPES:
        kind = document.get("artifactType") or config.media_type
        raise InvalidManifest(f"is not an image but an artifact of the type {quoted(str(kind))}")
    layers = tuple(_layer(each) for each in _list(document, "layers"))
    if len(layers) > MAX_LAYERS:
        raise InvalidManifest(f"has {len(layers)} layers; at most {MAX_LAYERS} are read")
    return Manifest(config, layers)


def _layer(value: Any) -> Descriptor:
    layer = descriptor(value)
    if layer.media_type.startswith(FOREIGN_LAYER_MEDIA_TYPES):
        raise InvalidManifest(
            f"has a layer that is not kept in the registry ({quoted(layer.media_type)}): push it with all layers"
        )
    if layer.media_type not in LAYER_MEDIA_TYPES:
        raise InvalidManifest(f"has a layer of type {quoted(layer.media_type)}: it does not contain a file system")
    return layer


def descriptor(value: Any) -> Descriptor:
    """The descriptor of a manifest or an index. Raises InvalidManifest."""
    if not isinstance(value, dict):
        raise InvalidManifest("has a manifest with an entry that is not a descriptor")
    digest, size = value.get("digest"), value.get("size")
    if not isinstance(digest, str) or not is_digest(digest):
        raise InvalidManifest(f"has a manifest with {quoted(str(digest))}, which is not a digest")
    if not isinstance(size, int) or isinstance(size, bool) or size < 0:
        raise InvalidManifest(f"has a manifest with a descriptor without a size ({digest})")
    return Descriptor(str(value.get("mediaType", "")), digest, size, _platform(value), _is_attestation(value))


def _platform(value: Mapping[str, Any]) -> tuple[str, str] | None:
    platform = value.get("platform")
    if not isinstance(platform, dict):
        return None
    return str(platform.get("os", "")), str(platform.get("architecture", ""))


def _is_attestation(value: Mapping[str, Any]) -> bool:
    annotations = value.get("annotations")
    return isinstance(annotations, dict) and "vnd.docker.reference.type" in annotations
