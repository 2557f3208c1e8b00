"""Chooses the bundles of one package that may be installed, by preference, and the catalog that each is installed from.

Candidates are the bundles of the package in the selected channels; the version range and the upgrade edges from the running
bundle exclude some of them; the best of the rest is not deprecated and has the highest catalog priority, version and release. The
solver selects the best one that the requirements of all packages permit; they are not known here. Pure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from olmkit.gocompat.versions import Version
from operator_controller.resolve.package.bundle_identity import (
    BundleIdentity,
    channels_with,
    identity_in,
    is_same_image,
)
from operator_controller.resolve.package.package_content import Bundle, Channel, PackageContent
from operator_controller.resolve.package.upgrade_graph import UpgradeGraph, UpgradeStart, direct_upgrades
from operator_controller.resolve.requirements.bundle_constraints import constraints_of
from operator_controller.resolve.requirements.constraints import KnownCluster, known_cluster, unmet_cluster_requirement
from operator_controller.resolve.selection.package_resolution import (
    AmbiguousCatalogs,
    Candidate,
    CatalogCandidates,
    Chosen,
    Kept,
    MissingPart,
    NoDirectUpgrade,
    NoMatchingBundle,
    NotInstallable,
    NoVersionLeft,
    PreferredCatalogUnread,
    ResolutionOutcome,
    RuledOut,
    SourceCatalogMissing,
    SourceCatalogNotSelected,
    SuccessorCatalog,
    TooLargeToResolve,
)
from operator_controller.resolve.snapshot.package_snapshot import (
    IGNORED_STATES,
    STATES_WITH_CONTENT,
    CatalogOffer,
    CatalogState,
    PackageRequest,
    PackageSnapshot,
    RunningBundle,
)


@dataclass(frozen=True)
class Permitted:
    """The bundles that may be installed for one request, as far as the package alone decides it, ascending by preference."""

    choices: tuple[Chosen, ...]
    otherwise: ResolutionOutcome
    """The outcome if there are none."""
    catalogs: tuple[CatalogCandidates, ...] = ()
    """The catalogs that were considered."""
    successor: SuccessorCatalog | None = None


def _is_approved(candidate: Candidate, snapshot: PackageSnapshot) -> bool:
    """Report whether a person has approved the candidate, which is newer than what runs: an approval that was used does not
    count."""
    running = snapshot.running.version if snapshot.running is not None else None
    is_newer = running is None or candidate.version > running
    return is_newer and str(candidate.version) == snapshot.request.approved_version


def permitted(snapshot: PackageSnapshot) -> Permitted:
    """The bundles that may be installed, and the outcome if there are none. Never raises."""
    running, successor = snapshot.running, None
    offers = tuple(offer for offer in snapshot.offers if offer.state not in IGNORED_STATES)
    if running is not None and running.catalog:  # an installed package stays with the catalog it came from
        source = next((offer for offer in snapshot.offers if offer.catalog == running.catalog), None)
        if source is None or source.state is CatalogState.NOT_SELECTED:
            previous, source = source, _successor_offer(running, offers) or source
            successor = _successor_catalog(running, source, is_deleted=previous is None)
        if source is not None and source.state is CatalogState.NOT_SELECTED:
            return _permitted_without_source(snapshot, running, offers)
        if source is None or source.state not in STATES_WITH_CONTENT:
            return Permitted((), _resolve_without_catalog(snapshot, running, source))
        offers = (source,)
    catalogs = _candidates(snapshot, running, offers)
    if running is None:
        found = _permitted_installations(snapshot, catalogs)
    else:
        found = _permitted_upgrades(snapshot, running, catalogs, successor)
    choices = sorted(found.choices, key=lambda one: _is_approved(one.candidate, snapshot))
    return replace(found, choices=tuple(choices))


def _candidates(
    snapshot: PackageSnapshot, running: RunningBundle | None, offers: Iterable[CatalogOffer]
) -> tuple[CatalogCandidates, ...]:
    cluster = known_cluster(snapshot.facts)
    return tuple(candidates_of(offer, snapshot.request, running, cluster) for offer in offers)


# --- the candidates of one catalog


def candidates_of(
    offer: CatalogOffer, request: PackageRequest, running: RunningBundle | None, cluster: KnownCluster
) -> CatalogCandidates:
    """The candidates of one catalog. The bundle that runs is never ruled out."""
    if offer.package is None:
        return CatalogCandidates(offer, MissingPart.PACKAGE)
    channels, missing = selected_channels(offer.package, request)
    candidates = tuple(_with_running_image(one, running) for one in _channel_candidates(offer, offer.package, channels))
    if request.is_dependency:
        default = default_channel(offer.package)
        candidates = tuple(one if one.channel == default else replace(one, is_preferred=False) for one in candidates)
    matching = tuple(one for one in candidates if request.versions is None or request.versions.matches(one.version))
    excluded = tuple(one for one in matching if request.excludes(one.version)) if request.excluded else ()
    if excluded:
        matching = tuple(one for one in matching if not request.excludes(one.version))
    ruled_out = [
        RuledOut(one, reason)
        for one in matching
        if not (running is not None and is_same_bundle(one, running))
        and (reason := installation_problem(one.bundle, cluster))
    ]
    if ruled_out:
        names = {each.candidate.bundle.name for each in ruled_out}
        matching = tuple(one for one in matching if one.bundle.name not in names)
    return CatalogCandidates(offer, missing, channels, candidates, matching, tuple(ruled_out), excluded)


def installation_problem(bundle: Bundle, cluster: KnownCluster) -> str:
    """Explain why the bundle cannot be installed, whatever else is installed; "" if it can."""
    return unmet_cluster_requirement(bundle, cluster) or constraints_of(bundle).problem


def _with_running_image(candidate: Candidate, running: RunningBundle | None) -> Candidate:
    """Takes over the running image reference if both are the same image: another registry is no reason for an upgrade."""
    if running is None or not is_same_image(candidate.bundle.image, running.image):
        return candidate
    return replace(candidate, bundle=candidate.bundle.with_image(running.image))


def selected_channels(package: PackageContent, request: PackageRequest) -> tuple[tuple[Channel, ...], MissingPart]:
    """The requested channels that the package has; every channel for versions without a channel and for a dependency; else the
    default or only one."""
    if request.follows_every_channel:
        # A package without channels has no default channel either, and is reported as such.
        return package.channels, MissingPart.NONE if package.channels else MissingPart.DEFAULT_CHANNEL
    if request.channels:
        found = [channel for channel in package.channels if channel.name in request.channels]
        return tuple(in_order_of_search(package, found)), MissingPart.NONE if found else MissingPart.CHANNEL
    if request.versions is not None or request.is_dependency:
        return package.channels, MissingPart.NONE
    channel = package.channel(package.default_channel)
    if channel is not None:
        return (channel,), MissingPart.NONE
    if len(package.channels) == 1:
        return package.channels, MissingPart.NONE
    return (), MissingPart.DEFAULT_CHANNEL


def default_channel(package: PackageContent) -> str:
    """The name of the channel that an Operator without channel and version would follow; "" if there is none."""
    channels, _ = selected_channels(package, PackageRequest(package.name))
    return channels[0].name if channels else ""


def _channel_candidates(
    offer: CatalogOffer, package: PackageContent, channels: Sequence[Channel]
) -> Iterable[Candidate]:
    """Yields each readable bundle once: from the default channel if it is there, else from the first channel that has it."""
    known: set[str] = set()
    for channel in in_order_of_search(package, channels):
        for entry in channel.entries:
            bundle = package.bundles.get(entry.name)
            if bundle is None or bundle.version is None or bundle.name in known:
                continue
            known.add(bundle.name)
            deprecation = deprecation_of(package, bundle.name)
            yield Candidate(bundle, bundle.version, offer.catalog, offer.priority, channel.name, deprecation)


def in_order_of_search(package: PackageContent, channels: Iterable[Channel]) -> list[Channel]:
    """The default channel first: the channel of a candidate is the first that has it."""
    return sorted(channels, key=lambda channel: (channel.name != package.default_channel, channel.name))


def deprecation_of(package: PackageContent, bundle: str) -> str:
    """The message about the deprecation of a bundle; "" if it is not deprecated."""
    found = package.deprecated_bundles.get(bundle)
    return "" if found is None else found or "no reason is given"


def is_same_bundle(candidate: Candidate, running: RunningBundle) -> bool:
    """Report whether the candidate has the name, the exact version and release (for a renamed bundle), or the image of what
    runs."""
    is_named = candidate.bundle.name == running.name or candidate.version == running.version
    return is_named or is_same_image(candidate.bundle.image, running.image)


# --- the catalog of an installed package


def _successor_offer(running: RunningBundle, offers: Sequence[CatalogOffer]) -> CatalogOffer | None:
    """The catalog that takes the place of one that was deleted or is not selected, because it offers the same bundle.

    The same image digest is preferred to the same reference, then the higher priority, then the name decides.
    """
    found = [
        (identity_in(offer.package, running.name, running.version, running.image), offer.priority, offer)
        for offer in offers
        if offer.package is not None
    ]
    matching = [one for one in found if one[0] is not BundleIdentity.NONE]
    return min(matching, key=lambda one: (-one[0], -one[1], one[2].catalog))[2] if matching else None


def _successor_catalog(
    running: RunningBundle, source: CatalogOffer | None, *, is_deleted: bool
) -> SuccessorCatalog | None:
    """The recorded channel is kept if the successor has the bundle in it."""
    if source is None or source.package is None:
        return None
    channels = channels_with(source.package, running.name, running.version, running.image)
    channel = running.channel if running.channel in channels else channels[0]
    return SuccessorCatalog(running.catalog, source.catalog, channel, is_deleted)


def _permitted_without_source(
    snapshot: PackageSnapshot, running: RunningBundle, offers: Sequence[CatalogOffer]
) -> Permitted:
    """The request does not select the catalog of the running bundle: if no upgrade edge is required, all that match."""
    catalogs = _candidates(snapshot, running, offers)
    if snapshot.request.enforces_edges:
        return Permitted((), SourceCatalogNotSelected(running.catalog), catalogs)
    return _permitted_installations(snapshot, catalogs)


def _resolve_without_catalog(
    snapshot: PackageSnapshot, running: RunningBundle, source: CatalogOffer | None
) -> ResolutionOutcome:
    if _satisfies_request(running, snapshot.request):
        return Kept(running, source.state if source is not None else None)
    if source is not None and source.state is CatalogState.TOO_LARGE:
        return TooLargeToResolve(running.catalog, source.message)
    return SourceCatalogMissing(running.catalog, source.message if source is not None else "")


def _satisfies_request(running: RunningBundle, request: PackageRequest) -> bool:
    """Report whether the running version and channel are those that the spec requests."""
    matches = request.versions is None or (running.version is not None and request.versions.matches(running.version))
    follows = not request.named_channels or running.channel in request.named_channels
    return matches and follows and not request.excludes(running.version)


# --- a first installation


def _permitted_installations(snapshot: PackageSnapshot, catalogs: tuple[CatalogCandidates, ...]) -> Permitted:
    """All matching candidates. Of catalogs that offer equally good ones, only the preferred one counts."""
    matching = sorted((one for catalog in catalogs for one in catalog.matching), key=lambda one: one.rank)
    if not matching:
        return Permitted((), _no_match(catalogs), catalogs)
    if snapshot.catalog_order is not None:
        place = {name: -index for index, name in enumerate(snapshot.catalog_order)}
        if snapshot.preferred_catalog:
            place[snapshot.preferred_catalog] = 1
        matching.sort(key=lambda one: (one.tier, place[one.catalog], one.rank))
        if unread := _preferred_unread(snapshot, catalogs, matching[-1], place):
            return Permitted((), unread, catalogs)
        return Permitted(tuple(Chosen(one, one) for one in matching), NoMatchingBundle(), catalogs)
    if unread := _preferred_unread(snapshot, catalogs, matching[-1], {}):
        return Permitted((), unread, catalogs)
    catalogs_by_tier: defaultdict[tuple[bool, int], set[str]] = defaultdict(set)
    for one in matching:
        catalogs_by_tier[one.tier].add(one.catalog)
    usable = [
        one for one in matching if len(catalogs_by_tier[one.tier]) == 1 or one.catalog == snapshot.preferred_catalog
    ]
    if not usable or usable[-1].tier != matching[-1].tier:
        return Permitted((), AmbiguousCatalogs(tuple(sorted(catalogs_by_tier[matching[-1].tier]))), catalogs)
    return Permitted(tuple(Chosen(one, one) for one in usable), NoMatchingBundle(), catalogs)


def _preferred_unread(
    snapshot: PackageSnapshot, catalogs: Sequence[CatalogCandidates], best: Candidate, place: Mapping[str, int]
) -> ResolutionOutcome | None:
    """A catalog that had the package, whose content is lost, and that might offer something better than the best candidate.

    An installation that has begun is finished from its catalog. `place` decides between catalogs of the same priority.
    """
    if any(one.catalog == snapshot.preferred_catalog for catalog in catalogs for one in catalog.matching):
        return None
    for offer in (catalog.offer for catalog in catalogs):
        is_lost = offer.state is CatalogState.UNREACHABLE and snapshot.request.package in offer.package_names
        tier, least = (True, offer.priority), place.get(best.catalog, 0)
        if is_lost and (tier, place.get(offer.catalog, 0)) >= (best.tier, least):
            return PreferredCatalogUnread(offer.catalog, offer.message, offer.priority, best)
    return None


def _no_match(catalogs: Sequence[CatalogCandidates]) -> ResolutionOutcome:
    ruled_out = [each for one in catalogs for each in one.ruled_out]
    if ruled_out:
        best = max(ruled_out, key=lambda each: each.candidate.rank)
        return NotInstallable(best.candidate, best.reason)
    if excluded := {each.version for one in catalogs for each in one.excluded}:
        return NoVersionLeft(tuple(sorted(excluded)))
    too_large = next((one.offer for one in catalogs if one.offer.state is CatalogState.TOO_LARGE), None)
    return NoMatchingBundle() if too_large is None else TooLargeToResolve(too_large.catalog, too_large.message)


# --- an upgrade


def _permitted_upgrades(
    snapshot: PackageSnapshot,
    running: RunningBundle,
    catalogs: tuple[CatalogCandidates, ...],
    successor: SuccessorCatalog | None,
) -> Permitted:
    """The running bundle, if it matches and is offered, and the steps that the upgrade edges permit."""
    enforces_edges = snapshot.request.enforces_edges
    steps = [step for one in catalogs for step in _permitted_steps(running, one, enforces_edges=enforces_edges)]
    steps.sort(key=lambda step: (step.chosen.candidate.bundle.name == snapshot.installing_bundle, step.rank))
    choices = tuple(step.chosen for step in steps)
    return Permitted(choices, _no_upgrade(snapshot, running, catalogs), catalogs, successor)


def _no_upgrade(
    snapshot: PackageSnapshot, running: RunningBundle, catalogs: Sequence[CatalogCandidates]
) -> ResolutionOutcome:
    """Explain why there is no step. A bundle that is no longer offered stays if it satisfies the request."""
    if running.catalog and _satisfies_request(running, snapshot.request):
        return Kept(running, catalogs[0].offer.state)  # its own catalog is the only one
    matching = [(candidate, catalog) for catalog in catalogs for candidate in catalog.matching]
    if not matching:
        return _no_match(catalogs)
    wanted, catalog = max(matching, key=lambda pair: pair[0].rank)
    return _no_direct_upgrade(running, wanted, catalog)


@dataclass(frozen=True)
class _Step:
    """A step of an upgrade, or the running bundle itself. `remaining`: the steps from there to its target."""

    chosen: Chosen
    remaining: int

    @property
    def rank(self) -> tuple[Any, ...]:
        """The better step leads to a better target, then leaves fewer steps, then is the higher one."""
        candidate = self.chosen.candidate
        return self.chosen.target.rank, -self.remaining, candidate.version, candidate.rank


def _permitted_steps(running: RunningBundle, catalog: CatalogCandidates, *, enforces_edges: bool) -> list[_Step]:
    """The running bundle and the direct upgrades from it, each with its best target; all that match if no edge is required.

    Upgrades that lead to something better are preferred to the running bundle. To a higher version that is not better, because
    it is deprecated or in another channel than the default one, an upgrade is made only if another package requires it. While
    the requirements stay the same, no sequence of these steps returns to the same bundle: where the edges form a cycle through
    the running bundle, of the steps to something better only those of a shortest path to the best target are permitted.
    """
    if not enforces_edges:
        return [_Step(Chosen(one, one), 0) for one in catalog.matching]
    by_name = {one.bundle.name: one for one in catalog.matching}
    same = [_Step(Chosen(one, one), 0) for one in catalog.matching if is_same_bundle(one, running)]
    start = UpgradeStart(running.name, running.version)
    direct = frozenset[str]().union(*direct_upgrades(catalog.channels, start).values()) & by_name.keys()
    names = [one.bundle.name for one in sorted(catalog.matching, key=lambda one: one.rank, reverse=True)]
    others = [name for name in names if name != running.name]
    graph = UpgradeGraph(catalog.channels, _bundle_versions(catalog))
    targets = graph.targets(others)
    stays = {step.chosen.candidate.bundle.name for step in same}
    steps = [_Step(Chosen(by_name[name], by_name[targets[name].name]), targets[name].steps) for name in direct - stays]
    floor = max((step.rank for step in same), default=())
    lesser = [step for step in steps if step.rank <= floor and _is_newer(step, running)]
    steps = [step for step in steps if step.rank > floor]
    if steps:
        best = max((step.chosen.target.rank, -step.remaining) for step in steps)
        cyclic = graph.leading_to(running.name, others)
        steps = [
            step
            for step in steps
            if step.chosen.candidate.bundle.name not in cyclic or (step.chosen.target.rank, -step.remaining) == best
        ]
    return lesser + same + steps


def _is_newer(step: _Step, running: RunningBundle) -> bool:
    return running.version is not None and step.chosen.candidate.version > running.version


def _bundle_versions(catalog: CatalogCandidates) -> dict[str, Version | None]:
    """The versions of all bundles of the package, by name."""
    bundles = catalog.offer.package.bundles if catalog.offer.package else {}
    return {name: bundle.version for name, bundle in bundles.items()}


def _no_direct_upgrade(running: RunningBundle, wanted: Candidate, catalog: CatalogCandidates) -> NoDirectUpgrade:
    by_name = {one.bundle.name: one.version for one in catalog.candidates}
    start = UpgradeStart(running.name, running.version)
    graph = UpgradeGraph(catalog.channels, _bundle_versions(catalog))
    excluded = {one.bundle.name for one in catalog.excluded}
    path = graph.paths_from(start, by_name.keys() - excluded).path_to(wanted.bundle.name)
    if excluded and not path:  # the one through versions that are excluded, to name them
        path = graph.paths_from(start, by_name.keys()).path_to(wanted.bundle.name)
    direct = {channel: names & by_name.keys() for channel, names in direct_upgrades(catalog.channels, start).items()}
    possible = {channel: tuple(sorted({by_name[name] for name in names})) for channel, names in direct.items() if names}
    reachable = frozenset[str]().union(*direct.values())
    kept_out = {one.version for one in catalog.excluded if is_same_bundle(one, running) or one.bundle.name in reachable}
    return NoDirectUpgrade(wanted, tuple(by_name[name] for name in path), possible, tuple(sorted(kept_out)))
