"""What there is instead of what was asked for and was not found: other versions, channels, catalogs, packages.

Called by explain. Nothing is looked up here: every word comes from the Decision. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from olmkit.gocompat.versions import Version, quoted
from operator_controller.resolve.candidates import CatalogCandidates, MissingPart
from operator_controller.resolve.formatting import MAX_CHANNELS_SHOWN, format_versions, join_names
from operator_controller.resolve.resolution import Resolution
from operator_controller.resolve.similar_names import similar_names
from operator_controller.resolve.snapshot import STATES_WITH_CONTENT, CatalogState, PackageRequest

TOO_LARGE = "is too large to be resolved"


def suggestions(decision: Resolution) -> str:
    """Everything that may help whoever asked, in one sentence."""
    asked, offers = decision.snapshot.request, decision.snapshot.offers
    if not offers:
        return f'there is no Catalog yet: create one that has package "{asked.package}"'
    parts: list[str] = []
    if all(view.missing is MissingPart.PACKAGE for view in decision.catalogs):
        parts += _no_package(decision)
    for view in decision.catalogs:
        parts += _catalog_suggestions(asked, view)
    parts += _other_catalogs(decision)
    parts += _unavailable_catalogs(decision)
    parts += unreadable_bundles(decision.catalogs)
    parts += unreadable_catalogs(decision.catalogs)
    parts += _similar_packages(decision)
    return "; ".join(parts)


def _no_package(decision: Resolution) -> list[str]:
    counting = [view.offer for view in decision.catalogs if view.offer.state in STATES_WITH_CONTENT]
    if not counting:
        return []
    where = join_names([f'"{offer.catalog}"' for offer in counting], "and")
    verb = "do not have it" if len(counting) > 1 else "does not have it"
    return [f"catalog{'s' if len(counting) > 1 else ''} {where} {verb}"]


def _similar_packages(decision: Resolution) -> list[str]:
    """A package that may have been meant."""
    if not all(view.missing is MissingPart.PACKAGE for view in decision.catalogs):
        return []
    known = {name for view in decision.catalogs for name in view.offer.package_names}
    similar = [f'"{name}"' for name in similar_names(decision.snapshot.request.package, known)]
    return [f"did you mean {join_names(similar, 'or')}?"] if similar else []


def _catalog_suggestions(asked: PackageRequest, view: CatalogCandidates) -> list[str]:
    package = view.offer.package
    if package is None:
        return []
    channels = join_names(sorted(channel.name for channel in package.channels), "and")
    if view.missing is MissingPart.DEFAULT_CHANNEL:
        return [
            f"it has no default channel: name one of {channels} in spec.channel" if channels else "it has no channels"
        ]
    if view.missing is MissingPart.CHANNEL:
        elsewhere = f': catalog "{view.offer.catalog}" has it in {channels}' if channels else ": it has no channels"
        return [f"there is no channel {asked.channel}{elsewhere}"]
    return _offered_versions(asked, view) + _prereleases(asked, view) + _other_channels(asked, view)


def _offered_versions(asked: PackageRequest, view: CatalogCandidates) -> list[str]:
    by_list: dict[tuple[Version, ...], list[str]] = {}
    package = view.offer.package
    for channel in sorted(view.channels, key=lambda one: one.name):
        bundles = [package.bundles.get(entry.name) for entry in channel.entries] if package else []
        versions = {bundle.version for bundle in bundles if bundle is not None and bundle.version is not None}
        by_list.setdefault(tuple(sorted(versions)), []).append(channel.name)
    near = asked.versions.pinned if asked.versions else None
    parts = [
        f"{join_names(names, 'and')} {'has' if len(names) == 1 else 'have'} {format_versions(versions, near)}"
        for versions, names in list(by_list.items())[:MAX_CHANNELS_SHOWN]
    ]
    more = len(by_list) - len(parts)
    if more > 0:
        parts.append(f"{more} more channels have others")
    if asked.versions is not None:
        parts.append(
            f"none is {asked.versions.text}" if near else f"no version is in range {quoted(asked.versions.text)}"
        )
    return parts


def _prereleases(asked: PackageRequest, view: CatalogCandidates) -> list[str]:
    """Versions that only the rule about prereleases keeps out."""
    versions = asked.versions
    if versions is None:
        return []
    kept_out = sorted(one.version for one in view.candidates if versions.matches(one.version, prereleases=True))
    if not kept_out:
        return []
    return [f'{kept_out[-1]} is a prerelease, and counts only if spec.version names one, such as ">={kept_out[-1]}"']


def _other_channels(asked: PackageRequest, view: CatalogCandidates) -> list[str]:
    """The version that was asked for, in a channel that was not."""
    package = view.offer.package
    if package is None or asked.versions is None or not asked.channel:
        return []
    matching = {
        bundle.name
        for bundle in package.bundles.values()
        if bundle.version is not None and asked.versions.matches(bundle.version)
    }
    having = sorted(
        channel.name for channel in package.channels if matching & {entry.name for entry in channel.entries}
    )
    return [f"it is in channel {join_names(having, 'and')}"] if having else []


def _other_catalogs(decision: Resolution) -> list[str]:
    """Catalogs that do not count because an installed package stays with its own."""
    running = decision.snapshot.running
    counting = {view.offer.catalog for view in decision.catalogs}
    others = sorted(o.catalog for o in decision.snapshot.offers if o.package and o.catalog not in counting)
    if running is None or not others:
        return []
    where = join_names([f'"{name}"' for name in others], "and")
    stays = ", ".join(f'"{catalog}"' for catalog in sorted(counting))
    have = f"catalogs {where} have" if len(others) > 1 else f"catalog {where} has"
    return [f"{have} the package too, but what is installed stays with catalog {stays}"]


def _unavailable_catalogs(decision: Resolution) -> list[str]:
    """Catalogs that might have had it; one that an installed package does not stay with does not matter."""
    if decision.snapshot.running is not None:
        return []
    offers = [offer for offer in decision.snapshot.offers if offer.state is CatalogState.UNAVAILABLE]
    where = join_names([f'"{offer.catalog}"' for offer in offers], "and")
    if not offers:
        return []
    counts = f"catalogs {where} do not count: their" if len(offers) > 1 else f"catalog {where} does not count: its"
    return [f"{counts} spec.availability is Unavailable"]


def unreadable_bundles(seen: Sequence[CatalogCandidates]) -> list[str]:
    """Bundles of the channels that count and that nobody can install."""
    found = [
        f'bundle "{bundle.name}" cannot be read: {bundle.problem}'
        for view in seen
        for bundle in _bundles_of(view)
        if bundle.problem
    ]
    return found[:3] + ([f"{len(found) - 3} more cannot be read"] if len(found) > 3 else [])


def _bundles_of(view: CatalogCandidates) -> Iterable[Any]:
    package = view.offer.package
    names = dict.fromkeys(entry.name for channel in view.channels for entry in channel.entries)
    return [package.bundles[name] for name in names if name in package.bundles] if package else []


def unreadable_catalogs(seen: Sequence[CatalogCandidates], but: str = "") -> list[str]:
    """Catalogs that cannot be asked now, `but` apart, and what counts of them."""
    parts: list[str] = []
    for offer in (view.offer for view in seen if view.offer.catalog != but):
        match offer.state:
            case CatalogState.PENDING:
                parts.append(f'catalog "{offer.catalog}" is not served yet: {offer.message}')
            case CatalogState.CACHED:
                parts.append(f'catalog "{offer.catalog}" cannot be read, its last content counts: {offer.message}')
            case CatalogState.UNREACHABLE:
                parts.append(f'catalog "{offer.catalog}" cannot be read: {offer.message}')
            case CatalogState.TOO_LARGE:
                parts.append(f'what catalog "{offer.catalog}" has of it {TOO_LARGE}: {offer.message}')
    return parts
