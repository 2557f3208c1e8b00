"""The files of a catalog, read as they come out of an image: none of them is ever written to a disk.

The storage that catalogd.ingest.load_job gives to a source (olmkit.sources.tree_storage). What a file's blobs are is known
when it has passed; whether it counts only at the end, when all layers and every .indexignore are known: until then its blobs
are a segment of the writer's. Documents of YAML are read by other processes (catalogd.ingest.yaml_worker_pool).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from catalogd.ingest.content_writer import ContentWriter
from catalogd.ingest.expansion_limit import ExpansionLimit
from catalogd.ingest.serialized_blobs import SerializedBlob, serialize_blob
from catalogd.ingest.yaml_worker import FileBlobs
from catalogd.ingest.yaml_worker_pool import YamlWorkerPool
from olmkit.fbc.blobs import parse_blob
from olmkit.fbc.documents import Document, RawDocument, split_documents
from olmkit.fbc.errors import BadCatalog, BadDocument
from olmkit.fbc.indexignore import IGNORE_FILE, MAX_IGNORE_FILE_BYTES, ignore_file_too_large, select_paths
from olmkit.sources.errors import shown_path
from olmkit.sources.tree_storage import ByteReader

MAX_WORKER_DOCUMENT_BYTES = 1024 * 1024
"""Bytes of a document that the job always reads itself: no two such shall be in memory at a time."""


@dataclass(slots=True)
class _Segment:
    """Numbers of the blobs of one file, and what stopped its reading ("" its end): as far as they are known yet."""

    blobs: range = range(0)
    fault: str = ""


class _Counted:
    """The bytes of a file, counted as they are read."""

    def __init__(self, data: ByteReader, expansion: ExpansionLimit) -> None:
        self._data = data
        self._expansion = expansion

    def read(self, size: int, /) -> bytes:
        """See Data."""
        part = self._data.read(size)
        self._expansion.count_read(len(part))
        return part


class CatalogFiles:
    """Files by path; their blobs go to `writer`, which is told how much was read. `folder` is where the source may work.

    `readers` read YAML; without them it is read here, like JSON. Methods raise what theirs do.
    """

    def __init__(self, writer: ContentWriter, folder: Path, readers: YamlWorkerPool | None = None) -> None:
        self.folder = folder
        self._writer = writer
        self._readers = readers
        self._read: list[_Segment] = []
        self._segments: dict[str, _Segment] = {}
        self._ignores: dict[str, bytes] = {}

    def make_folder(self, path: str) -> None:
        """Folders are of no interest."""

    def remove_folder(self, path: str) -> None:
        """Folders are of no interest."""

    def write(self, path: str, data: ByteReader) -> None:
        """Read the file's blobs. What is wrong with it counts only if the file does in the end."""
        folder, _, name = path.rpartition("/")
        if name == IGNORE_FILE:
            self._ignores[folder] = _all(data, MAX_IGNORE_FILE_BYTES + 1)
            return
        segment = self._segments[path] = _Segment()
        self._read.append(segment)
        try:
            for document in split_documents(_Counted(data, self._writer.expansion)):
                if segment.fault:
                    break
                self._add(segment, document)
        except BadDocument as error:
            self._drain()
            segment.fault = segment.fault or str(error)

    def _add(self, segment: _Segment, document: Document | RawDocument) -> None:
        """Have a document of the file that is read become a blob. Raises BadDocument."""
        if (
            self._readers is not None
            and isinstance(document, RawDocument)
            and len(document.text) < MAX_WORKER_DOCUMENT_BYTES
        ):
            self._readers.add(len(self._read) - 1, document, self._take)
            return
        self._drain()
        if not segment.fault:
            read = document if isinstance(document, Document) else document.parse()
            self._put(segment, serialize_blob(parse_blob(read), bundle_metadata=self._writer.bundle_metadata))

    def _drain(self) -> None:
        if self._readers is not None:
            self._readers.drain(self._take)

    def _take(self, part: FileBlobs) -> None:
        segment = self._read[part.file]
        for made in part.blobs:
            self._put(segment, made)
        segment.fault = part.error

    def _put(self, segment: _Segment, made: SerializedBlob) -> None:
        first = segment.blobs.start if segment.blobs else self._writer.blob_count
        self._writer.add_serialized(made)
        segment.blobs = range(first, self._writer.blob_count)

    def remove(self, path: str) -> None:
        """What was read of it does not count."""
        folder, _, name = path.rpartition("/")
        if name == IGNORE_FILE:
            del self._ignores[folder]
        else:
            del self._segments[path]

    def link(self, path: str, target: str) -> None:
        """The same blobs once more. A file under two names of which one is .indexignore has no meaning: it is left out."""
        if target in self._segments and not f"/{path}".endswith(f"/{IGNORE_FILE}"):
            self._segments[path] = self._segments[target]

    def ranges(self, root: str) -> list[range]:
        """Which blobs count, in the catalog's order. `root` is the catalog's folder. Raises BadCatalog."""
        self._drain()
        if root in self._segments:
            raise BadCatalog("the catalog is a file, not a folder")
        above = f"{root}/" if root else ""
        segments = {path.removeprefix(above): each for path, each in self._segments.items() if path.startswith(above)}
        return list(_ranges(segments, _below(self._ignores, above)))


def _ranges(segments: dict[str, _Segment], ignores: dict[str, bytes]) -> Iterable[range]:
    for path in select_paths(segments, ignores):
        if segments[path].fault:
            raise BadCatalog(f"{shown_path(path)}: {segments[path].fault}")
        yield segments[path].blobs


def _below(ignores: dict[str, bytes], above: str) -> dict[str, bytes]:
    """The ignore files within the catalog, by their folder within it. Raises BadCatalog."""
    found = {}
    for folder, text in sorted(ignores.items()):
        if f"{folder}/".startswith(above) or not above:
            inner = f"{folder}/".removeprefix(above).rstrip("/")
            if len(text) > MAX_IGNORE_FILE_BYTES:
                raise ignore_file_too_large(inner)
            found[inner] = text
    return found


def _all(data: ByteReader, limit: int) -> bytes:
    found = b""
    while len(found) < limit and (part := data.read(limit - len(found))):
        found += part
    return found
