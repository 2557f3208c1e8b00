"""Hostile layers, and how to push them unchanged. Nothing here is ever held uncompressed.

A layer is compressed in parts, and a part that is repeated is compressed once, as gzip members and zstd frames may follow each
other. So 2 GB are a few MB here and in the registry, and only the process that unpacks them is affected.
"""

import gzip
import http.client
import io
import json
import tarfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit

import zstandard

from olmctl.authoring.images.labels import CONFIGS_LABEL
from tests.images import digest_of

MEGABYTE = 1024 * 1024
ZEROS = b"\0" * (16 * MEGABYTE)
Part = tuple[bytes, int]
"""Some bytes, and how often they are repeated."""

_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_CONFIG = "application/vnd.oci.image.config.v1+json"
_LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
_TIMEOUT_SECONDS = 60.0


def archive(*entries: tarfile.TarInfo) -> bytes:
    """A tar archive of exactly these entries; files are empty."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for entry in entries:
            tar.addfile(entry)
    return buffer.getvalue()


def file(path: str) -> tarfile.TarInfo:
    """An empty file."""
    return tarfile.TarInfo(path)


def link(path: str, target: str, kind: bytes = tarfile.SYMTYPE) -> tarfile.TarInfo:
    """A symbolic link, or with tarfile.LNKTYPE a hard link."""
    entry = tarfile.TarInfo(path)
    entry.type, entry.linkname = kind, target
    return entry


def special(path: str, kind: bytes) -> tarfile.TarInfo:
    """A device or a named pipe."""
    entry = tarfile.TarInfo(path)
    entry.type, entry.devmajor, entry.devminor = kind, 1, 3
    return entry


def gzipped(parts: Iterable[Part]) -> bytes:
    """The parts one after the other, as gzip."""
    return b"".join(gzip.compress(data, 1, mtime=0) * times for data, times in parts if data)


def zstd(parts: Iterable[Part]) -> bytes:
    """The parts one after the other, as zstd."""
    compressor = zstandard.ZstdCompressor(level=1)
    return b"".join(compressor.compress(data) * times for data, times in parts if data)


def header(path: str, size: int = 0, kind: bytes = tarfile.REGTYPE, target: str = "") -> bytes:
    """The tar header of an entry; its content follows. Names may contain bytes that are not UTF-8."""
    entry = tarfile.TarInfo(path)
    entry.size, entry.type, entry.mode, entry.linkname = size, kind, 0o644, target
    return entry.tobuf(tarfile.GNU_FORMAT, "utf-8", "surrogateescape")


def member(path: str, *parts: Part) -> list[Part]:
    """A file of these parts in a tar archive."""
    size = sum(len(data) * times for data, times in parts)
    return [(header(path, size), 1), *parts, (b"\0" * (-size % tarfile.BLOCKSIZE), 1)]


def tar(*members: Sequence[Part]) -> list[Part]:
    """A tar archive of members."""
    return [*(part for each in members for part in each), (b"\0" * (2 * tarfile.BLOCKSIZE), 1)]


def catalog(*parts: Part, name: str = "catalog.json", pack: Callable[[Iterable[Part]], bytes] = gzipped) -> bytes:
    """A layer with one file of a catalog."""
    return pack(tar(member(f"configs/{name}", *parts)))


def blob(schema: str, **fields: Any) -> bytes:
    """One line of JSON."""
    return json.dumps({"schema": schema, **fields}).encode() + b"\n"


def push(
    registry: str,
    repository: str,
    layers: Sequence[bytes],
    directory: str = "/configs",
    repeat: int = 1,
    labels: Mapping[str, str] | None = None,
) -> str:
    """Push an image of these layers as they are, all of them `repeat` times; returns its reference by digest. `labels` are
    those of an image that is none of a catalog."""
    given = {CONFIGS_LABEL: directory} if labels is None else dict(labels)
    config = _json({"architecture": "amd64", "os": "linux", "config": {"Labels": given}})
    descriptors = [_upload(registry, repository, layer, _LAYER) for layer in layers] * repeat
    manifest = {
        "schemaVersion": 2,
        "mediaType": _MANIFEST,
        "config": _upload(registry, repository, config, _CONFIG),
        "layers": descriptors,
    }
    data = _json(manifest)
    digest = digest_of(data)
    _send(registry, "PUT", f"/v2/{repository}/manifests/{digest}", data, _MANIFEST)
    return f"{registry}/{repository}@{digest}"


def _upload(registry: str, repository: str, data: bytes, media_type: str) -> dict[str, Any]:
    digest = digest_of(data)
    at = urlsplit(_send(registry, "POST", f"/v2/{repository}/blobs/uploads/"))
    separator = f"?{at.query}&" if at.query else "?"
    _send(registry, "PUT", f"{at.path}{separator}digest={digest}", data, "application/octet-stream")
    return {"mediaType": media_type, "digest": digest, "size": len(data)}


def _send(registry: str, method: str, path: str, body: bytes = b"", kind: str = "") -> str:
    """The Location of the answer."""
    with closing(http.client.HTTPConnection(registry, timeout=_TIMEOUT_SECONDS)) as connection:
        connection.request(method, path, body, {"Content-Type": kind} if kind else {})
        answer = connection.getresponse()
        said = answer.read()
        assert answer.status < http.client.BAD_REQUEST, f"{method} {path}: {answer.status} {said[:200]!r}"
        return answer.headers.get("Location", "")


def _json(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


OUT_OF_THE_IMAGE: Sequence[tuple[str, tarfile.TarInfo, str]] = (
    ("a path with ..", file("configs/../../evil.yaml"), 'contains "configs/../../evil.yaml": a path outside the image'),
    ("an absolute path", file("/configs/evil.yaml"), 'contains "/configs/evil.yaml": an absolute path'),
    (
        "a symbolic link out",
        link("configs/evil.yaml", "../../etc/passwd"),
        '"configs/evil.yaml", a link to "../../etc/passwd", which is outside',
    ),
    (
        "a hard link out",
        link("configs/evil.yaml", "../../etc/passwd", tarfile.LNKTYPE),
        '"../../etc/passwd": a path outside',
    ),
    ("a character device", special("configs/null", tarfile.CHRTYPE), '"configs/null", which is a device'),
    ("a block device", special("configs/sda", tarfile.BLKTYPE), '"configs/sda", which is a device'),
    ("a named pipe", special("configs/pipe", tarfile.FIFOTYPE), '"configs/pipe", which is a named pipe'),
    ("a whiteout outside", file("configs/../../etc/.wh.passwd"), "a path outside the image"),
    ("an opaque whiteout outside", file("../.wh..wh..opq"), "a path outside the image"),
    ("a whiteout of what is above", file("configs/.wh..."), "a whiteout without a name"),
)
"""(what, the only entry of the layer, what a message should say of it)."""
