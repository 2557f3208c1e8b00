"""Packs the bundle of a directory as a tgz: the same bytes for the same files, whatever their times, owners, modes and order.

The digest of the archive names the bundle in a source of type upload. Other versions of zlib may compress the same files to other
bytes: who writes the digest into a manifest keeps the archive, too.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import re
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from olmctl.commands import FAILED, WRONG_USAGE, CommandError
from olmctl.directory_files import LinkOutside, check_directory, files_below, no_manifests
from olmkit.api.names import pluralize
from olmkit.api.provisioner_classes import HELM, PLAIN, REGISTRY
from olmkit.sources.content_limits import MAX_UPLOAD_BYTES

CHART_FILE = "Chart.yaml"
_COMPRESSION_LEVEL = 6
_IS_CSV = re.compile(rb"""^\s*["']?kind["']?\s*:\s*["']?ClusterServiceVersion\b""", re.MULTILINE)


@dataclass(frozen=True)
class Archive:
    """An archive, and the digest of each file in it."""

    data: bytes = field(repr=False)
    files: Mapping[str, str] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """The digest of the archive: "sha256:<hex>"."""
        return f"sha256:{hashlib.sha256(self.data).hexdigest()}"

    @property
    def provisioner(self) -> str:
        """The provisioner class that reads these files: a Helm chart, registry+v1 if there is metadata, else plain+v0."""
        if CHART_FILE in self.files:
            return HELM
        return REGISTRY if any(path.startswith("metadata/") for path in self.files) else PLAIN

    def __str__(self) -> str:
        packed = f"{pluralize(len(self.files), 'file')}, " if self.files else ""
        return f"{packed}{len(self.data):,} bytes, {self.digest}"


def archive_of(path: Path) -> Archive:
    """The archive of a directory, or the one in a file. Raises CommandError, OSError."""
    if not path.exists():
        check_directory(path, "give the directory of a bundle, or its archive")
    archive = pack(path) if path.is_dir() else Archive(path.read_bytes())
    if len(archive.data) > MAX_UPLOAD_BYTES:
        text = f"{path}: the archive has {len(archive.data):,} bytes, and at most {MAX_UPLOAD_BYTES:,} can be uploaded"
        raise CommandError(FAILED, text)
    return archive


def pack_bundle(directory: Path) -> tuple[Archive, Mapping[str, bytes]]:
    """The archive, as that of pack, and the files in it, each read once: an editor may save meanwhile. Raises CommandError for a
    registry+v1 bundle that lacks its metadata, OSError."""
    contents = _contents(directory)
    archive = _packed(contents)
    manifests = (data for path, data in contents.items() if path.startswith("manifests/"))
    if archive.provisioner == PLAIN and any(map(_IS_CSV.search, manifests)):
        text = f"{directory} has a ClusterServiceVersion, but no metadata/annotations.yaml: a registry+v1 bundle needs both"
        raise CommandError(FAILED, text)
    return archive, contents


def pack(directory: Path) -> Archive:
    """The archive of the bundle in a directory: manifests/, and metadata/ of a registry+v1 bundle; or of a Helm chart, without
    hidden files. Raises CommandError if there is none, OSError."""
    return _packed(_contents(directory))


def _contents(directory: Path) -> Mapping[str, bytes]:
    """The files of the archive of a directory by path. Raises as pack."""
    check_directory(directory)
    is_chart = (directory / CHART_FILE).is_file()
    try:
        paths = list(files_below(directory, ("",) if is_chart else ("manifests", "metadata")))
    except LinkOutside as error:
        raise CommandError(FAILED, f"{directory}/{error}") from None
    names = {path.relative_to(directory).as_posix(): path for path in paths}
    contents = {name: path.read_bytes() for name, path in names.items() if not (is_chart and _is_hidden(name))}
    if not is_chart and not any(name.startswith("manifests/") for name in contents):
        raise CommandError(WRONG_USAGE, no_manifests(directory))
    return contents


def _packed(contents: Mapping[str, bytes]) -> Archive:
    packed = io.BytesIO()
    with (
        gzip.GzipFile("", "wb", _COMPRESSION_LEVEL, packed, mtime=0) as zipped,
        tarfile.open(fileobj=zipped, mode="w|", format=tarfile.PAX_FORMAT) as archive,
    ):
        for name, data in sorted(contents.items()):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return Archive(packed.getvalue(), {name: hashlib.sha256(data).hexdigest() for name, data in contents.items()})


def _is_hidden(name: str) -> bool:
    """Report whether a part of the path begins with a dot, as those of version control do; .helmignore is a part of a chart."""
    return any(part.startswith(".") and part != ".helmignore" for part in name.split("/"))
