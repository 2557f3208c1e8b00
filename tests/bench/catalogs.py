"""Catalogs for the measurements: the real one as JSON, as YAML and with bundle objects, of any size, as images in a registry.

Large catalogs are written to files and uploaded from them, so they are never in memory completely.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import http.client
import io
import json
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

import yaml

from olmctl.authoring.images.labels import CONFIGS_LABEL

_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
_CONFIG = "application/vnd.oci.image.config.v1+json"
_CHUNK = 1 << 20
Blob = dict[str, Any]


@dataclass(frozen=True)
class Pushed:
    """An image of a catalog: its reference by tag, the bytes of its files, and the number of its packages."""

    ref: str
    bytes: int
    packages: int


def as_json(blobs: list[Blob]) -> bytes:
    """One blob per line."""
    return b"".join(json.dumps(blob, separators=(",", ":")).encode() + b"\n" for blob in blobs)


def as_yaml(blobs: list[Blob]) -> bytes:
    """One document per blob, in block style."""
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    return yaml.dump_all(blobs, Dumper=dumper, explicit_start=True, sort_keys=True, allow_unicode=True).encode()


def packages_of(directory: Path) -> Iterator[tuple[str, list[Blob]]]:
    """The packages of the corpus: name and blobs."""
    for source in sorted((directory / "catalog").glob("*/catalog.json")):
        yield source.parent.name, [json.loads(line) for line in source.read_bytes().splitlines() if line.strip()]


def repeated(directory: Path, copies: int) -> Iterator[tuple[str, list[Blob]]]:
    """The packages of the corpus `copies` times, each copy under other names."""
    for name, blobs in packages_of(directory):
        for copy in range(copies):
            suffix = f"-copy{copy}" if copy else ""
            yield name + suffix, [renamed(blob, suffix) for blob in blobs]


def renamed(blob: Blob, suffix: str) -> Blob:
    """The blob as part of a package with another name; bundles and channels keep their names."""
    if not suffix:
        return blob
    key = "name" if blob["schema"] == "olm.package" else "package"
    renamed = {**blob, key: f"{blob[key]}{suffix}"}
    properties = renamed.get("properties")
    if isinstance(properties, list):
        renamed["properties"] = [
            {**entry, "value": {**entry["value"], "packageName": f"{entry['value']['packageName']}{suffix}"}}
            if entry.get("type") == "olm.package"
            else entry
            for entry in properties
        ]
    return renamed


def with_objects(directory: Path, size: int) -> Iterator[tuple[str, list[Blob]]]:
    """The packages of the corpus with manifests as olm.bundle.object in each bundle, repeated up to `size` bytes."""
    total = 0
    found = [(name, _with_objects(directory, name, blobs)) for name, blobs in packages_of(directory)]
    for copy in count():
        for name, blobs in found:
            suffix = f"-copy{copy}" if copy else ""
            total += sum(len(json.dumps(blob)) for blob in blobs)
            yield name + suffix, [renamed(blob, suffix) for blob in blobs]
            if total >= size:
                return


def _with_objects(directory: Path, package: str, blobs: list[Blob]) -> list[Blob]:
    """Every bundle gets the manifests of the largest available bundle of its package."""
    directories = sorted((directory / "bundles" / package).glob("*/manifests"))
    files = max(([path.read_bytes() for path in sorted(each.iterdir())] for each in directories), key=len, default=[])
    objects = [
        {"type": "olm.bundle.object", "value": {"data": base64.b64encode(json.dumps(document).encode()).decode()}}
        for data in files
        for document in _documents(data)
    ]
    return [
        {**blob, "properties": [*_without_metadata(blob), *objects]}
        if blob["schema"] == "olm.bundle" and objects
        else blob
        for blob in blobs
    ]


def _documents(data: bytes) -> list[Any]:
    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    return [each for each in yaml.load_all(data, Loader=loader) if each]


def _without_metadata(blob: Blob) -> list[Any]:
    """The properties without olm.csv.metadata, which duplicates the objects."""
    return [each for each in blob.get("properties", []) if each["type"] != "olm.csv.metadata"]


def push(
    registry: str, repository: str, files: Iterator[tuple[str, bytes]], scratch: Path, packages: int = 0
) -> Pushed:
    """Push an image with these files (path to content) as one layer, through a file in `scratch`."""
    path = scratch / "layer.tar.gz"
    raw = hashlib.sha256()
    size = 0
    with (
        open(path, "wb") as out,
        gzip.GzipFile(fileobj=out, mode="wb", compresslevel=6, mtime=0) as packed,
        tarfile.open(fileobj=_Tee(packed, raw), mode="w|") as archive,  # type: ignore[call-overload]
    ):
        for name, content in files:
            packages += 1
            size += len(content)
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    layer = _upload(registry, repository, path, _LAYER)
    config = json.dumps(
        {
            **{"architecture": "amd64", "os": "linux", "config": {"Labels": {CONFIGS_LABEL: "/configs"}}},
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{raw.hexdigest()}"]},
        }
    ).encode()
    path.write_bytes(config)
    manifest = {
        "schemaVersion": 2,
        "mediaType": _MANIFEST,
        "config": _upload(registry, repository, path, _CONFIG),
        "layers": [layer],
    }
    path.unlink()
    _request(registry, "PUT", f"/v2/{repository}/manifests/latest", json.dumps(manifest).encode(), _MANIFEST)
    return Pushed(f"{registry}/{repository}:latest", size, packages)


class _Tee:
    """A file that is hashed while it is written."""

    def __init__(self, file: gzip.GzipFile, checksum: Any) -> None:
        self._file, self._checksum = file, checksum

    def write(self, data: bytes) -> int:
        """Write and hash."""
        self._checksum.update(data)
        return self._file.write(data)


def _upload(registry: str, repository: str, path: Path, kind: str) -> dict[str, Any]:
    with open(path, "rb") as file:
        digest = f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"
    location = urlsplit(_request(registry, "POST", f"/v2/{repository}/blobs/uploads/", b"", ""))
    query = f"{location.query}&" if location.query else ""
    with open(path, "rb") as file:
        size = path.stat().st_size
        _request(registry, "PUT", f"{location.path}?{query}digest={digest}", file, "application/octet-stream", size)
    return {"mediaType": kind, "digest": digest, "size": size}


def _request(registry: str, method: str, path: str, body: bytes | IO[bytes], kind: str, size: int | None = None) -> str:
    """The Location of the response. Raises AssertionError for an error status."""
    connection = http.client.HTTPConnection(registry, timeout=600)
    try:
        headers = {"Content-Length": str(len(body) if isinstance(body, bytes) else size)} | (
            {"Content-Type": kind} if kind else {}
        )
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        text = response.read()
        assert response.status < 300, f"{method} {path}: {response.status} {text[:200]!r}"
        return response.getheader("Location", "")
    finally:
        connection.close()
