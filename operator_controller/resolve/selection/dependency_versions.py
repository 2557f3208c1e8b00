"""The versions of a package without an Operator, in order of preference, each made when it is first reached.

Gives the choices of catalog_and_bundle_choice.permitted() without making a candidate of each bundle: an Operator has far more
possible dependencies than the solver looks at. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple, overload

from olmkit.gocompat.versions import Order, Precedence
from operator_controller.resolve.documents.document_reader import DocumentBundles
from operator_controller.resolve.package.package_content import PackageContent
from operator_controller.resolve.requirements.constraints import KnownCluster, known_cluster
from operator_controller.resolve.selection.catalog_and_bundle_choice import (
    default_channel,
    deprecation_of,
    in_order_of_search,
    installation_problem,
)
from operator_controller.resolve.selection.package_resolution import Candidate, Chosen, PackageVersion
from operator_controller.resolve.snapshot.package_snapshot import CatalogOffer, PackageSnapshot


class _Ranked(NamedTuple):
    """A bundle that may be installed; they are compared as catalog_and_bundle_choice.permitted() orders them."""

    is_current: bool
    priority: int
    place: int
    is_preferred: bool
    order: Order
    name: str
    catalog: str
    channel: str


class DependencyVersions(Sequence[PackageVersion]):
    """Ascending. `offers` are those of the catalogs by name, `ranked` the bundles."""

    def __init__(self, offers: Sequence[CatalogOffer], ranked: Sequence[_Ranked]) -> None:
        self._offers = {offer.catalog: offer for offer in offers}
        self._ranked = ranked
        self._made: dict[int, PackageVersion] = {}

    @cached_property
    def precedences(self) -> list[Precedence]:
        """The part of each version that ranges compare."""
        return [each.order[0] for each in self._ranked]

    @cached_property
    def is_ascending(self) -> bool:
        """True if each version is greater than those that are less preferred: nearly always."""
        return all(lower < upper for lower, upper in pairwise(self.precedences))

    @property
    def highest_priority(self) -> int:
        """Of the catalogs that offer one."""
        return max((each.priority for each in self._ranked), default=0)

    def __len__(self) -> int:
        return len(self._ranked)

    @overload
    def __getitem__(self, index: int) -> PackageVersion: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[PackageVersion]: ...

    def __getitem__(self, index: int | slice) -> PackageVersion | Sequence[PackageVersion]:
        if isinstance(index, slice):
            return [self[each] for each in range(*index.indices(len(self)))]
        found = self._made.get(index)
        if found is None:
            found = self._made[index] = self._make(self._ranked[index])
        return found

    def _make(self, ranked: _Ranked) -> PackageVersion:
        package = self._offers[ranked.catalog].package
        bundle = package.bundles[ranked.name] if package is not None else None
        if package is None or bundle is None or bundle.version is None:
            raise LookupError(ranked.name)  # dependency_versions() ranks no others
        candidate = Candidate(
            bundle,
            bundle.version,
            ranked.catalog,
            ranked.priority,
            ranked.channel,
            deprecation_of(package, ranked.name),
            ranked.is_preferred,
        )
        return PackageVersion((bundle,), Chosen(candidate, candidate))


def dependency_versions(snapshot: PackageSnapshot) -> DependencyVersions | None:
    """The versions of a package without an Operator; None if not all that is offered is known, or not kept as text."""
    if snapshot.catalog_order is None:
        return None
    cluster = known_cluster(snapshot.facts)
    ranked: list[_Ranked] = []
    for offer in snapshot.offers:
        package = offer.package
        if package is None or not isinstance(package.bundles, DocumentBundles):
            return None
        place = -snapshot.catalog_order.index(offer.catalog)
        ranked += _rank(offer, place, package, package.bundles, cluster)
    ranked.sort()
    return DependencyVersions(snapshot.offers, ranked)


def _rank(
    offer: CatalogOffer, place: int, package: PackageContent, bundles: DocumentBundles, cluster: KnownCluster
) -> list[_Ranked]:
    """The bundles of one catalog that may be installed."""
    found: list[_Ranked] = []
    known: set[str] = set()
    preferred, deprecated = default_channel(package), package.deprecated_bundles
    catalog, priority = offer.catalog, offer.priority
    for channel in in_order_of_search(package, package.channels):
        is_preferred = channel.name == preferred
        for entry in channel.entries:
            name = entry.name
            if name in known:
                continue
            known.add(name)
            order = bundles.order(name)
            if order is None or (bundles.needs_check(name) and installation_problem(bundles[name], cluster)):
                continue
            found.append(
                _Ranked(name not in deprecated, priority, place, is_preferred, order, name, catalog, channel.name)
            )
    return found
