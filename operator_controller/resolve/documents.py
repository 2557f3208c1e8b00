"""Where resolution documents come from: the contents of catalogs, by the digest that a ClusterSnapshot names.

The Documents protocol is implemented over files by operator_controller/catalog_content, and over a folder of blobs by the offline
command. ParsedDocuments keeps what was parsed from one solve to the next. Called by component_solver.py. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from olmkit.gocompat.text import quoted
from operator_controller.resolve.cluster_snapshot import CatalogSource
from operator_controller.resolve.package import InvalidDocument, PackageContent, PackageTooLarge, read_package
from operator_controller.resolve.snapshot import STATES_WITH_CONTENT, CatalogOffer, CatalogState


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


@dataclass(frozen=True)
class ParsedPackage:
    """A package as parsed, or why it cannot be: exactly one of `content` and the two errors."""

    content: PackageContent | None = None
    too_large: str = ""
    invalid: str = ""


class ParsedDocuments:
    """The packages that were parsed, by the digest of their documents, until no catalog has the document any more."""

    def __init__(self) -> None:
        self._by_digest: dict[str, ParsedPackage] = {}

    def retain_only(self, digests: Collection[str]) -> None:
        """Drop all other documents."""
        self._by_digest = {digest: parsed for digest, parsed in self._by_digest.items() if digest in digests}

    def offer(self, documents: Documents, source: CatalogSource, package: str) -> CatalogOffer:
        """What a catalog offers of the package."""
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
            parsed = self._by_digest[digest] = _read_parsed(documents, content, package)
        return parsed


def _read_parsed(documents: Documents, content: str, package: str) -> ParsedPackage:
    """Read and parse the document of a package that `documents` list for the content. Raises ContentMissing."""
    try:
        return ParsedPackage(read_package(documents.read(content, package)))
    except PackageTooLarge as error:
        return ParsedPackage(too_large=str(error))
    except InvalidDocument as error:
        return ParsedPackage(invalid=f"its document of package {quoted(package)} cannot be read: {error}")


def _without_content(source: CatalogSource, package: str, message: str) -> CatalogOffer:
    """The offer of a catalog whose content is not known, unless it certainly lacks the package."""
    is_known = source.state is CatalogState.UNREACHABLE and source.lists_all_packages
    state = CatalogState.CACHED if is_known and package not in source.package_names else source.state
    return _offer(source, state, None, message)


def _offer(source: CatalogSource, state: CatalogState, package: PackageContent | None, message: str) -> CatalogOffer:
    return CatalogOffer(source.name, source.priority, state, package, message, source.package_names)
