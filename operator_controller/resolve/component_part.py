"""The part of a ClusterSnapshot that one component depends on, and its digest. Called by component_solver.py. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, is_dataclass, replace
from typing import Any

from operator_controller.resolve.catalog_index import CatalogIndex
from operator_controller.resolve.cluster_facts import ClusterFacts
from operator_controller.resolve.cluster_snapshot import CatalogSource, ClusterSnapshot, OperatorRequest
from operator_controller.resolve.components import MAX_REACHED_PACKAGES, Component, PackageIndex
from operator_controller.resolve.snapshot import STATES_WITH_CONTENT, CatalogState

MAX_RULES_LENGTH = 5_000_000
"""Characters of the rules in CEL of all packages of one component: compiling them takes about six seconds."""
FORMAT = 1
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
    excess: str = ""
    """Which limit the component exceeds, so that it is not solved."""


def part_of(
    snapshot: ClusterSnapshot, component: Component, operators: Iterable[OperatorRequest], index: CatalogIndex
) -> ComponentPart:
    """The part of one component; `operators` are its own."""
    members = tuple(operators)
    catalogs = sorted(snapshot.catalogs, key=lambda each: each.name)
    packages = tuple(sorted(component.packages))
    documents = [
        (catalog.name, package, digest)
        for catalog in catalogs
        for package in packages
        if (digest := index.digest(catalog.name, package)) is not None
    ]
    offered = {package for _, package, _ in documents}
    is_found = offered.issuperset(packages) and all(each.package in offered for each in members)
    kinds = frozenset[tuple[str, str]]().union(*(index.of_package(each).kinds for each in packages))
    owned = {
        kind: tuple(each for each in index.providers[kind] if each in component.packages)
        for kind in kinds
        if kind in index.providers
    }
    return ComponentPart(
        operators=members,
        catalogs=tuple(_reduced(each, component.packages, is_found) for each in catalogs),
        facts=_asked_facts(snapshot.facts, kinds, [index.of_package(each) for each in packages]),
        taken_names=tuple(sorted(each for each in snapshot.taken_names if each[0] in component.packages)),
        packages=packages,
        documents=tuple(documents),
        providers=tuple(sorted(owned.items())),
        excess=_excess(component, [index.of_package(each) for each in packages]),
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


def _reduced(source: CatalogSource, packages: frozenset[str], is_found: bool) -> CatalogSource:
    """The catalog with the names of packages that count: all of them only if a similar name may have to be suggested."""
    names = source.package_names if not is_found else tuple(each for each in source.package_names if each in packages)
    has_content = source.state in STATES_WITH_CONTENT
    message = "" if source.state is CatalogState.SERVING else source.message
    return replace(source, package_names=names, message=message, content=source.content if has_content else "")


def _asked_facts(
    facts: ClusterFacts, kinds: frozenset[tuple[str, str]], indexes: Iterable[PackageIndex]
) -> ClusterFacts:
    """The facts without what nothing requires."""
    indexes = list(indexes)
    asked = [each for each in facts.custom_kinds if (each.group, each.kind) in kinds]
    native = frozenset[str]().union(*(each.native_kinds for each in indexes))
    return ClusterFacts(
        kube_version=facts.kube_version if any(each.requires_version for each in indexes) else "",
        custom_kinds=tuple(sorted(asked, key=lambda each: (each.group, each.kind))),
        native_kinds=None if facts.native_kinds is None else tuple(sorted(native.intersection(facts.native_kinds))),
    )


def without_idle_catalogs(part: ComponentPart) -> ComponentPart:
    """The part without the catalogs that neither offer nor list a package of it, and that its Operators do not come from.

    An answer that refuses nothing is the same for both: see component_solver.py.
    """
    names = {catalog for catalog, _, _ in part.documents}
    for each in part.operators:
        names.add(each.preferred_catalog)
        names.update(recorded.catalog for recorded in (each.running, each.installing) if recorded is not None)
    packages = frozenset(part.packages)
    catalogs = [
        _reduced(each, packages, is_found=True)
        for each in part.catalogs
        if each.name in names or not packages.isdisjoint(each.package_names)
    ]
    kept = {each.name for each in catalogs}
    operators = [
        each
        if each.catalogs is None or kept.issuperset(each.catalogs)
        else replace(each, catalogs=tuple(name for name in each.catalogs if name in kept))
        for each in part.operators
    ]
    return replace(part, catalogs=tuple(catalogs), operators=tuple(operators))


def digest_of(part: ComponentPart) -> str:
    """The digest of the part. The digests of whole contents are left out: those of the documents are in."""
    value = vars(part) | {
        "catalogs": [
            {name: each for name, each in vars(source).items() if name != "content"} for source in part.catalogs
        ],
        "operators": [_plain(vars(each)) for each in part.operators],
        "facts": _plain(vars(part.facts)),
    }
    text = json.dumps([FORMAT, value], sort_keys=True, separators=(",", ":"))
    return "sha256:" + hashlib.sha256(text.encode(errors="replace")).hexdigest()


def _plain(fields: dict[str, Any]) -> dict[str, Any]:
    """Fields whose dataclasses are dictionaries, without the copy of everything else that dataclasses.asdict makes."""
    return {
        name: vars(value)
        if is_dataclass(value)
        else [vars(each) for each in value]
        if isinstance(value, tuple) and value and is_dataclass(value[0])
        else value
        for name, value in fields.items()
    }
