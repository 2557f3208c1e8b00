"""Reads and rewrites OCI archives: a tar of an image layout, as buildah writes it."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

REFERENCE_NAME = "org.opencontainers.image.ref.name"
NODE_NAME = "io.containerd.image.name"
"""The name under which containerd imports an image. Nodes look for a name without a registry in DEFAULT_REPOSITORY."""
DEFAULT_REPOSITORY = "docker.io/library"


def write_archive(layout: Path, target: Path, tags: Sequence[str], time: int) -> str:
    """Write the layout (a directory with one image) as an archive in which each of `tags` names the image. Returns its digest.

    Equal images give equal archives: files are sorted and have the time `time`, in seconds since 1970.
    """
    index = json.loads((layout / "index.json").read_text())
    (manifest,) = index["manifests"]
    manifest.pop("annotations", None)
    index["manifests"] = [
        {**manifest, "annotations": {REFERENCE_NAME: tag, NODE_NAME: f"{DEFAULT_REPOSITORY}/{tag}"}} for tag in tags
    ]
    with tarfile.open(target, "w", format=tarfile.GNU_FORMAT) as archive:
        for path in sorted(path for path in layout.rglob("*") if path.is_file()):
            content = json.dumps(index).encode() if path.name == "index.json" else path.read_bytes()
            member = tarfile.TarInfo(path.relative_to(layout).as_posix())
            member.size, member.mtime, member.mode = len(content), time, 0o644
            archive.addfile(member, BytesIO(content))
    digest: str = manifest["digest"]
    return digest


class Image:
    """An image in an OCI archive. Layers are read when they are asked for."""

    def __init__(self, archive: Path) -> None:
        """Raises OSError, tarfile.TarError, KeyError or ValueError for what is no OCI archive."""
        self._archive = archive
        self.index: dict[str, Any] = self._json("index.json")
        self.digest: str = self.index["manifests"][0]["digest"]
        self.manifest: dict[str, Any] = self._json(_blob(self.digest))
        self.configuration: dict[str, Any] = self._json(_blob(self.manifest["config"]["digest"]))

    @property
    def compressed_size(self) -> int:
        """Bytes that a node pulls."""
        return sum(layer["size"] for layer in self.manifest["layers"])

    def unpack(self, directory: Path) -> None:
        """Unpack the layers to a new directory. They must not delete files of each other (no whiteouts). Needs root."""
        directory.mkdir(parents=True)
        with tarfile.open(self._archive) as outer:
            for layer in self.manifest["layers"]:
                content = outer.extractfile(_blob(layer["digest"]))
                with tarfile.open(fileobj=content) as inner:
                    inner.extractall(directory, filter="fully_trusted", numeric_owner=True)

    def read_manifest(self) -> bytes:
        """The manifest as it is stored, which its digest is of."""
        return self._read(_blob(self.digest))

    def read_blobs(self) -> Iterator[bytes]:
        """The blobs that the manifest names: the configuration and the layers."""
        for each in (self.manifest["config"], *self.manifest["layers"]):
            yield self._read(_blob(each["digest"]))

    def _json(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self._read(name))
        return found

    def _read(self, name: str) -> bytes:
        with tarfile.open(self._archive) as outer:
            return (outer.extractfile(name) or BytesIO()).read()


def _blob(digest: str) -> str:
    return f"blobs/{digest.replace(':', '/')}"


def unpacked_size(directory: Path) -> int:
    """Bytes of the files below a directory."""
    return sum(path.lstat().st_size for path in directory.rglob("*") if path.is_file() and not path.is_symlink())
