"""Builds images for tests, valid or malicious, and pushes them to a real registry over plain HTTP.

`push` pushes an image of tar archives (`tar`), `push_index` an index of images for platforms, and `push_manifest` any bytes.
devcluster.images pushes real content.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import zstandard

Media = Literal["oci", "docker"]
Compression = Literal["gzip", "zstd", "plain"]

MANIFEST: Mapping[Media, str] = {
    "oci": "application/vnd.oci.image.manifest.v1+json",
    "docker": "application/vnd.docker.distribution.manifest.v2+json",
}
INDEX: Mapping[Media, str] = {
    "oci": "application/vnd.oci.image.index.v1+json",
    "docker": "application/vnd.docker.distribution.manifest.list.v2+json",
}
CONFIG: Mapping[Media, str] = {
    "oci": "application/vnd.oci.image.config.v1+json",
    "docker": "application/vnd.docker.container.image.v1+json",
}
LAYER: Mapping[tuple[Media, Compression], str] = {
    ("oci", "gzip"): "application/vnd.oci.image.layer.v1.tar+gzip",
    ("oci", "zstd"): "application/vnd.oci.image.layer.v1.tar+zstd",
    ("oci", "plain"): "application/vnd.oci.image.layer.v1.tar",
    ("docker", "gzip"): "application/vnd.docker.image.rootfs.diff.tar.gzip",
    ("docker", "zstd"): "application/vnd.docker.image.rootfs.diff.tar.zstd",
    ("docker", "plain"): "application/vnd.docker.image.rootfs.diff.tar",
}


@dataclass(frozen=True)
class Entry:
    """A member of a layer, written unchanged: names are not normalized, and no parent directories are added."""

    name: str
    data: bytes = b""
    kind: bytes = tarfile.REGTYPE
    target: str = ""
    pax: Mapping[str, str] = field(default_factory=dict)


def file(name: str, data: bytes | str = b"") -> Entry:
    """A regular file."""
    return Entry(name, data.encode() if isinstance(data, str) else data)


def directory(name: str) -> Entry:
    """A directory."""
    return Entry(name, kind=tarfile.DIRTYPE)


def link(name: str, target: str) -> Entry:
    """A symbolic link."""
    return Entry(name, kind=tarfile.SYMTYPE, target=target)


def hard_link(name: str, target: str) -> Entry:
    """A hard link."""
    return Entry(name, kind=tarfile.LNKTYPE, target=target)


def device(name: str) -> Entry:
    """A character device."""
    return Entry(name, kind=tarfile.CHRTYPE)


def pipe(name: str) -> Entry:
    """A named pipe."""
    return Entry(name, kind=tarfile.FIFOTYPE)


def tar(entries: Iterable[Entry] | Mapping[str, bytes | str]) -> bytes:
    """A tar archive of the entries in their order, or of files by path."""
    if isinstance(entries, Mapping):
        entries = [file(name, data) for name, data in entries.items()]
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for entry in entries:
            info = tarfile.TarInfo(entry.name)
            info.type, info.linkname, info.pax_headers = entry.kind, entry.target, dict(entry.pax)
            info.size, info.mode = len(entry.data), 0o755 if entry.kind == tarfile.DIRTYPE else 0o644
            archive.addfile(info, io.BytesIO(entry.data))
    return buffer.getvalue()


def zipped(files: Mapping[str, bytes | str]) -> bytes:
    """A zip archive of files by path, deflated."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def digest_of(data: bytes) -> str:
    """The sha256 digest."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def push(
    registry: str,
    repository: str,
    tag: str,
    layers: Sequence[bytes],
    labels: Mapping[str, str],
    media: Media = "oci",
    *,
    compression: Compression = "gzip",
) -> str:
    """Push an image of these tar archives under `repository:tag` to the registry at "host:port"; returns its digest."""
    manifest = push_blobs(registry, repository, layers, labels, media, compression=compression)
    return push_manifest(registry, repository, tag, manifest, MANIFEST[media])


def push_blobs(
    registry: str,
    repository: str,
    layers: Sequence[bytes],
    labels: Mapping[str, str],
    media: Media = "oci",
    *,
    compression: Compression = "gzip",
) -> dict[str, Any]:
    """Push config and layers; returns their manifest, for tests that change it before they push it."""
    config = {
        "architecture": "amd64",
        "os": "linux",
        "config": {"Labels": dict(labels)},
        "rootfs": {"type": "layers", "diff_ids": [digest_of(layer) for layer in layers]},
    }
    kind = LAYER[media, compression]
    return {
        "schemaVersion": 2,
        "mediaType": MANIFEST[media],
        "config": push_blob(registry, repository, _json(config), CONFIG[media]),
        "layers": [push_blob(registry, repository, _compressed(layer, compression), kind) for layer in layers],
    }


def push_index(
    registry: str,
    repository: str,
    tag: str,
    images: Mapping[str, str],
    media: Media = "oci",
    *,
    annotations: Mapping[str, Mapping[str, str]] | None = None,
) -> str:
    """Push an index of existing images, by "os/architecture" to digest; returns its digest."""
    entries = []
    for platform, digest in images.items():
        system, _, architecture = platform.partition("/")
        body, _ = _send(registry, "GET", f"/v2/{repository}/manifests/{digest}", accept=MANIFEST[media])
        entries.append(
            {
                "mediaType": MANIFEST[media],
                "digest": digest,
                "size": len(body),
                "platform": {"os": system, "architecture": architecture},
                **({"annotations": dict(annotations[platform])} if annotations and platform in annotations else {}),
            }
        )
    index = {"schemaVersion": 2, "mediaType": INDEX[media], "manifests": entries}
    return push_manifest(registry, repository, tag, index, INDEX[media])


def push_manifest(registry: str, repository: str, version: str, manifest: Any, kind: str) -> str:
    """Push a manifest (bytes, or a value for JSON) unchanged under a tag or digest; returns its digest."""
    body = manifest if isinstance(manifest, bytes) else _json(manifest)
    _send(registry, "PUT", f"/v2/{repository}/manifests/{version}", body, content_type=kind)
    return digest_of(body)


def push_blob(registry: str, repository: str, data: bytes, kind: str) -> dict[str, Any]:
    """Push a blob if it does not exist; returns its descriptor."""
    digest = digest_of(data)
    try:
        _send(registry, "HEAD", f"/v2/{repository}/blobs/{digest}")
    except urllib.error.HTTPError:
        _, headers = _send(registry, "POST", f"/v2/{repository}/blobs/uploads/", b"")
        location = headers["Location"]
        _send(registry, "PUT", f"{location}{'&' if '?' in location else '?'}digest={digest}", data)
    return {"mediaType": kind, "digest": digest, "size": len(data)}


def _send(
    registry: str, method: str, path: str, body: bytes | None = None, *, content_type: str = "", accept: str = ""
) -> tuple[bytes, Mapping[str, str]]:
    headers = {"Content-Type": content_type or "application/octet-stream"} if body is not None else {}
    url = path if path.startswith("http") else f"http://{registry}{path}"
    request = urllib.request.Request(url, body, headers | ({"Accept": accept} if accept else {}), method=method)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.read(), answer.headers


def _compressed(data: bytes, compression: Compression) -> bytes:
    match compression:
        case "gzip":
            return gzip.compress(data, 1, mtime=0)
        case "zstd":
            return zstandard.ZstdCompressor().compress(data)
        case "plain":
            return data


def _json(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True).encode()
