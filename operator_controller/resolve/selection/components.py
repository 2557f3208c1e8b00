"""Finds the Operators that may affect each other, the components that are solved apart, and the part of a Snapshot that is one's.

The PackageIndex of each package says what its bundles require and own. From the package of an Operator, requirements lead to all
packages that may become its dependencies, whatever the versions. Two Operators are in one component if these packages meet, or if
two of them may own the same kind. Pure.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache

import msgspec

from operator_controller.resolve.documents.catalog_documents import CatalogIndex
from operator_controller.resolve.documents.document_reader import PackageIndex
from operator_controller.resolve.package.package_content import GroupKind
from operator_controller.resolve.requirements.cluster_facts import ClusterFacts, ClusterKind
from operator_controller.resolve.snapshot.cluster_snapshot import CatalogSource, ClusterSnapshot, OperatorRequest
from operator_controller.resolve.snapshot.package_snapshot import STATES_WITH_CONTENT, CatalogState

MAX_REACHED_PACKAGES = 20_000
"""Packages that one Operator leads to, whether catalogs have them or not. The largest real catalogs have some hundreds."""


MAX_RULES_LENGTH = 5_000_000
"""Characters of the rules in CEL of all packages of one component: compiling them takes about six seconds."""
FORMAT = 2
"""Goes into every digest: increased when the same part would get another answer from another version of this program."""


@dataclass(frozen=True)
class ComponentPart:
    """Everything that the answers of one component depend on. Operators are sorted by seniority, catalogs by name."""

    operators: tuple[OperatorRequest, ...]
    catalogs: tuple[CatalogSource, ...]
    facts: ClusterFacts
    taken_names: tuple[tuple[str, str], ...]
    """Names that no dependency of this component can have, and what has them."""
    packages: tuple[str, ...]
    """Packages with an Operator, and possible dependencies."""
    documents: tuple[tuple[str, str, str], ...]
    """The catalog, the package and the digest of each document of these packages."""
    providers: tuple[tuple[tuple[str, str], tuple[str, ...]], ...]
    """The packages among them that may own a kind."""
    withheld: tuple[tuple[str, str, str], ...] = ()
    """The catalog, the package and the digest of what spec.packages leaves out: of these packages, and of providers of kinds that
    they require. The digest is "" if the content is not known."""
    excess: str = ""
    """The limit that the component exceeds, so that it is not solved."""
    unsolved: str = ""
    """If it is part of a component that is not solved: the message for what cannot be had from the catalogs in it."""


class PartMaker:
    """Makes the parts of one Snapshot: `part_of(component, operators)`. What all components share is read once."""

    def __init__(self, snapshot: ClusterSnapshot, index: CatalogIndex) -> None:
        self._index = index
        self._catalogs = [_Catalog(each) for each in sorted(snapshot.catalogs, key=lambda each: each.name)]
        self._facts = snapshot.facts
        self._native = frozenset(snapshot.facts.native_kinds or ())
        self._custom: dict[GroupKind, list[ClusterKind]] = {}
        for kind in snapshot.facts.custom_kinds:
            self._custom.setdefault((kind.group, kind.kind), []).append(kind)
        self._taken: dict[str, list[tuple[str, str]]] = {}
        for name in snapshot.taken_names:
            self._taken.setdefault(name[0], []).append(name)

    def part_of(self, component: Component, operators: Iterable[OperatorRequest]) -> ComponentPart:
        """The part of one component; `operators` are its own. Raises CatalogLost."""
        members, index = tuple(operators), self._index
        packages = tuple(sorted(component.packages))
        documents = [
            (catalog.name, package, digest)
            for catalog in self._catalogs
            for package in packages
            if (digest := index.digest(catalog.name, package)) is not None
        ]
        offered = {package for _, package, _ in documents}
        is_found = offered.issuperset(packages) and all(each.package in offered for each in members)
        indexes = [index.of_package(each) for each in packages]
        kinds = frozenset[GroupKind]().union(*(each.kinds for each in indexes))
        return ComponentPart(
            operators=members,
            catalogs=tuple(each.reduced(packages if is_found else None) for each in self._catalogs),
            facts=self._asked_facts(kinds, indexes),
            taken_names=tuple(sorted(each for package in packages for each in self._taken.get(package, ()))),
            packages=packages,
            documents=tuple(documents),
            providers=tuple(sorted(self._owned(kinds, component.packages))) if kinds else (),
            withheld=tuple(index.withheld(component.packages, kinds)),
            excess=_excess(component, indexes),
        )

    def _owned(
        self, kinds: frozenset[GroupKind], packages: frozenset[str]
    ) -> Iterable[tuple[GroupKind, tuple[str, ...]]]:
        providers = self._index.providers
        for kind in kinds:
            if kind in providers:
                yield kind, tuple(each for each in providers[kind] if each in packages)

    def _asked_facts(self, kinds: frozenset[GroupKind], indexes: Iterable[PackageIndex]) -> ClusterFacts:
        """The facts without what nothing requires."""
        facts, native, requires_version = self._facts, set[str](), False
        for each in indexes:
            native |= each.native_kinds & self._native
            requires_version = requires_version or each.requires_version
        return ClusterFacts(
            kube_version=facts.kube_version if requires_version else "",
            custom_kinds=tuple(one for kind in sorted(kinds) for one in self._custom.get(kind, ())),
            native_kinds=None if facts.native_kinds is None else tuple(sorted(native)),
        )


def _excess(component: Component, indexes: Iterable[PackageIndex]) -> str:
    if component.is_too_large:
        return f"its requirements lead to more than {MAX_REACHED_PACKAGES:,} packages"
    length = sum(each.rules_length for each in indexes)
    if length > MAX_RULES_LENGTH:
        return (
            f"its bundles require rules in CEL of {length:,} characters, and at most {MAX_RULES_LENGTH:,} are compiled"
        )
    return ""


class _Catalog:
    """A catalog as the parts of components have it. Equal ones are the same object."""

    def __init__(self, source: CatalogSource) -> None:
        self.name = source.name
        has_content = source.state in STATES_WITH_CONTENT
        message = "" if source.state is CatalogState.SERVING else source.message
        content = source.content if has_content else ""
        self._source = replace(source, message=message, content=content, withheld_names=())
        self._places = {package: place for place, package in enumerate(source.package_names)}
        self._selected = None if source.selected_packages is None else frozenset(source.selected_packages)
        self._by_names: dict[tuple[tuple[str, ...], tuple[str, ...] | None], CatalogSource] = {}

    def reduced(self, packages: Iterable[str] | None) -> CatalogSource:
        """With the names of these packages alone; with all of them if None, because a similar name may have to be suggested."""
        if packages is None:
            return self._source
        packages, listed = tuple(packages), self._selected
        names = tuple(sorted((each for each in packages if each in self._places), key=self._places.__getitem__))
        selected = None if listed is None else tuple(each for each in packages if each in listed)
        known = self._by_names.get((names, selected))
        if known is None:
            known = replace(self._source, package_names=names, selected_packages=selected)
            self._by_names[names, selected] = known
        return known


def without_idle_catalogs(part: ComponentPart) -> ComponentPart:
    """The part without the catalogs that neither offer nor list a package of it, and that its Operators do not come from, and
    without what is withheld of other packages than those of its Operators; the same object if that changes nothing.

    An answer that refuses nothing is the same for both: see component_solver.py.
    """
    names = {catalog for catalog, _, _ in part.documents}
    for each in part.operators:
        names.add(each.preferred_catalog)
        names.update(recorded.catalog for recorded in (each.running, each.installing) if recorded is not None)
    packages = frozenset(part.packages)
    catalogs = tuple(
        _limited(each, packages)
        for each in part.catalogs
        if each.name in names or not packages.isdisjoint(each.package_names)
    )
    kept = {each.name for each in catalogs}
    operators = tuple(
        each
        if each.catalogs is None or kept.issuperset(each.catalogs)
        else replace(each, catalogs=tuple(name for name in each.catalogs if name in kept))
        for each in part.operators
    )
    own = {each.held_package for each in operators}
    withheld = tuple(each for each in part.withheld if each[0] in kept and each[1] in own)
    is_same = (catalogs, operators, withheld) == (part.catalogs, part.operators, part.withheld)
    return part if is_same else replace(part, catalogs=catalogs, operators=operators, withheld=withheld)


def _limited(source: CatalogSource, packages: frozenset[str]) -> CatalogSource:
    """The catalog without the names of other packages."""
    if packages.issuperset(source.package_names):
        return source
    return replace(source, package_names=tuple(each for each in source.package_names if each in packages))


def digest_of(part: ComponentPart) -> str:
    """The digest of the part. The digests of whole contents are left out: those of the documents are in."""
    value = vars(part) | {
        "catalogs": [
            {name: each for name, each in vars(source).items() if name != "content"} for source in part.catalogs
        ]
    }
    try:
        text = msgspec.json.encode([FORMAT, value])
    except UnicodeEncodeError:  # a text that UTF-8 cannot hold
        text = repr([FORMAT, value]).encode(errors="backslashreplace")
    return "sha256:" + hashlib.sha256(text).hexdigest()


@dataclass(frozen=True)
class Component:
    """Packages that have to be resolved together. `packages` are those with an Operator and all possible dependencies."""

    requested: frozenset[str]
    packages: frozenset[str]
    is_too_large: bool = False
    """One of the requests leads to more than MAX_REACHED_PACKAGES: there may be others."""


def find_components(
    requested: Collection[str],
    index: Callable[[str], PackageIndex],
    providers: Mapping[GroupKind, Collection[str]],
    all_packages: Callable[[], Collection[str]],
) -> list[Component]:
    """The components of the packages with an Operator, sorted by the first name of each.

    `index` is that of a package in all catalogs, and of what runs of it; `providers` are the packages that may own a kind.
    """
    wanted = frozenset(requested)
    exist = cache(lambda: wanted.union(all_packages()))
    reached = [_Reached(root, exist) for root in sorted(wanted)]
    places: dict[str, int] = {}  # of each package, the first request that reached it
    owners: dict[GroupKind, str] = {}
    groups = _DisjointSets()
    for place, here in enumerate(reached):
        for package in here.pending:  # the loop body appends to the list
            first = places.setdefault(package, place)
            if first != place:
                groups.join(first, place)
                continue
            own = index(package)
            here.add(own.packages)
            for kind in own.kinds:
                here.add(frozenset(providers.get(kind, ())))
            if own.requires_any:
                here.add(frozenset(all_packages()))
            for kind in own.owned:
                groups.join(places[owners.setdefault(kind, package)], place)
    by_group: dict[int, set[str]] = {}
    for place, here in enumerate(reached):
        by_group.setdefault(groups.find(place), set()).update(here.packages)
    too_large = {groups.find(place) for place, here in enumerate(reached) if here.is_too_large}
    found = [
        Component(wanted & packages, frozenset(packages), group in too_large) for group, packages in by_group.items()
    ]
    return sorted(found, key=lambda each: min(each.requested))


class _Reached:
    """The packages that one request leads to, as far as no request before it does."""

    def __init__(self, root: str, exist: Callable[[], frozenset[str]]) -> None:
        self._exist = exist
        self.packages = {root}
        self.pending = [root]
        self.is_too_large = False

    def add(self, packages: frozenset[str]) -> None:
        """Add those that are new; beyond the limit only those that exist, because other requests may lead to them too."""
        new = packages - self.packages
        if len(self.packages) + len(new) > MAX_REACHED_PACKAGES:
            self.is_too_large = True
            new &= self._exist()
        self.packages |= new
        self.pending.extend(new)


class _DisjointSets:
    """Sets of numbers that were joined."""

    def __init__(self) -> None:
        self._parent: dict[int, int] = {}

    def find(self, value: int) -> int:
        """The representative of the set."""
        parent = self._parent
        parent.setdefault(value, value)
        while parent[value] != value:
            parent[value] = parent[parent[value]]
            value = parent[value]
        return value

    def join(self, one: int, other: int) -> None:
        """Make one set of both."""
        self._parent[self.find(one)] = self.find(other)
