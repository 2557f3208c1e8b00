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
from typing import Any, NamedTuple, Self

import orjson

from olmkit.store.store import Store
from operator_controller.resolve.documents.catalog_documents import ContentMissing
from operator_controller.resolve.package.package_content import SHRINK_HINT, PackageTooLarge

DOCUMENTS_FILE, INDEX_FILE = "resolution.jsonl", "index.json"
INDEX_FORMAT = 1
"""The version of both files. Content of another format is requested again."""
MAX_DOCUMENT_BYTES = 32 * 1024 * 1024
"""Bytes of one document that is parsed. The largest real one has 300,000."""
MAX_PARSED_BYTES = 320 * 1024 * 1024
"""Memory that one document may take when it is parsed. The largest real one takes 2 million."""
_PARSED_BYTES = ((b"{", 200), (b"[", 80), (b",", 50), (b'"', 40))

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
        value = _parsed(data)
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

    def read_document(self, package: str, max_parsed_bytes: int | None = None) -> Any:
        """The parsed JSON of a package's document, if it certainly takes no more memory than `max_parsed_bytes`.

        Raises PackageTooLarge, KeyError for a package that is not in the index, and ContentMissing if the files were removed or
        are damaged.
        """
        entry = self.index.packages[package]
        if entry.length > MAX_DOCUMENT_BYTES:
            raise PackageTooLarge(f"its document is larger than {MAX_DOCUMENT_BYTES // 2**20} MiB; {SHRINK_HINT}")
        try:
            with open(self.directory / DOCUMENTS_FILE, "rb", buffering=0) as file:
                file.seek(entry.start)
                text = file.read(entry.length)
        except OSError as error:
            raise _unreadable(error) from error
        if max_parsed_bytes is not None:
            _refuse_large_values(text, max_parsed_bytes)
        try:
            document = _parsed(text)
            if (document["package"], document["digest"], document["catalogDigest"]) != (
                package,
                entry.digest,
                self.digest,
            ):
                raise ValueError("another document")
        except (ValueError, TypeError, LookupError) as error:
            raise _unreadable(error) from error
        return document


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

    def read(self, content: str, package: str) -> Any:
        """The parsed JSON of a document. Raises ContentMissing, KeyError and PackageTooLarge."""
        return self.open(content).read_document(package, MAX_PARSED_BYTES)

    def read_text(self, content: str, package: str) -> bytes:
        """The text of a document; nothing of one that is too large. Raises ContentMissing and KeyError."""
        opened = self.open(content)
        entry = opened.index.packages[package]
        if entry.length > MAX_DOCUMENT_BYTES:
            return b""
        try:
            file = self._files.get(content)
            if file is None:
                file = self._files[content] = open(opened.directory / DOCUMENTS_FILE, "rb", buffering=0)  # noqa: SIM115
            file.seek(entry.start)
            return file.read(entry.length) or b""
        except OSError as error:
            raise _unreadable(error) from error

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


def _parsed(text: bytes) -> Any:
    """Raises ValueError, and MemoryError, which orjson reports as invalid JSON."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        if error.msg.startswith("Not enough memory"):
            raise MemoryError from error
        raise


def _refuse_large_values(text: bytes, max_parsed_bytes: int) -> None:
    """Raise PackageTooLarge if the document may take more memory as Python objects.

    Each character of the syntax counts as the bytes that orjson allocates for what it begins at most. Characters in strings count
    as well, so this is an upper bound.
    """
    size = len(text) + sum(bytes_each * text.count(mark) for mark, bytes_each in _PARSED_BYTES)
    if size > max_parsed_bytes:
        raise PackageTooLarge(
            f"its document may take more than {max_parsed_bytes // 2**20} MiB of memory when it is parsed; {SHRINK_HINT}"
        )


def _unreadable(error: Exception) -> ContentMissing:
    """With a summary of the error that contains no path."""
    summary = (
        error.strerror or type(error).__name__ if isinstance(error, OSError) else "its index or a document is damaged"
    )
    return ContentMissing(f"its content on the disk cannot be read ({summary})")
