"""Parses the files of a catalog while they are extracted from an image, without writing them to disk.

The TreeStorage (olmkit.sources.tree_storage) that catalogd.ingest.load_job passes to a source. The blobs of a file are parsed
when the file is read. Whether the file belongs to the catalog is known only at the end, when all layers and every .indexignore
were read: until then its blobs are a segment of the writer. YAML documents are parsed by other processes
(catalogd.ingest.yaml_worker_pool).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from catalogd.ingest.content_writer import ContentWriter
from catalogd.ingest.serialized_blobs import SerializedBlob, serialize_blob
from catalogd.ingest.yaml_expansion_limit import ExpansionLimit
from catalogd.ingest.yaml_worker import FileBlobs
from catalogd.ingest.yaml_worker_pool import YamlWorkerPool
from olmkit.fbc.blobs import parse_blob
from olmkit.fbc.documents import Document, RawDocument, split_documents
from olmkit.fbc.errors import BadCatalog, BadDocument
from olmkit.fbc.indexignore import IGNORE_FILE, MAX_IGNORE_FILE_BYTES, ignore_file_too_large, select_paths
from olmkit.sources.errors import shown_path
from olmkit.sources.tree_storage import ByteReader

MAX_WORKER_DOCUMENT_BYTES = 1024 * 1024
"""Larger documents are parsed by the job itself, so that no two of them are in memory at the same time."""


@dataclass(slots=True)
class _Segment:
    """The numbers of the blobs of one file that are known so far, and the error that stopped its parsing."""

    blobs: range = range(0)
    error: str = ""


class _CountingReader:
    """Counts the bytes of a file as they are read."""

    def __init__(self, data: ByteReader, expansion: ExpansionLimit) -> None:
        self._data = data
        self._expansion = expansion

    def read(self, size: int, /) -> bytes:
        """Read up to `size` bytes."""
        data = self._data.read(size)
        self._expansion.count_read(len(data))
        return data


class CatalogFiles:
    """Parses files and passes their blobs to `writer`. `directory` is the working directory of the source.

    `workers` parse YAML; without them it is parsed here, like JSON. Methods raise what the writer and the workers raise.
    """

    def __init__(self, writer: ContentWriter, directory: Path, workers: YamlWorkerPool | None = None) -> None:
        self.directory = directory
        self._writer = writer
        self._workers = workers
        self._files: list[_Segment] = []
        self._segments: dict[str, _Segment] = {}
        self._ignores: dict[str, bytes] = {}

    def make_directory(self, path: str) -> None:
        """Do nothing: only files matter."""

    def remove_directory(self, path: str) -> None:
        """Do nothing: only files matter."""

    def write(self, path: str, data: ByteReader) -> None:
        """Parse the blobs of the file. An error matters only if the file turns out to belong to the catalog."""
        directory, _, name = path.rpartition("/")
        if name == IGNORE_FILE:
            self._ignores[directory] = _read_all(data, MAX_IGNORE_FILE_BYTES + 1)
            return
        segment = self._segments[path] = _Segment()
        self._files.append(segment)
        try:
            for document in split_documents(_CountingReader(data, self._writer.expansion)):
                if segment.error:
                    break
                self._add(segment, document)
        except BadDocument as error:
            self._drain()
            segment.error = segment.error or str(error)

    def _add(self, segment: _Segment, document: Document | RawDocument) -> None:
        """Parse a document of the current file, or pass it to a worker. Raises BadDocument."""
        if (
            self._workers is not None
            and isinstance(document, RawDocument)
            and len(document.text) < MAX_WORKER_DOCUMENT_BYTES
        ):
            self._workers.add(len(self._files) - 1, document, self._add_parsed)
            return
        self._drain()
        if not segment.error:
            parsed = document if isinstance(document, Document) else document.parse()
            self._add_blob(segment, serialize_blob(parse_blob(parsed)))

    def _drain(self) -> None:
        if self._workers is not None:
            self._workers.drain(self._add_parsed)

    def _add_parsed(self, part: FileBlobs) -> None:
        segment = self._files[part.file]
        for blob in part.blobs:
            self._add_blob(segment, blob)
        segment.error = part.error

    def _add_blob(self, segment: _Segment, blob: SerializedBlob) -> None:
        first = segment.blobs.start if segment.blobs else self._writer.blob_count
        self._writer.add_serialized(blob)
        segment.blobs = range(first, self._writer.blob_count)

    def remove(self, path: str) -> None:
        """Drop the file; its blobs do not count."""
        directory, _, name = path.rpartition("/")
        if name == IGNORE_FILE:
            del self._ignores[directory]
        else:
            del self._segments[path]

    def link(self, path: str, target: str) -> None:
        """Add the blobs of `target` again under this path. Links to or from .indexignore files are ignored."""
        if target in self._segments and not f"/{path}".endswith(f"/{IGNORE_FILE}"):
            self._segments[path] = self._segments[target]

    def ranges(self, root: str) -> list[range]:
        """The numbers of the blobs of the catalog, in its order. `root` is the directory of the catalog. Raises BadCatalog."""
        self._drain()
        if root in self._segments:
            raise BadCatalog("the catalog is a file, not a directory")
        above = f"{root}/" if root else ""
        segments = {path.removeprefix(above): each for path, each in self._segments.items() if path.startswith(above)}
        return list(_ranges(segments, _below(self._ignores, above)))


def _ranges(segments: dict[str, _Segment], ignores: dict[str, bytes]) -> Iterable[range]:
    for path in select_paths(segments, ignores):
        if segments[path].error:
            raise BadCatalog(f"{shown_path(path)}: {segments[path].error}")
        yield segments[path].blobs


def _below(ignores: dict[str, bytes], above: str) -> dict[str, bytes]:
    """The ignore files of the catalog, by their directory relative to `above`. Raises BadCatalog."""
    found = {}
    for directory, text in sorted(ignores.items()):
        if f"{directory}/".startswith(above) or not above:
            inner = f"{directory}/".removeprefix(above).rstrip("/")
            if len(text) > MAX_IGNORE_FILE_BYTES:
                raise ignore_file_too_large(inner)
            found[inner] = text
    return found


def _read_all(data: ByteReader, limit: int) -> bytes:
    found = b""
    while len(found) < limit and (part := data.read(limit - len(found))):
        found += part
    return found
