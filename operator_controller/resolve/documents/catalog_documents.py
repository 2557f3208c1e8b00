"""The resolution documents of catalogs, by the digest of the content that a ClusterSnapshot names.

The Documents protocol is implemented over files by operator_controller/catalog_cache/stored_documents.py, and over a directory of
blobs by olmctl/offline_resolution.py. ParsedDocuments keeps what was parsed from one solve to the next. CatalogIndex lists what
each package requires and owns, over all catalogs, made anew only for documents that changed. Pure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Protocol

from olmkit.gocompat.text import quoted
from operator_controller.resolve.documents.document_reader import (
    EMPTY_INDEX,
    InvalidDocument,
    PackageIndex,
    ReadDocument,
    index_properties,
    refuse_many_names,
)
from operator_controller.resolve.package.package_content import (
    GroupKind,
    PackageContent,
    PackageTooLarge,
)
from operator_controller.resolve.requirements.bundle_constraints import are_requirements_known, recorded_properties_of
from operator_controller.resolve.snapshot.cluster_snapshot import CatalogSource, OperatorRequest, RecordedBundle
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

    def read(self, content: str, package: str) -> ReadDocument:
        """Read the resolution document of a package that digests() lists.

        Raises ContentMissing, InvalidDocument and PackageTooLarge.
        """
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
        parsed, index = _read(documents, content, package)
        if self._kept_bytes + parsed.size <= MAX_KEPT_BYTES:
            self._kept_bytes += parsed.size
            self._by_digest[digest] = parsed
        return index

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
            parsed, _ = _read(documents, content, package)
            self._by_digest[digest] = parsed
        return parsed


def _read(documents: Documents, content: str, package: str) -> tuple[ParsedPackage, PackageIndex]:
    """Read a document, and its index, which is empty if it cannot be read. Raises ContentMissing."""
    try:
        found = documents.read(content, package)
        refuse_many_names(found.index)
    except PackageTooLarge as error:
        return ParsedPackage(too_large=str(error)), EMPTY_INDEX
    except InvalidDocument as error:
        return ParsedPackage(invalid=f"its document of package {quoted(package)} cannot be read: {error}"), EMPTY_INDEX
    return ParsedPackage(found.content, size=found.size), found.index


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


class CatalogLost(LookupError):
    """A document of a catalog is missing: the catalog counts as unreadable."""

    def __init__(self, catalog: str) -> None:
        super().__init__(catalog)
        self.catalog = catalog


class CatalogIndex:
    """The index of all catalogs and of what runs. `parsed` keeps the indexes of documents."""

    def __init__(self, parsed: ParsedDocuments) -> None:
        self._parsed = parsed
        self._documents: Documents | None = None
        self._sources: dict[str, CatalogSource] = {}
        self._digests: dict[str, Mapping[str, str]] = {}
        self._contents: dict[str, Mapping[str, str]] = {}
        """The digests of all documents of the catalogs that offer only some of their packages."""
        self._recorded: dict[str, PackageIndex] = {}
        self._by_properties: dict[str, PackageIndex] = {}
        """The indexes of what runs, by the properties that were recorded."""
        self._by_package: dict[str, PackageIndex] = {}
        self._providers: Mapping[GroupKind, Collection[str]] | None = None

    def update(
        self, catalogs: Iterable[CatalogSource], documents: Documents, operators: Iterable[OperatorRequest]
    ) -> None:
        """Index these catalogs and what runs, and nothing else."""
        self._documents = documents
        self._sources = {source.name: source for source in catalogs}
        whole = {name: _digests_of(source, documents) for name, source in self._sources.items()}
        self._digests = {name: _selected_digests(self._sources[name], digests) for name, digests in whole.items()}
        self._contents = {name: digests for name, digests in whole.items() if digests is not self._digests[name]}
        self._recorded = {}
        known, self._by_properties = self._by_properties, {}
        operators = tuple(operators)
        running = frozenset(each.held_package for each in operators if each.running is not None)
        for operator in operators:
            for recorded in operator.recorded:
                text, own = recorded.properties, self._recorded.get(operator.held_package)
                index = self._by_properties[text] = known.get(text) or _index_recorded(recorded)
                if index.is_unknown:  # one component with all that it may require
                    index = replace(index, packages=index.packages | running)
                self._recorded[operator.held_package] = index if own is None else own.merged(index)
        self._refresh()

    def of_catalogs(self, names: Collection[str]) -> CatalogIndex:
        """The index of some of the catalogs, and of everything that runs."""
        found = CatalogIndex(self._parsed)
        found._documents, found._recorded = self._documents, self._recorded
        found._sources = {name: source for name, source in self._sources.items() if name in names}
        found._digests = {name: digests for name, digests in self._digests.items() if name in names}
        found._contents = {name: digests for name, digests in self._contents.items() if name in names}
        return found

    def lose(self, catalog: str) -> None:
        """A document of the catalog is missing: it counts as unreadable."""
        self._digests[catalog] = {}
        self._contents.pop(catalog, None)
        self._refresh()

    def _refresh(self) -> None:
        self._by_package, self._providers = {}, None
        self._parsed.retain_indexes({digest for digests in self._digests.values() for digest in digests.values()})

    @property
    def providers(self) -> Mapping[GroupKind, Collection[str]]:
        """Packages that own a kind in one of their versions. Raises CatalogLost."""
        if self._providers is None:
            self._providers = self._find_providers()
        return self._providers

    def _find_providers(self) -> Mapping[GroupKind, Collection[str]]:
        """Raises CatalogLost."""
        found: dict[GroupKind, set[str]] = {}
        listed: list[Mapping[GroupKind, Collection[str]]] = []
        for name, digests in self._digests.items():
            if digests and self._documents is not None:
                with suppress(ContentMissing):
                    listed.append(
                        _selected(self._documents.providers(self._sources[name].content), self._sources[name])
                    )
        listed.append(packages_by_kind({package: index.owned for package, index in self._recorded.items()}))
        listed = [each for each in listed if each]
        if len(listed) == 1:
            return listed[0]
        for each in listed:
            for kind, packages in each.items():
                found.setdefault(kind, set()).update(packages)
        return {kind: sorted(packages) for kind, packages in found.items()}

    def _index(self, catalog: str, package: str) -> PackageIndex:
        """The index of a document. Raises CatalogLost."""
        if self._documents is None:
            return EMPTY_INDEX
        digest = self._digests[catalog][package]
        try:
            return self._parsed.index(self._documents, self._sources[catalog].content, package, digest)
        except ContentMissing as error:  # it is damaged or was just removed
            raise CatalogLost(catalog) from error

    def of_package(self, package: str) -> PackageIndex:
        """The index of what the package requires and owns, in all catalogs and as it runs. Raises CatalogLost."""
        known = self._by_package.get(package)
        if known is None:
            known = self._recorded.get(package)
            for catalog, digests in self._digests.items():
                if package in digests:
                    own = self._index(catalog, package)
                    known = own if known is None else known.merged(own)
            known = self._by_package[package] = known or EMPTY_INDEX
        return known

    def packages(self) -> Collection[str]:
        """All packages."""
        return self._recorded.keys() | {package for digests in self._digests.values() for package in digests}

    def digest(self, catalog: str, package: str) -> str | None:
        """The digest of the package's document in a catalog, if it has one."""
        return self._digests[catalog].get(package)

    def withheld(self, packages: Collection[str], kinds: Collection[GroupKind]) -> Iterator[tuple[str, str, str]]:
        """The catalog, the package and the digest ("" if it is not known) of what catalogs have and do not offer.

        Of these packages, and of those that provide one of the kinds. Raises CatalogLost.
        """
        for catalog, source in sorted(self._sources.items()):
            whole, offered = self._contents.get(catalog), self._digests[catalog]
            if whole is None:
                yield from ((catalog, package, "") for package in source.withheld_names if package in packages)
                continue
            named = {package for package in packages if package in whole}
            if kinds:
                providers = self._all_providers(catalog)
                named.update(package for kind in kinds for package in providers.get(kind, ()))
            yield from ((catalog, package, whole[package]) for package in sorted(named) if package not in offered)

    def _all_providers(self, catalog: str) -> Mapping[GroupKind, Collection[str]]:
        """The packages of a content that own a kind, whether the catalog offers them or not."""
        assert self._documents is not None
        try:
            return self._documents.providers(self._sources[catalog].content)
        except ContentMissing:
            return {}


def _digests_of(source: CatalogSource, documents: Documents) -> Mapping[str, str]:
    """The digests of the documents that a catalog has; none if its content is not known."""
    if source.state in STATES_WITH_CONTENT:
        with suppress(ContentMissing):
            return documents.digests(source.content)
    return {}


def _selected_digests(source: CatalogSource, digests: Mapping[str, str]) -> Mapping[str, str]:
    """Without those that the Catalog does not offer; the same object without a list, or if the content is not known."""
    if source.selected_packages is None or not digests:
        return digests
    return {package: digests[package] for package in source.selected_packages if package in digests}


def _selected(
    providers: Mapping[GroupKind, Collection[str]], source: CatalogSource
) -> Mapping[GroupKind, Collection[str]]:
    """Without the packages that the Catalog does not select."""
    if source.selected_packages is None:
        return providers
    names = frozenset(source.selected_packages)
    selected = {kind: [each for each in packages if each in names] for kind, packages in providers.items()}
    return {kind: packages for kind, packages in selected.items() if packages}


def packages_by_kind(owned: Mapping[str, Collection[GroupKind]]) -> Mapping[GroupKind, Collection[str]]:
    """The packages that own each kind, sorted. `owned`: the kinds by package."""
    found: defaultdict[GroupKind, list[str]] = defaultdict(list)
    for package, kinds in sorted(owned.items()):
        for kind in kinds:
            found[kind].append(package)
    return found


def _index_recorded(recorded: RecordedBundle) -> PackageIndex:
    """The index of the properties in an annotation."""
    text = recorded.properties
    found = index_properties((each.type, each.value) for each in recorded_properties_of(text))
    return found if are_requirements_known(text) else replace(found, is_unknown=True)
