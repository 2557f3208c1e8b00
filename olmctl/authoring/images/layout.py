"""Images on disk: an OCI layout, as a directory or as a tar archive, written and read.

The same image under the same names makes the same archive. What is read may be somebody else's: each blob is verified by its
digest, and nothing is unpacked.
"""

from __future__ import annotations

import errno
import hashlib
import io
import json
import re
import shutil
import tarfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Any, cast

from olmctl.authoring.images.image import Image, descriptor
from olmctl.authoring.images.layers import StoredBlob, digest_of
from olmctl.file_replacement import locked, partial_file, replaced_file
from olmkit.gocompat.text import quoted
from olmkit.sources.errors import BadReference
from olmkit.sources.oci import manifests
from olmkit.sources.oci.manifests import Descriptor, InvalidManifest, Manifest
from olmkit.sources.oci.reference import parse

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

INDEX, MARKER = "index.json", "oci-layout"
REFERENCE_NAME = "org.opencontainers.image.ref.name"
NODE_NAME = "io.containerd.image.name"
"""The name under which containerd imports an image: with its registry, also if the reference has none."""
_MARKER_TEXT = b'{"imageLayoutVersion":"1.0.0"}'
_MAX_JSON_BYTES = 4 * 1024**2
_CHUNK_BYTES = 1024**2
_BLOBS = PurePosixPath("blobs/sha256")
_BLOB_FILE = re.compile(r"[0-9a-f]{64}|\.[0-9a-f]{64}\.partial")
"""A blob, and one that was not written whole."""


class BadLayout(ValueError):
    """There is no layout of one image; the text follows the path."""


def write_archive(image: Image, path: Path, names: Sequence[str], time: int = 0) -> None:
    """Write a tar archive of the image, under each of these names; its files have the time `time`, in seconds since 1970.

    Raises OSError. A file that cannot be written whole is removed.
    """
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such directory", str(path.parent))
    with replaced_file(path) as file, tarfile.open(fileobj=file, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for name, blob in sorted(_files(image, names).items()):
            member = tarfile.TarInfo(name)
            member.size, member.mtime, member.mode = blob.size, time, 0o644
            with blob.open() as stream:
                archive.addfile(member, stream)


def write_directory(image: Image, path: Path, names: Sequence[str]) -> None:
    """Write a directory with the layout of the image, in place of the layout that is there. No link in it is followed. Raises
    BadLayout, OSError."""
    path.mkdir(parents=True, exist_ok=True)
    with locked(path):
        _check_directory(path)
        for name, blob in sorted(_files(image, names).items(), key=lambda each: _order(each[0])):
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            with blob.open() as stream, replaced_file(path / name) as file:
                shutil.copyfileobj(stream, file)
        kept = {blob.digest.partition(":")[2] for blob in image.blobs} | {image.digest.partition(":")[2]}
        for other in (path / _BLOBS).iterdir():
            if other.name not in kept and _BLOB_FILE.fullmatch(other.name) and not other.is_dir():
                other.unlink()


def _check_directory(path: Path) -> None:
    """Raise BadLayout for a directory with something other than a layout, or a part of one, and for one with links."""
    if not (path / MARKER).is_file() and {each.name for each in path.iterdir()} - {partial_file(path / MARKER).name}:
        raise BadLayout("is a directory with other files: name one that does not exist, or one with an OCI layout")
    for directory in (_BLOBS.parent, _BLOBS):
        if (path / directory).is_symlink():
            raise BadLayout(f"has a link {directory}, which is not followed: remove it")


def _order(name: str) -> tuple[bool, bool, str]:
    """The place of a file in the order in which a directory gets them: the marker is the first, by which the next command finds
    what one that was interrupted has written; the index, which names the blobs, is the last."""
    return name != MARKER, name == INDEX, name


def is_layout(path: Path) -> bool:
    """Report whether the path is a tar archive, or a directory with an OCI layout."""
    return (path / MARKER).is_file() if path.is_dir() else path.is_file() and tarfile.is_tarfile(path)


def read(path: Path) -> Image:
    """The image in an archive or a directory, all of it verified. Raises BadLayout, OSError."""
    open_file = _of_directory(path) if path.is_dir() else _of_archive(path)
    try:
        found = manifests.descriptor(_one(_index(open_file)))
        data = _small(open_file, _blob_name(found))
        document = manifests.parse(data, found.media_type)
    except InvalidManifest as error:
        raise BadLayout(f"has no image that can be read: it {error}") from error
    if not isinstance(document, Manifest):
        raise BadLayout("has an image for several platforms, which is not supported")
    if digest_of(data) != found.digest:
        raise _other_digest(found)
    return Image(data, tuple(_blob(open_file, each) for each in (document.config, *document.layers)))


_Open = Callable[[str], IO[bytes]]
"""Opens a file of a layout. Raises BadLayout, OSError."""


def _files(image: Image, names: Sequence[str]) -> dict[str, StoredBlob]:
    """The files of a layout by their paths."""
    manifest = StoredBlob.of(image.manifest_bytes)
    described = descriptor(image.media_type, manifest)
    named = [{**described, "annotations": {REFERENCE_NAME: name, NODE_NAME: parse(name).full_name}} for name in names]
    index = {"schemaVersion": 2, "manifests": named or [described]}
    blobs = {f"blobs/{blob.digest.replace(':', '/')}": blob for blob in (manifest, *image.blobs)}
    return {INDEX: StoredBlob.of(json.dumps(index).encode()), MARKER: StoredBlob.of(_MARKER_TEXT), **blobs}


def _index(open_file: _Open) -> Any:
    data = _small(open_file, INDEX)
    try:
        return json.loads(data)
    except ValueError as error:
        raise BadLayout(f"has an {INDEX} that is not JSON") from error


def _one(index: Any) -> Any:
    """The descriptor of the one image of an index, which may have several names."""
    listed = index.get("manifests") if isinstance(index, dict) else None
    if not isinstance(listed, list) or not all(isinstance(each, dict) for each in listed):
        raise BadLayout(f"has an {INDEX} without a list of manifests")
    digests = {str(each.get("digest")) for each in listed}
    if len(digests) != 1:
        raise BadLayout(f"has {len(digests)} images, and one is expected")
    return listed[0]


def _of_directory(path: Path) -> _Open:
    def open_file(name: str) -> IO[bytes]:
        if not (path / name).exists():
            raise BadLayout(f"has no file {name}")
        if not (path / name).is_file():
            raise BadLayout(f"has {name}, which is no regular file")
        return (path / name).open("rb")

    return open_file


def _of_archive(path: Path) -> _Open:
    def open_file(name: str) -> IO[bytes]:
        try:
            with tarfile.open(path, "r:") as archive:
                member = archive.getmember(name)
        except KeyError:
            raise BadLayout(f"has no file {name}") from None
        except tarfile.TarError as error:
            raise BadLayout(f"is no tar archive of an OCI layout: {error}") from error
        file = path.open("rb")
        return cast("IO[bytes]", _Part(file, member.offset_data, member.size))

    return open_file


class _Part(io.RawIOBase):
    """A part of a file as a stream."""

    def __init__(self, file: IO[bytes], start: int, size: int) -> None:
        file.seek(start)
        self._file = file
        self._left = size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        view = memoryview(buffer)
        data = self._file.read(min(len(view), self._left))
        view[: len(data)] = data
        self._left -= len(data)
        return len(data)

    def close(self) -> None:
        self._file.close()
        super().close()


def _small(open_file: _Open, name: str) -> bytes:
    with open_file(name) as file:
        data = file.read(_MAX_JSON_BYTES + 1)
    if len(data) > _MAX_JSON_BYTES:
        raise BadLayout(f"has a file {name} of more than {_MAX_JSON_BYTES:,} bytes")
    return data


def _blob(open_file: _Open, described: Descriptor) -> StoredBlob:
    name = _blob_name(described)
    checksum, size = hashlib.sha256(), 0
    with open_file(name) as file:
        while chunk := file.read(_CHUNK_BYTES):
            checksum.update(chunk)
            size += len(chunk)
    if f"sha256:{checksum.hexdigest()}" != described.digest or size != described.size:
        raise _other_digest(described)
    return StoredBlob(described.digest, size, partial(open_file, name))


def _blob_name(described: Descriptor) -> str:
    return f"blobs/{described.digest.replace(':', '/')}"


def _other_digest(described: Descriptor) -> BadLayout:
    return BadLayout(f"has a file {_blob_name(described)} of another digest or size")


def reference_error(name: str) -> str:
    """Explain why a name is no reference of an image by tag; "" when it is one."""
    try:
        found = parse(name)
    except BadReference as error:
        return str(error)
    return f"{quoted(name)} names a digest, which is that of the content: give a tag" if found.digest else ""
