"""Which package requires and owns what, over all catalogs: an index that is made anew only for documents that changed.

Kept by the solver process from one solve to the next (component_solver.SolverMemory). A document is read once to be indexed and
not kept; the bundles of a package are parsed only when the solver reaches it. Pure.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress

from operator_controller.resolve.cluster_snapshot import CatalogSource, OperatorRequest, RecordedBundle
from operator_controller.resolve.components import EMPTY_INDEX, PackageIndex, index_document
from operator_controller.resolve.documents import ContentMissing, Documents
from operator_controller.resolve.package import GroupKind, PackageTooLarge
from operator_controller.resolve.snapshot import STATES_WITH_CONTENT


class CatalogIndex:
    """The index of all catalogs and of what runs."""

    def __init__(self) -> None:
        self._by_digest: dict[str, PackageIndex] = {}
        self._by_package: dict[str, PackageIndex] = {}
        self._digests: dict[str, Mapping[str, str]] = {}
        self.providers: Mapping[GroupKind, Collection[str]] = {}
        """Packages that own a kind in one of their versions."""

    def update(
        self, catalogs: Iterable[CatalogSource], documents: Documents, operators: Iterable[OperatorRequest]
    ) -> None:
        """Index these catalogs and what runs, and nothing else."""
        older, self._by_digest, self._digests = self._by_digest, {}, {}
        merged: dict[str, PackageIndex] = {}
        for source in catalogs:
            digests = self._digests_of(source, documents)
            try:
                found = {
                    package: self._index(documents, source, package, digests[package], older) for package in digests
                }
            except ContentMissing:  # it is damaged or was just removed: the catalog counts as unreadable
                self._digests[source.name], found = {}, {}
            for package, index in found.items():
                merged[package] = merged[package].merged(index) if package in merged else index
        for operator in operators:
            for recorded in filter(None, (operator.running, operator.installing)):
                own = merged.get(operator.held_package, EMPTY_INDEX)
                merged[operator.held_package] = own.merged(_index_recorded(recorded))
        self._by_package, self.providers = merged, _providers(merged)

    def _index(
        self, documents: Documents, source: CatalogSource, package: str, digest: str, older: Mapping[str, PackageIndex]
    ) -> PackageIndex:
        """The index of a document. Raises ContentMissing."""
        known = self._by_digest.get(digest) or older.get(digest)
        if known is None:
            try:
                known = index_document(documents.read(source.content, package))
            except PackageTooLarge:
                known = EMPTY_INDEX
        self._by_digest[digest] = known
        return known

    def _digests_of(self, source: CatalogSource, documents: Documents) -> Mapping[str, str]:
        """The digests of a catalog's documents; none if its content is not known."""
        found: Mapping[str, str] = {}
        if source.state in STATES_WITH_CONTENT:
            with suppress(ContentMissing):
                found = documents.digests(source.content)
        self._digests[source.name] = found
        return found

    def of_package(self, package: str) -> PackageIndex:
        """What the package requires and owns, in all catalogs and as it runs."""
        return self._by_package.get(package, EMPTY_INDEX)

    def packages(self) -> Collection[str]:
        """All packages."""
        return self._by_package.keys()

    def digest(self, catalog: str, package: str) -> str | None:
        """The digest of the package's document in a catalog, if it has one."""
        return self._digests[catalog].get(package)


def _providers(indexes: Mapping[str, PackageIndex]) -> Mapping[GroupKind, Collection[str]]:
    found: defaultdict[GroupKind, list[str]] = defaultdict(list)
    for package, index in sorted(indexes.items()):
        for kind in index.owned:
            found[kind].append(package)
    return found


def _index_recorded(recorded: RecordedBundle) -> PackageIndex:
    """The index of the properties in an annotation."""
    try:
        found = json.loads(recorded.properties) if recorded.properties else []
    except (ValueError, RecursionError):
        return EMPTY_INDEX
    return index_document({"bundles": [{"properties": found}]})
