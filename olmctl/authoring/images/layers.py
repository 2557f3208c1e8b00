"""Layers of images: files as tar archives whose bytes depend on nothing but the paths and contents of the files.

Entries are sorted, and have no times and no owners. Other versions of zlib may compress the same archive to other bytes. A layer
that is written to a file takes no more memory if it is large.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import tarfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO, cast

TAR_TYPE = "application/vnd.oci.image.layer.v1.tar"
COMPRESSED_TYPE = f"{TAR_TYPE}+gzip"
_COMPRESSION_LEVEL = 6

Files = Mapping[str, bytes | Path]
"""The files of a layer by their paths: the content, or the file of this machine that has it."""


@dataclass(frozen=True)
class StoredBlob:
    """A blob by its digest; each call of `open` returns a stream of its bytes from the begin."""

    digest: str
    size: int
    open: Callable[[], IO[bytes]] = field(repr=False)

    @classmethod
    def of(cls, content: bytes) -> StoredBlob:
        """The blob of these bytes."""
        return cls(digest_of(content), len(content), partial(io.BytesIO, content))

    def read(self) -> bytes:
        """All bytes."""
        with self.open() as stream:
            return stream.read()


@dataclass(frozen=True)
class Layer:
    """A layer as it is stored, and the digest of its tar archive (`diff_id`)."""

    media_type: str
    blob: StoredBlob
    diff_id: str


def compressed(files: Files, into: Path | None = None) -> Layer:
    """The layer of the files, packed with gzip, in memory or in the file `into`, which is made anew. Raises OSError."""
    if into is None:
        buffer = io.BytesIO()
        diff_id = _compress(files, buffer)[0]
        return Layer(COMPRESSED_TYPE, StoredBlob.of(buffer.getvalue()), diff_id)
    into.unlink(missing_ok=True)
    with into.open("xb") as file:
        diff_id, digest = _compress(files, file)
    return Layer(COMPRESSED_TYPE, StoredBlob(digest, into.stat().st_size, lambda: into.open("rb")), diff_id)


def digest_of(content: bytes) -> str:
    """The digest of these bytes: "sha256:<hex>"."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def _compress(files: Files, into: IO[bytes]) -> tuple[str, str]:
    """Write the packed layer; returns the digests of the archive and of the packed archive."""
    packed = _Digesting(into)
    with gzip.GzipFile("", "wb", _COMPRESSION_LEVEL, cast("IO[bytes]", packed), mtime=0) as zipped:
        archive = _Digesting(zipped)
        write_tar(cast("IO[bytes]", archive), files)
    return archive.digest, packed.digest


class _Digesting:
    """A stream to write to: passes the bytes on and calculates their digest."""

    def __init__(self, to: IO[bytes] | gzip.GzipFile) -> None:
        self._to = to
        self._sum = hashlib.sha256()

    @property
    def digest(self) -> str:
        return f"sha256:{self._sum.hexdigest()}"

    def write(self, data: bytes) -> int:
        self._sum.update(data)
        return self._to.write(data)

    def flush(self) -> None:
        self._to.flush()


def write_tar(into: IO[bytes], files: Files) -> None:
    """Write a tar archive of the files and their directories. Raises OSError."""
    with tarfile.open(fileobj=into, mode="w|", format=tarfile.PAX_FORMAT) as archive:
        directories = {str(parent) for path in files for parent in Path(path).parents if str(parent) != "."}
        for name in sorted(directories):
            entry = tarfile.TarInfo(name)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            archive.addfile(entry)
        for name in sorted(files, key=lambda path: path.split("/")):
            content = files[name]
            entry = tarfile.TarInfo(name)
            entry.mode = 0o644
            with io.BytesIO(content) if isinstance(content, bytes) else content.open("rb") as stream:
                entry.size = len(content) if isinstance(content, bytes) else os.fstat(stream.fileno()).st_size
                archive.addfile(entry, stream)
