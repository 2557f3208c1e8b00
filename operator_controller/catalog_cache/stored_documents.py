"""Reads the resolution documents of a catalog content from disk: an index in memory, documents one at a time.

    <root>/sha256-<hex>/content/resolution.jsonl   the documents as catalogd sent them, one per line
    <root>/sha256-<hex>/content/index.json         digest and byte range of each document; the packages that provide each kind
    <root>/sha256-<hex>/manifest.json              checksums (olmkit.store)

content_writer.py writes them. The solver process reads them too, without HTTP. Everything comes from files alone: never fetches,
never writes, needs no event loop.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from io import FileIO
from pathlib import Path
from typing import NamedTuple, Self

import orjson

from olmkit.store.store import Store
from operator_controller.resolve.documents.catalog_documents import ContentMissing
from operator_controller.resolve.documents.document_reader import MalformedDocument, ReadDocument, read_document
from operator_controller.resolve.package.package_content import SHRINK_HINT, PackageTooLarge

DOCUMENTS_FILE, INDEX_FILE = "resolution.jsonl", "index.json"
INDEX_FORMAT = 1
"""The version of both files. Content of another format is requested again."""
MAX_DOCUMENT_BYTES = 32 * 1024 * 1024
"""Bytes of one document that is parsed. The largest real one has 300,000."""
MAX_DECODED_BYTES = 320 * 1024 * 1024
"""Memory that one document may take when it is decoded. The largest real one takes 2 million."""
MAX_SMALL_BYTES = 2 * 1024 * 1024
"""Bytes of a document whose memory is not estimated: it cannot take much more than MAX_DECODED_BYTES."""
_DECODED_BYTES = ((b"{", 200), (b"[", 80), (b",", 80), (b'"', 40))

DAMAGED = "its content on the disk cannot be read (its index or a document is damaged)"
GroupKind = tuple[str, str]


class DocumentEntry(NamedTuple):
    """The document of one package: `digest` as catalogd computed it over the document, and the byte range in DOCUMENTS_FILE."""

    digest: str
    start: int
    length: int


@dataclass(frozen=True)
class ContentIndex:
    """The packages of one content, sorted by name, and the packages with a bundle that provides a (group, kind).

    A package with a very large document may be listed as a provider of a kind that it does not provide.
    """

    packages: Mapping[str, DocumentEntry]
    providers: Mapping[GroupKind, tuple[str, ...]]

    @cached_property
    def digests(self) -> Mapping[str, str]:
        """The digest of each package's document, by package."""
        return {package: entry.digest for package, entry in self.packages.items()}

    def to_json(self) -> bytes:
        """Encode for INDEX_FILE."""
        provides = [[group, kind, names] for (group, kind), names in self.providers.items()]
        packages = {package: tuple(entry) for package, entry in self.packages.items()}
        return orjson.dumps({"format": INDEX_FORMAT, "packages": packages, "provides": provides})

    @classmethod
    def from_json(cls, data: bytes) -> Self:
        """Decode. Raises ValueError, TypeError, LookupError and AttributeError for anything but an index of INDEX_FORMAT."""
        value = orjson.loads(data)
        if value["format"] != INDEX_FORMAT:
            raise ValueError("it has another format")
        return cls(
            {package: DocumentEntry(*entry) for package, entry in value["packages"].items()},
            {(group, kind): tuple(packages) for group, kind, packages in value["provides"]},
        )


@dataclass(frozen=True)
class CatalogContent:
    """The content of a catalog: its digest, the directory of its files, and their index."""

    digest: str
    directory: Path
    index: ContentIndex

    @classmethod
    def open(cls, root: Path, digest: str) -> Self:
        """Read the index. Raises ContentMissing if the content is not in `root` or cannot be read. Compares no checksums."""
        try:
            directory = Store(root, create=False).path(digest)
            if directory is None:
                raise ContentMissing("its content is not on the disk")
            return cls(digest, directory, ContentIndex.from_json((directory / INDEX_FILE).read_bytes()))
        except ContentMissing:
            raise
        except (OSError, ValueError, TypeError, LookupError, AttributeError) as error:
            raise _unreadable(error) from error


class ContentDocuments:
    """The contents below `root` by digest, each opened once. Implements catalog_documents.Documents."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._opened: dict[str, CatalogContent] = {}
        self._files: dict[str, FileIO] = {}

    def open(self, content: str) -> CatalogContent:
        """The content of that digest. Raises ContentMissing."""
        opened = self._opened.get(content)
        if opened is None:
            opened = self._opened[content] = CatalogContent.open(self._root, content)
        return opened

    def digests(self, content: str) -> Mapping[str, str]:
        """The digest of the document of each package. Raises ContentMissing."""
        return self.open(content).index.digests

    def read(self, content: str, package: str) -> ReadDocument:
        """Read a document. Raises as read_text(), and InvalidDocument."""
        try:
            found = read_document(self.read_text(content, package))
        except MalformedDocument as error:
            raise ContentMissing(DAMAGED) from error
        expected = (package, self.digests(content)[package], content)
        if (found.content.name, found.digest, found.catalog_digest) != expected:
            raise ContentMissing(DAMAGED)
        return found

    def read_text(self, content: str, package: str) -> bytes:
        """The text of a document that certainly takes no more than MAX_DECODED_BYTES when it is decoded.

        Raises ContentMissing, KeyError for a package that is not in the index, and PackageTooLarge.
        """
        opened = self.open(content)
        entry = opened.index.packages[package]
        if entry.length > MAX_DOCUMENT_BYTES:
            raise PackageTooLarge(f"its document is larger than {MAX_DOCUMENT_BYTES // 2**20} MiB; {SHRINK_HINT}")
        try:
            file = self._files.get(content)
            if file is None:
                file = self._files[content] = open(opened.directory / DOCUMENTS_FILE, "rb", buffering=0)  # noqa: SIM115
            file.seek(entry.start)
            text = file.read(entry.length) or b""
        except OSError as error:
            raise _unreadable(error) from error
        if entry.length > MAX_SMALL_BYTES:
            _refuse_large_values(text, MAX_DECODED_BYTES)
        return text

    def providers(self, content: str) -> Mapping[GroupKind, tuple[str, ...]]:
        """The packages with a bundle that provides a kind. Raises ContentMissing."""
        return self.open(content).index.providers

    def close_files(self) -> None:
        """Close all files; they are opened again when they are needed."""
        for file in self._files.values():
            file.close()
        self._files.clear()

    def forget(self, content: str) -> None:
        """Open it again when it is next needed."""
        self._opened.pop(content, None)

    def retain_only(self, contents: Collection[str]) -> None:
        """Forget the indexes of all other contents."""
        self._opened = {digest: content for digest, content in self._opened.items() if digest in contents}


def _refuse_large_values(text: bytes, max_bytes: int) -> None:
    """Raise PackageTooLarge if the document may take more memory as Python objects.

    Each character of the syntax counts as the bytes that are allocated for what it begins at most. Characters in strings count
    as well, so this is an upper bound.
    """
    size = len(text) + sum(bytes_each * text.count(mark) for mark, bytes_each in _DECODED_BYTES)
    if size > max_bytes:
        raise PackageTooLarge(
            f"its document may take more than {max_bytes // 2**20} MiB of memory when it is parsed; {SHRINK_HINT}"
        )


def _unreadable(error: Exception) -> ContentMissing:
    """With a summary of the error that contains no path."""
    if isinstance(error, OSError):
        return ContentMissing(f"its content on the disk cannot be read ({error.strerror or type(error).__name__})")
    return ContentMissing(DAMAGED)
