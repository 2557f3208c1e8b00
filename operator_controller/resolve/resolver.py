"""Selects the bundle to install: `resolve(snapshot) -> Resolution`.

Called through explained_resolution.py. The interface between the Operator's reconciler and the algorithm: a Snapshot in, an
outcome with its trace out, from which explain.py makes the messages. Candidates are the bundles of the package in the selected
channels; the version range and the upgrade edges from the running bundle exclude some of them; the best of the rest is not
deprecated and has the highest catalog priority, version and release. Pure: the same Snapshot gives the same Resolution.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from olmkit.gocompat.versions import Version
from operator_controller.resolve.bundle_identity import BundleIdentity, channels_with, identity_in
from operator_controller.resolve.candidates import Candidate, CatalogCandidates, candidates_of, is_same_bundle
from operator_controller.resolve.resolution import (
    AmbiguousCatalogs,
    Chosen,
    HasDependencies,
    Kept,
    NoDirectUpgrade,
    NoMatchingBundle,
    Resolution,
    ResolutionOutcome,
    SourceCatalogMissing,
    SuccessorCatalog,
    TooLargeToResolve,
)
from operator_controller.resolve.snapshot import (
    STATES_WITH_CONTENT,
    CatalogOffer,
    CatalogState,
    PackageRequest,
    RunningBundle,
    Snapshot,
)
from operator_controller.resolve.upgrade_graph import UpgradeGraph, UpgradeStart, direct_upgrades


def resolve(snapshot: Snapshot) -> Resolution:
    """The result for one Operator. Never raises."""
    running, successor = snapshot.running, None
    offers = tuple(offer for offer in snapshot.offers if offer.state is not CatalogState.UNAVAILABLE)
    if running is not None and running.catalog:  # an installed package stays with the catalog it came from
        source = next((offer for offer in snapshot.offers if offer.catalog == running.catalog), None)
        if source is None:
            source = _successor_offer(running, offers)
            successor = _successor_catalog(running, source)
        if source is None or source.state not in STATES_WITH_CONTENT:
            return Resolution(_resolve_without_catalog(snapshot, running, source), snapshot)
        offers = (source,)
    catalogs = tuple(candidates_of(offer, snapshot.request, running) for offer in offers)
    if running is None:
        return Resolution(
            _refuse_dependencies(_resolve_installation(snapshot, catalogs), None, catalogs), snapshot, catalogs
        )
    outcome = _resolve_upgrade(snapshot, running, catalogs)
    return Resolution(_refuse_dependencies(outcome, running, catalogs), snapshot, catalogs, successor)


# --- the catalog of an installed package


def _successor_offer(running: RunningBundle, offers: Sequence[CatalogOffer]) -> CatalogOffer | None:
    """The catalog that takes the place of a deleted one, because it offers the same bundle.

    The same image digest is preferred to the same reference, then the higher priority, then the name decides.
    """
    found = [
        (identity_in(offer.package, running.name, running.version, running.image), offer.priority, offer)
        for offer in offers
        if offer.package is not None
    ]
    matching = [one for one in found if one[0] is not BundleIdentity.NONE]
    return min(matching, key=lambda one: (-one[0], -one[1], one[2].catalog))[2] if matching else None


def _successor_catalog(running: RunningBundle, source: CatalogOffer | None) -> SuccessorCatalog | None:
    """The recorded channel is kept if the successor has the bundle in it."""
    if source is None or source.package is None:
        return None
    channels = channels_with(source.package, running.name, running.version, running.image)
    channel = running.channel if running.channel in channels else channels[0]
    return SuccessorCatalog(running.catalog, source.catalog, channel)


def _resolve_without_catalog(
    snapshot: Snapshot, running: RunningBundle, source: CatalogOffer | None
) -> ResolutionOutcome:
    if _satisfies_request(running, snapshot.request):
        return Kept(running, source.state if source is not None else None)
    if source is not None and source.state is CatalogState.TOO_LARGE:
        return TooLargeToResolve(running.catalog, source.message)
    return SourceCatalogMissing(running.catalog, source.message if source is not None else "")


def _satisfies_request(running: RunningBundle, request: PackageRequest) -> bool:
    """Whether the spec requests no other version and channel than those that run."""
    matches = request.versions is None or (running.version is not None and request.versions.matches(running.version))
    return matches and request.channel in ("", running.channel)


# --- a first installation


def _resolve_installation(snapshot: Snapshot, catalogs: Sequence[CatalogCandidates]) -> ResolutionOutcome:
    """The best candidate of all catalogs, or an ambiguity."""
    matching = [candidate for catalog in catalogs for candidate in catalog.matching]
    if not matching:
        return _no_match(catalogs)
    top = max(one.rank[:2] for one in matching)
    best = [one for one in matching if one.rank[:2] == top]
    names = sorted({one.catalog for one in best})
    if len(names) > 1:
        best = [one for one in best if one.catalog == snapshot.preferred_catalog]
        if not best:
            return AmbiguousCatalogs(tuple(names))
    choice = max(best, key=lambda one: one.rank)
    return Chosen(choice, choice)


def _no_match(catalogs: Sequence[CatalogCandidates]) -> ResolutionOutcome:
    too_large = next((one.offer for one in catalogs if one.offer.state is CatalogState.TOO_LARGE), None)
    return NoMatchingBundle() if too_large is None else TooLargeToResolve(too_large.catalog, too_large.message)


# --- an upgrade


def _resolve_upgrade(
    snapshot: Snapshot, running: RunningBundle, catalogs: Sequence[CatalogCandidates]
) -> ResolutionOutcome:
    """The best candidate that the upgrade edges lead to, one step at a time. A bundle that is no longer offered stays if it
    satisfies the request."""
    steps = [step for catalog in catalogs if (step := _next_step(snapshot, running, catalog)) is not None]
    if steps:
        return max(steps, key=lambda step: (step.target.rank, step.candidate.rank))
    if running.catalog and _satisfies_request(running, snapshot.request):
        return Kept(running, catalogs[0].offer.state)  # its own catalog is the only one
    matching = [(candidate, catalog) for catalog in catalogs for candidate in catalog.matching]
    if not matching:
        return _no_match(catalogs)
    wanted, catalog = max(matching, key=lambda pair: pair[0].rank)
    return _no_direct_upgrade(running, wanted, catalog)


def _next_step(snapshot: Snapshot, running: RunningBundle, catalog: CatalogCandidates) -> Chosen | None:
    """The first step on the path to the best reachable candidate."""
    by_name = {one.bundle.name: one for one in catalog.matching}
    graph = UpgradeGraph(catalog.channels, _bundle_versions(catalog))
    paths = graph.paths_from(UpgradeStart(running.name, running.version), by_name.keys())
    same = {one.bundle.name for one in catalog.matching if is_same_bundle(one, running)}
    permitted = paths.direct | same
    if not permitted:
        return None
    target = max((by_name[name] for name in paths.previous.keys() | same), key=lambda one: one.rank)
    if snapshot.installing_bundle in permitted:
        return Chosen(by_name[snapshot.installing_bundle], target)
    if target.bundle.name in permitted:
        return Chosen(target, target)
    return Chosen(by_name[paths.path_to(target.bundle.name)[0]], target)  # each step shortens the path, so cycles end


def _bundle_versions(catalog: CatalogCandidates) -> dict[str, Version | None]:
    """The versions of all bundles of the package, by name."""
    bundles = catalog.offer.package.bundles if catalog.offer.package else {}
    return {name: bundle.version for name, bundle in bundles.items()}


def _no_direct_upgrade(running: RunningBundle, wanted: Candidate, catalog: CatalogCandidates) -> NoDirectUpgrade:
    by_name = {one.bundle.name: one.version for one in catalog.candidates}
    start = UpgradeStart(running.name, running.version)
    graph = UpgradeGraph(catalog.channels, _bundle_versions(catalog))
    path = graph.paths_from(start, by_name.keys()).path_to(wanted.bundle.name)
    direct = {channel: names & by_name.keys() for channel, names in direct_upgrades(catalog.channels, start).items()}
    possible = {channel: tuple(sorted({by_name[name] for name in names})) for channel, names in direct.items() if names}
    return NoDirectUpgrade(wanted, tuple(by_name[name] for name in path), possible)


# --- what cannot be installed


def _refuse_dependencies(
    outcome: ResolutionOutcome, running: RunningBundle | None, catalogs: Sequence[CatalogCandidates]
) -> ResolutionOutcome:
    """A choice with dependencies is refused, never replaced by an older one; the running bundle is not refused again.

    A bundle that needs certificates is refused by operator/evaluate.py, which reads here which versions need none.
    """
    if not isinstance(outcome, Chosen):
        return outcome
    candidate = outcome.candidate
    if running is not None and candidate.bundle.name == running.name:
        return outcome
    if not candidate.bundle.dependencies and not candidate.bundle.needs_certificates:
        return outcome
    own = [catalog for catalog in catalogs if catalog.offer.catalog == candidate.catalog]
    others = [one for catalog in own for one in _without_dependencies(catalog, running)]
    if candidate.bundle.dependencies:
        return HasDependencies(candidate, _ascending(others))
    return replace(outcome, without_certificates=_ascending(one for one in others if not one.bundle.needs_certificates))


def _ascending(candidates: Iterable[Candidate]) -> tuple[Version, ...]:
    return tuple(sorted({one.version for one in candidates}))


def _without_dependencies(catalog: CatalogCandidates, running: RunningBundle | None) -> Iterable[Candidate]:
    """The candidates that can be installed now and have no dependencies, whatever version is requested."""
    independent = [one for one in catalog.candidates if not one.bundle.dependencies]
    if running is None:
        return independent
    steps = direct_upgrades(catalog.channels, UpgradeStart(running.name, running.version)).values()
    names = frozenset[str]().union(*steps)
    return [one for one in independent if one.bundle.name in names or is_same_bundle(one, running)]
