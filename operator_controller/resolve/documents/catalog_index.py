"""An index of what each package requires and owns, over all catalogs, made anew only for documents that changed.

Where documents are kept as text, only those of packages that are reached are read; otherwise each is read once to be indexed.
Pure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress

from operator_controller.resolve.documents.catalog_documents import (
    ContentMissing,
    Documents,
    ParsedDocuments,
    TextDocuments,
)
from operator_controller.resolve.documents.package_index import EMPTY_INDEX, PackageIndex, index_document
from operator_controller.resolve.package.package_content import GroupKind, parse_recorded_properties
from operator_controller.resolve.snapshot.cluster_snapshot import CatalogSource, OperatorRequest, RecordedBundle
from operator_controller.resolve.snapshot.package_snapshot import STATES_WITH_CONTENT


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
        for operator in operators:
            for recorded in filter(None, (operator.running, operator.installing, operator.requested)):
                text, own = recorded.properties, self._recorded.get(operator.held_package)
                index = self._by_properties[text] = known.get(text) or _index_recorded(recorded)
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
            if digests and isinstance(self._documents, TextDocuments):
                with suppress(ContentMissing):
                    listed.append(
                        _selected(self._documents.providers(self._sources[name].content), self._sources[name])
                    )
            else:
                listed.append(_providers({package: self._index(name, package) for package in digests}))
        listed.append(_providers(self._recorded))
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
                providers = self._all_providers(catalog, whole)
                named.update(package for kind in kinds for package in providers.get(kind, ()))
            yield from ((catalog, package, whole[package]) for package in sorted(named) if package not in offered)

    def _all_providers(self, catalog: str, whole: Mapping[str, str]) -> Mapping[GroupKind, Collection[str]]:
        """The packages of a content that own a kind, whether the catalog offers them or not."""
        content = self._sources[catalog].content
        try:
            if isinstance(self._documents, TextDocuments):
                return self._documents.providers(content)
            assert self._documents is not None
            documents = self._documents
            return _providers({name: self._parsed.index(documents, content, name, of) for name, of in whole.items()})
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


def _providers(indexes: Mapping[str, PackageIndex]) -> Mapping[GroupKind, Collection[str]]:
    found: defaultdict[GroupKind, list[str]] = defaultdict(list)
    for package, index in sorted(indexes.items()):
        for kind in index.owned:
            found[kind].append(package)
    return found


def _index_recorded(recorded: RecordedBundle) -> PackageIndex:
    """The index of the properties in an annotation."""
    return index_document({"bundles": [{"properties": parse_recorded_properties(recorded.properties)}]})
