"""The resolution documents of catalogs, by the digest of the content that a ClusterSnapshot names.

The Documents protocol is implemented over files by operator_controller/catalog_cache/stored_documents.py, and over a folder of
blobs by olmctl/offline_resolution.py. ParsedDocuments keeps what was parsed from one solve to the next. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

from olmkit.gocompat.text import quoted
from operator_controller.resolve.documents.document_reader import AnotherForm, read_package_text
from operator_controller.resolve.documents.package_index import (
    EMPTY_INDEX,
    PackageIndex,
    index_document,
    refuse_many_names,
)
from operator_controller.resolve.documents.parsed_document_reader import InvalidDocument, read_package
from operator_controller.resolve.package.package_content import GroupKind, PackageContent, PackageTooLarge
from operator_controller.resolve.snapshot.cluster_snapshot import CatalogSource
from operator_controller.resolve.snapshot.package_snapshot import (
    IGNORED_STATES,
    STATES_WITH_CONTENT,
    CatalogOffer,
    CatalogState,
)

MAX_KEPT_BYTES = 12 * 1024 * 1024
"""Bytes of the documents that are kept, as text, before the solver reaches them. The largest real catalogs have 6 million. They
may take 24 times as much when they are decoded, and a process that ends because of that ends for all Operators."""


class ContentMissing(LookupError):
    """The content of that digest is not here: a catalog with it counts as unreadable."""


class Documents(Protocol):
    """The contents of catalogs. What a digest names never changes."""

    def digests(self, content: str) -> Mapping[str, str]:
        """The digest of the document of each package of a content, by package. Raises ContentMissing."""
        ...

    def read(self, content: str, package: str) -> Any:
        """The parsed JSON of the resolution document of a package that digests() lists.

        Raises ContentMissing, and PackageTooLarge for a document that is too large to be parsed.
        """
        ...


@runtime_checkable
class TextDocuments(Documents, Protocol):
    """Documents that are kept as text, so that only those that are reached are read."""

    def read_text(self, content: str, package: str) -> bytes:
        """The JSON text of the document, of whatever size, or what stands in its place. Raises ContentMissing."""
        ...

    def providers(self, content: str) -> Mapping[GroupKind, Collection[str]]:
        """The packages of a content that own a kind in one of their versions, sorted. Raises ContentMissing."""
        ...


@dataclass(frozen=True)
class ParsedPackage:
    """A package as parsed, or why it cannot be: exactly one of `content` and the two errors."""

    content: PackageContent | None = None
    too_large: str = ""
    invalid: str = ""
    size: int = 0
    """Bytes of the text that it was decoded from."""


class ParsedDocuments:
    """The packages that were parsed, by the digest of their documents, until no catalog has the document any more."""

    def __init__(self) -> None:
        self._by_digest: dict[str, ParsedPackage] = {}
        self._indexes: dict[str, PackageIndex] = {}
        self._kept_bytes = 0

    def retain_only(self, digests: Collection[str]) -> None:
        """Drop all other documents. Indexes are kept until retain_indexes()."""
        self._by_digest = {digest: parsed for digest, parsed in self._by_digest.items() if digest in digests}
        self._kept_bytes = sum(parsed.size for parsed in self._by_digest.values())

    def retain_indexes(self, digests: Collection[str]) -> None:
        """Drop the indexes of all other documents."""
        self._indexes = {digest: index for digest, index in self._indexes.items() if digest in digests}

    def index(self, documents: Documents, content: str, package: str, digest: str) -> PackageIndex:
        """The index of what the bundles of a document require and own. Raises ContentMissing."""
        known = self._indexes.get(digest)
        if known is None:
            known = self._indexes[digest] = self._new_index(documents, content, package, digest)
        return known

    def _new_index(self, documents: Documents, content: str, package: str, digest: str) -> PackageIndex:
        """A document that is decoded for its index is kept: the solver will probably reach it."""
        found = _read_text(documents, content, package, digest)
        if found is not None:
            parsed, index = found
            if self._kept_bytes + parsed.size <= MAX_KEPT_BYTES:
                self._kept_bytes += parsed.size
                self._by_digest[digest] = parsed
            return index
        try:
            return _checked_index(documents.read(content, package))
        except PackageTooLarge:
            return EMPTY_INDEX

    def offer(self, documents: Documents, source: CatalogSource, package: str) -> CatalogOffer:
        """Read the offer of a catalog for the package."""
        if not source.selects(package):
            return _excluded(source)
        if source.state not in STATES_WITH_CONTENT:
            return _without_content(source, package, source.message)
        try:
            digest = documents.digests(source.content).get(package)
            if digest is None:
                return _offer(source, source.state, None, source.message)
            parsed = self._parsed(documents, source.content, package, digest)
        except ContentMissing as error:
            return _without_content(
                replace(source, state=CatalogState.UNREACHABLE), package, source.message or str(error)
            )
        if parsed.too_large:
            return _offer(source, CatalogState.TOO_LARGE, None, parsed.too_large)
        if parsed.invalid:
            return _offer(source, CatalogState.UNREACHABLE, None, parsed.invalid)
        return _offer(source, source.state, parsed.content, source.message)

    def _parsed(self, documents: Documents, content: str, package: str, digest: str) -> ParsedPackage:
        parsed = self._by_digest.get(digest)
        if parsed is None:
            found = _read_text(documents, content, package, digest)
            parsed = found[0] if found is not None else _read_parsed(documents, content, package)
            self._by_digest[digest] = parsed
        return parsed


def _read_text(
    documents: Documents, content: str, package: str, digest: str
) -> tuple[ParsedPackage, PackageIndex] | None:
    """Decode a document of the usual form; None if the whole document has to be read. Raises ContentMissing."""
    if not isinstance(documents, TextDocuments):
        return None
    text = documents.read_text(content, package)
    try:
        found = read_package_text(text, package, digest, content)
        refuse_many_names(found.index)
    except (AnotherForm, PackageTooLarge):
        return None
    return ParsedPackage(found.content, size=len(text)), found.index


def _read_parsed(documents: Documents, content: str, package: str) -> ParsedPackage:
    """Read and parse the document of a package that `documents` list for the content. Raises ContentMissing."""
    try:
        document = documents.read(content, package)
        _checked_index(document)
        return ParsedPackage(read_package(document))
    except PackageTooLarge as error:
        return ParsedPackage(too_large=str(error))
    except InvalidDocument as error:
        return ParsedPackage(invalid=f"its document of package {quoted(package)} cannot be read: {error}")


def _checked_index(document: Any) -> PackageIndex:
    """Raises PackageTooLarge."""
    index = index_document(document)
    refuse_many_names(index)
    return index


def _without_content(source: CatalogSource, package: str, message: str) -> CatalogOffer:
    """The offer of a catalog whose content is not known, unless it certainly lacks the package."""
    is_known = source.state is CatalogState.UNREACHABLE and source.lists_all_packages
    state = CatalogState.CACHED if is_known and package not in source.package_names else source.state
    return _offer(source, state, None, message)


def _excluded(source: CatalogSource) -> CatalogOffer:
    """The offer of a catalog for a package that its spec does not select: nothing, whether its content is known or not."""
    state = source.state if source.state in IGNORED_STATES else CatalogState.SERVING
    return replace(_offer(source, state, None, ""), is_excluded=True)


def _offer(source: CatalogSource, state: CatalogState, package: PackageContent | None, message: str) -> CatalogOffer:
    return CatalogOffer(source.name, source.priority, state, package, message, source.package_names)
