"""Suggestions for a request that was not found: other versions, channels, catalogs and packages, and what could not be read.

Each is made from the Resolution alone. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from olmkit.gocompat.text import quoted
from olmkit.gocompat.versions import Version
from operator_controller.resolve.explain.spec_hints import similar_names, unselected_catalogs
from operator_controller.resolve.explain.unread_catalogs import unread_note
from operator_controller.resolve.formatting import (
    MAX_CHANNELS_SHOWN,
    format_versions,
    join_names,
    name_catalogs,
    plain_value,
    quoted_value,
)
from operator_controller.resolve.package.package_content import Channel
from operator_controller.resolve.package.upgrade_graph import unreadable_ranges
from operator_controller.resolve.selection.package_resolution import CatalogCandidates, MissingPart, PackageResolution
from operator_controller.resolve.snapshot.package_snapshot import (
    STATES_WITH_CONTENT,
    CatalogOffer,
    CatalogState,
    PackageRequest,
)

TOO_LARGE = "is too large to be resolved"
MAX_BUNDLES_SHOWN = 3


def suggestions(resolution: PackageResolution) -> str:
    """All suggestions for a request that no catalog satisfies, joined by semicolons."""
    request, offers = resolution.snapshot.request, resolution.snapshot.offers
    if not offers:
        return f'there is no {request.terms.catalog} yet: create one that has package "{request.package}"'
    parts: list[str] = []
    if all(catalog.missing is MissingPart.PACKAGE for catalog in resolution.catalogs):
        parts += _no_package(resolution)
    for catalog in () if has_no_channels(resolution) else resolution.catalogs:
        parts += _catalog_suggestions(request, catalog)
    parts += _other_catalogs(resolution)
    parts += _unavailable_catalogs(resolution)
    parts += unselected_catalogs(resolution)
    parts += unreadable_bundles(resolution.catalogs)
    parts += unreadable_catalogs(resolution.catalogs, package=request.package)
    parts += _similar_packages(resolution)
    return "; ".join(parts)


def has_no_channels(resolution: PackageResolution) -> bool:
    """Report whether every catalog that offers the package has it without channels, and no channel was requested."""
    offering = [catalog for catalog in resolution.catalogs if catalog.offer.package is not None]
    return bool(offering) and all(
        catalog.missing is MissingPart.DEFAULT_CHANNEL and not catalog.offer.package.channels
        for catalog in offering
        if catalog.offer.package is not None
    )


def is_in_unreadable_catalog(resolution: PackageResolution) -> bool:
    """Report whether no catalog offers the package, and one that cannot be read lists it."""
    package = resolution.snapshot.request.package
    is_missing = all(catalog.missing is MissingPart.PACKAGE for catalog in resolution.catalogs)
    return is_missing and any(_is_listed_unreachable(catalog.offer, package) for catalog in resolution.catalogs)


def _is_listed_unreachable(offer: CatalogOffer, package: str) -> bool:
    return offer.state is CatalogState.UNREACHABLE and package in offer.package_names


def _no_package(resolution: PackageResolution) -> list[str]:
    known = [catalog.offer for catalog in resolution.catalogs if catalog.offer.state in STATES_WITH_CONTENT]
    if not known:
        return []
    parts, packages = [], resolution.terms.packages
    if lacking := [offer.catalog for offer in known if not offer.is_excluded]:
        verb = "do not have it" if len(lacking) > 1 else "does not have it"
        parts.append(f"{name_catalogs(lacking)} {verb}")
    if withholding := [offer.catalog for offer in known if offer.is_withheld]:
        verb = "have it, but their" if len(withholding) > 1 else "has it, but its"
        parts.append(f"{name_catalogs(withholding)} {verb} {packages} does not name it: add it there")
    if excluding := [offer.catalog for offer in known if offer.is_excluded and not offer.is_withheld]:
        verb = "do not offer it: their" if len(excluding) > 1 else "does not offer it: its"
        parts.append(f"{name_catalogs(excluding)} {verb} {packages} does not name it")
    return parts


def _similar_packages(resolution: PackageResolution) -> list[str]:
    """Packages of a similar name."""
    if not all(catalog.missing is MissingPart.PACKAGE for catalog in resolution.catalogs):
        return []
    requested = resolution.snapshot.request.package
    known = {name for catalog in resolution.catalogs for name in catalog.offer.package_names}
    if is_in_unreadable_catalog(resolution) or any(catalog.offer.is_withheld for catalog in resolution.catalogs):
        return []
    similar = [f'"{name}"' for name in similar_names(requested, known - {requested})]
    return [f"did you mean {join_names(similar, 'or')}?"] if similar else []


def _catalog_suggestions(request: PackageRequest, catalog: CatalogCandidates) -> list[str]:
    package = catalog.offer.package
    if package is None:
        return []
    channels = join_names(sorted(channel.name for channel in package.channels), "and")
    if catalog.missing is MissingPart.DEFAULT_CHANNEL:
        return [
            f"it has no default channel: name one of {channels} in {request.terms.channel}"
            if channels
            else f'it has no channels in catalog "{catalog.offer.catalog}"'
        ]
    if catalog.missing is MissingPart.CHANNEL:
        where = f'catalog "{catalog.offer.catalog}"'
        elsewhere = f"{where} has it in {channels}" if channels else f"it has no channels in {where}"
        return [f"there is no channel {join_names(request.named_channels, 'or')}: {elsewhere}"]
    return _offered_versions(request, catalog) + _prereleases(request, catalog) + _other_channels(request, catalog)


def _offered_versions(request: PackageRequest, catalog: CatalogCandidates) -> list[str]:
    by_versions: dict[tuple[Version, ...], list[str]] = {}
    package = catalog.offer.package
    for channel in sorted(catalog.channels, key=lambda one: one.name):
        bundles = [package.bundles.get(entry.name) for entry in channel.entries] if package else []
        versions = {bundle.version for bundle in bundles if bundle is not None and bundle.version is not None}
        by_versions.setdefault(tuple(sorted(versions)), []).append(channel.name)
    near = request.versions.pinned if request.versions else None
    parts = [
        f"{join_names(names, 'and')} {'has' if len(names) == 1 else 'have'} {format_versions(versions, near)}"
        for versions, names in list(by_versions.items())[:MAX_CHANNELS_SHOWN]
    ]
    more = len(by_versions) - len(parts)
    if more > 0:
        parts.append(f"{more} more channels have others")
    if request.versions is not None:
        parts.append(
            f"none is {request.versions.text}" if near else f"no version is in range {quoted(request.versions.text)}"
        )
    return parts


def _prereleases(request: PackageRequest, catalog: CatalogCandidates) -> list[str]:
    """Versions that only the rule about prereleases excludes."""
    versions = request.versions
    if versions is None:
        return []
    excluded = sorted(one.version for one in catalog.candidates if versions.matches(one.version, prereleases=True))
    if not excluded:
        return []
    return [
        f"{excluded[-1]} is a prerelease, and is selected only if {request.terms.version} names one, "
        f'such as ">={excluded[-1]}"'
    ]


def _other_channels(request: PackageRequest, catalog: CatalogCandidates) -> list[str]:
    """Other channels than the requested one that have the requested version."""
    package = catalog.offer.package
    if package is None or request.versions is None or not request.named_channels:
        return []
    matching = {
        bundle.name
        for bundle in package.bundles.values()
        if bundle.version is not None and request.versions.matches(bundle.version)
    }
    having = sorted(
        channel.name for channel in package.channels if matching & {entry.name for entry in channel.entries}
    )
    return [f"it is in channel {join_names(having, 'and')}"] if having else []


def _other_catalogs(resolution: PackageResolution) -> list[str]:
    """Catalogs that are ignored because an installed package stays with its own."""
    running = resolution.snapshot.running
    considered = {catalog.offer.catalog for catalog in resolution.catalogs}
    others = sorted(o.catalog for o in resolution.snapshot.offers if o.package and o.catalog not in considered)
    if running is None or not others:
        return []
    where = join_names([f'"{name}"' for name in others], "and")
    stays = ", ".join(f'"{catalog}"' for catalog in sorted(considered))
    have = f"catalogs {where} also have" if len(others) > 1 else f"catalog {where} also has"
    return [f"{have} the package, but the installed one stays with catalog {stays}"]


def _unavailable_catalogs(resolution: PackageResolution) -> list[str]:
    """Catalogs that are ignored because they are Unavailable. For an installed package only its own catalog matters."""
    if resolution.snapshot.running is not None:
        return []
    offers = [offer for offer in resolution.snapshot.offers if offer.state is CatalogState.UNAVAILABLE]
    where = join_names([f'"{offer.catalog}"' for offer in offers], "and")
    if not offers:
        return []
    ignored = f"catalogs {where} are ignored: their" if len(offers) > 1 else f"catalog {where} is ignored: its"
    return [f"{ignored} {resolution.terms.availability} is Unavailable"]


def unreadable_bundles(catalogs: Sequence[CatalogCandidates]) -> list[str]:
    """Bundles of the selected channels that cannot be read, and therefore not installed."""
    found = [
        f'bundle "{bundle.name}" cannot be read: {bundle.problem}'
        for catalog in catalogs
        for bundle in _bundles_of(catalog)
        if bundle.problem
    ]
    more = len(found) - MAX_BUNDLES_SHOWN
    return found[:MAX_BUNDLES_SHOWN] + ([f"{more} more cannot be read"] if more > 0 else [])


def unreadable_skip_ranges(channels: Iterable[Channel]) -> list[str]:
    """The skipRanges of the channels that cannot be read: an upgrade that one of them was to permit does not exist."""
    ranges = unreadable_ranges(channels)
    found = [
        f"the skipRange {quoted_value(text)} of {plain_value(name)} cannot be read" for name, text in ranges.items()
    ]
    more = len(found) - MAX_BUNDLES_SHOWN
    return found[:MAX_BUNDLES_SHOWN] + ([f"{more} more skipRanges cannot be read"] if more > 0 else [])


def _bundles_of(catalog: CatalogCandidates) -> Iterable[Any]:
    package = catalog.offer.package
    names = dict.fromkeys(entry.name for channel in catalog.channels for entry in channel.entries)
    return [package.bundles[name] for name in names if name in package.bundles] if package else []


def unreadable_catalogs(catalogs: Sequence[CatalogCandidates], excluded: str = "", package: str = "") -> list[str]:
    """Catalogs that cannot be read at the moment, except `excluded`; what is used instead, and whether they list `package`."""
    parts: list[str] = []
    for offer in (catalog.offer for catalog in catalogs if catalog.offer.catalog != excluded):
        if offer.state is CatalogState.TOO_LARGE:
            parts.append(f'the package in catalog "{offer.catalog}" {TOO_LARGE}: {offer.message}')
            continue
        known = ["it"] if package in offer.package_names else []
        note = unread_note(offer.state, offer.catalog, offer.message, known)
        parts += [note] if note else []
    return parts
