"""The parts of messages about spec.catalogSelector, spec.upgradeConstraintPolicy and spec.excludedVersions, and names like one
that does not exist.

Each sentence is made from the Resolution alone. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher

from olmkit.gocompat.text import quoted
from olmkit.gocompat.versions import Version
from operator_controller.resolve.formatting import format_versions, join_names
from operator_controller.resolve.package.bundle_identity import has_same_name_and_version
from operator_controller.resolve.selection.package_resolution import (
    NoDirectUpgrade,
    PackageResolution,
    SourceCatalogNotSelected,
    SuccessorCatalog,
)
from operator_controller.resolve.snapshot.package_snapshot import CatalogState
from operator_controller.resolve.snapshot.spec_terms import SpecTerms

MAX_SUGGESTIONS = 3
MIN_SIMILARITY_RATIO = 0.7
"""The lowest similarity of a name that is suggested, from 0 (nothing in common) to 1 (equal)."""
MAX_NAME_LENGTH = 253
"""Characters; longer names are not compared, because the cost is the product of both lengths."""
COMMON_WORD = "operator"
"""A word that many package names contain: it is ignored."""


def successor_note(successor: SuccessorCatalog, terms: SpecTerms) -> str:
    """Say which catalog takes the place of another one, and why."""
    cause = "was deleted" if successor.is_deleted else _not_selected(terms)
    return (
        f'catalog "{successor.previous}", which it came from, {cause}: it follows catalog "{successor.catalog}", which offers '
        "the same bundle"
    )


def source_not_selected(outcome: SourceCatalogNotSelected, terms: SpecTerms) -> str:
    """The message of Resolved if no selected catalog offers the running bundle."""
    source = f'catalog "{outcome.catalog}", which it came from, {_not_selected(terms)}'
    return f"{source}, and no selected catalog offers its bundle"


def _not_selected(terms: SpecTerms) -> str:
    return f"is not selected by {terms.selector}"


def how_to_select(resolution: PackageResolution) -> str:
    """Say what helps if no selected catalog offers the running bundle."""
    running, terms = resolution.snapshot.running, resolution.terms
    others = [
        quoted(catalog.offer.catalog)
        for catalog in resolution.catalogs
        if running is not None
        and catalog.offer.package is not None
        and has_same_name_and_version(catalog.offer.package, running.name, running.version)
    ]
    parts: list[str] = []
    if others:
        verb = "offer" if len(others) > 1 else "offers"
        names = join_names(others, "and")
        parts.append(f"{names} {verb} a bundle of the same name and version with another image, which is not followed")
    if not resolution.catalogs:
        parts.append(f"no {terms.catalog} is selected")
    matching = [candidate for catalog in resolution.catalogs for candidate in catalog.matching]
    parts.append(f"select a {terms.catalog} that offers the installed bundle")
    if matching:
        best = max(matching, key=lambda one: one.rank)
        parts[-1] += f', or set {terms.policy} to {terms.ignore} to install {best.version} of "{best.catalog}"'
    return "; ".join(parts)


def unselected_catalogs(resolution: PackageResolution) -> list[str]:
    """The catalogs that are not selected, if they list the package; and whether any catalog is selected at all."""
    package, terms = resolution.snapshot.request.package, resolution.terms
    unselected = [offer for offer in resolution.snapshot.offers if offer.state is CatalogState.NOT_SELECTED]
    if not unselected:
        return []
    parts = (
        [] if len(unselected) < len(resolution.snapshot.offers) else [f"{terms.selector} selects no {terms.catalog}"]
    )
    having = [quoted(offer.catalog) for offer in unselected if package in offer.package_names]
    if having:
        names = join_names(having, "and")
        what, have = (
            ("catalogs", "have the package and are") if len(having) > 1 else ("catalog", "has the package and is")
        )
        parts.append(f"{what} {names} {have} not selected by {terms.selector}")
    return parts


def missing_edge(resolution: PackageResolution, outcome: NoDirectUpgrade) -> list[str]:
    """Name the upgrade edge that does not exist, if no path leads to the wanted bundle."""
    running = resolution.snapshot.running
    if running is None or outcome.path:
        return []
    return [no_edge(outcome.wanted.bundle.name, running.name)]


def no_edge(wanted: str, running: str) -> str:
    """Name the upgrade edge that does not exist between two bundles, which are given by name."""
    return f"bundle {quoted(wanted)} neither replaces nor skips {quoted(running)}"


def ignored_policy(wanted: Version, terms: SpecTerms) -> str:
    """Say what a policy that ignores upgrade edges would allow."""
    return (
        f"with {terms.policy} {terms.ignore}, {wanted} would be installed without an upgrade edge, which publishers do not "
        "test"
    )


def available_but_excluded(version: Version, terms: SpecTerms) -> str:
    """Say that spec.excludedVersions keeps out a version that could be had otherwise."""
    return f"{version} is available too, but {terms.excluded} has it"


def excluded_versions(resolution: PackageResolution) -> list[str]:
    """The versions that match the request and that spec.excludedVersions has."""
    versions = {one.version for catalog in resolution.catalogs for one in catalog.excluded}
    return [f"{resolution.terms.excluded} has {format_versions(sorted(versions), None, 'and')}"] if versions else []


def running_but_excluded(version: str, terms: SpecTerms) -> str:
    """Say that spec.excludedVersions has the version that runs."""
    return f"runs {version}, which {terms.excluded} excludes"


def similar_names(requested: str, known: Iterable[str]) -> list[str]:
    """Return at most MAX_SUGGESTIONS of `known`, the most similar first, then by name."""
    ratio = {name: _similarity(requested, name) for name in set(known) if len(name) <= MAX_NAME_LENGTH}
    similar = [name for name, value in ratio.items() if value >= MIN_SIMILARITY_RATIO]
    return sorted(similar, key=lambda name: (-ratio[name], name))[:MAX_SUGGESTIONS]


def _similarity(one: str, other: str) -> float:
    """The similarity of the words that remain without a common prefix and suffix, from 0 to 1, without regard to case. A common
    suffix counts for nothing; if one name is a prefix of the other, they are similar.
    """
    left, right = _distinctive_words(one), _distinctive_words(other)
    while left and right and left[0] == right[0]:
        del left[0], right[0]
        if not left or not right:
            return 1.0 if left == right else MIN_SIMILARITY_RATIO
    while left and right and left[-1] == right[-1]:
        del left[-1], right[-1]
    return SequenceMatcher(None, "-".join(left), "-".join(right), autojunk=False).ratio()


def _distinctive_words(name: str) -> list[str]:
    return [word for word in name.casefold().split("-") if word != COMMON_WORD]
