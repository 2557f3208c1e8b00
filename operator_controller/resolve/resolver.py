"""What is asked for, what catalogs offer and what runs make one decision: `resolve(snapshot) -> Decision`.

The seam between the Operator's reconciler and the way of solving: a Snapshot goes in, an outcome comes out together with what it
was made from, and explain.py words both. Candidates are the bundles of the package in the channels that count; the version rule
and the upgrade edges from what runs remove some; the best of the rest is not deprecated, of the highest catalog priority, version
and release. Pure: the same Snapshot gives the same Decision.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from olmkit.gocompat.versions import Version
from operator_controller.resolve.bundle_identity import BundleIdentity, channels_with, identity_in, is_same_image
from operator_controller.resolve.package import Bundle, Channel, PackageContent
from operator_controller.resolve.upgrade_graph import UpgradeGraph, UpgradeStart, direct_upgrades
from operator_controller.resolve.version_range import MastermindsRange


@dataclass(frozen=True)
class PackageRequest:
    """What the Operator's spec says. Empty text: not said."""

    package: str
    channel: str = ""
    versions: MastermindsRange | None = None


@dataclass(frozen=True)
class RunningBundle:
    """The bundle that is installed, as its own annotations say; what is not known is empty."""

    name: str
    image: str
    package: str = ""
    version: Version | None = None
    version_text: str = ""
    catalog: str = ""
    channel: str = ""


class CatalogState(StrEnum):
    """What can be had of a catalog."""

    SERVING = "serving"  # what it holds now
    CACHED = "cached"  # it served and cannot be read now: its last content counts
    UNREACHABLE = "unreachable"  # it served, cannot be read now, and what it held of this package is not known here
    PENDING = "pending"  # it has not served yet: it does not count
    TOO_LARGE = "tooLarge"  # it serves more of this package than is resolved
    UNAVAILABLE = "unavailable"  # its spec.availability says that nothing is installed from it: it does not count


STATES_WITH_CONTENT = (CatalogState.SERVING, CatalogState.CACHED)
"""What these hold of the package is known."""


@dataclass(frozen=True)
class CatalogOffer:
    """One catalog. `package` is None when it does not have it or nothing is known; `message` says why it is not SERVING."""

    catalog: str
    priority: int = 0
    state: CatalogState = CatalogState.SERVING
    package: PackageContent | None = None
    message: str = ""
    package_names: tuple[str, ...] = ()
    """All packages that the catalog's status names; for near misses."""


@dataclass(frozen=True)
class Snapshot:
    """Everything a decision is made from. Offers are sorted by catalog name."""

    request: PackageRequest
    offers: tuple[CatalogOffer, ...]
    running: RunningBundle | None = None
    installing_bundle: str = ""
    """Name of the bundle between whose first and last object the cluster is now: kept to as long as it is a legal answer."""
    preferred_catalog: str = ""
    """Where an installation that has begun comes from; decides a tie."""


@dataclass(frozen=True)
class Candidate:
    """A bundle that could be installed. `channel` is where it was found; `deprecation` is empty or says why it should not be."""

    bundle: Bundle
    version: Version
    catalog: str
    priority: int
    channel: str
    deprecation: str = ""

    @property
    def rank(self) -> tuple[bool, int, Version, str, str]:
        """The better candidate is the greater one. The names only make the order total."""
        return not self.deprecation, self.priority, self.version, self.bundle.name, self.catalog


class MissingPart(StrEnum):
    """Why a catalog has no candidates."""

    NONE = ""
    PACKAGE = "package"
    CHANNEL = "channel"
    DEFAULT_CHANNEL = "default"  # no channel was asked for, and the package's default channel is none of its channels


@dataclass(frozen=True)
class CatalogCandidates:
    """What one catalog's offer came to: the channels that count, its candidates there, and those the version rule left."""

    offer: CatalogOffer
    missing: MissingPart
    channels: tuple[Channel, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    matching: tuple[Candidate, ...] = ()


@dataclass(frozen=True)
class Chosen:
    """Install this one now. `target` is where the upgrade steps lead; the same one when it is reached at once.

    `without_certificates`: of a candidate that needs them, the versions that do not and can be installed now, ascending.
    """

    candidate: Candidate
    target: Candidate
    without_certificates: tuple[Version, ...] = ()


@dataclass(frozen=True)
class Kept:
    """What runs is what was asked for, and its catalog leads to nothing better: it stays."""

    running: RunningBundle
    catalog_state: CatalogState | None = None
    """What can be had of its catalog; None when that was deleted. When its content is known, what runs is not in it."""

    @property
    def is_not_offered(self) -> bool:
        """The catalog's content is known, and neither has what runs nor leads on from it."""
        return self.catalog_state in STATES_WITH_CONTENT


@dataclass(frozen=True)
class NoMatchingBundle:
    """No catalog has what was asked for."""


@dataclass(frozen=True)
class TooLargeToResolve:
    """Nothing was found, and a catalog has more of the package than is resolved."""

    catalog: str
    message: str


@dataclass(frozen=True)
class NoDirectUpgrade:
    """It exists, but no upgrade edge leads to it directly. `path`: steps that end with it, if any."""

    wanted: Candidate
    path: tuple[Version, ...]
    possible: Mapping[str, tuple[Version, ...]]
    """What is in reach, ascending, by the channel whose entries lead there; channels that lead nowhere are left out."""


@dataclass(frozen=True)
class HasDependencies:
    """The best candidate needs something of others. `free`: the versions that do not and can be installed now, ascending."""

    candidate: Candidate
    alternatives: tuple[Version, ...] = ()


@dataclass(frozen=True)
class AmbiguousCatalogs:
    """Catalogs of one priority offer it."""

    catalogs: tuple[str, ...]


@dataclass(frozen=True)
class SourceCatalogMissing:
    """What runs is not what was asked for, and the catalog it came from cannot say."""

    catalog: str
    message: str


Outcome = (
    Chosen
    | Kept
    | NoMatchingBundle
    | TooLargeToResolve
    | NoDirectUpgrade
    | HasDependencies
    | AmbiguousCatalogs
    | SourceCatalogMissing
)


@dataclass(frozen=True)
class SuccessorCatalog:
    """A deleted catalog, the one that counts in its place since it offers the same bundle, and a channel there that has it."""

    deleted: str
    catalog: str
    channel: str


@dataclass(frozen=True)
class Resolution:
    """An outcome and its trace."""

    outcome: Outcome
    snapshot: Snapshot
    catalogs: tuple[CatalogCandidates, ...] = ()
    """The catalogs that counted."""
    successor: SuccessorCatalog | None = None
    """None: what runs stays with the catalog that it came from."""

    @property
    def is_final(self) -> bool:
        """Whether only a person, or new content, can change the outcome; otherwise a catalog is still to be heard."""
        match self.outcome:
            case NoMatchingBundle():
                return bool(self.catalogs) and all(seen.offer.state is CatalogState.SERVING for seen in self.catalogs)
            case TooLargeToResolve():
                return all(seen.offer.state in (CatalogState.SERVING, CatalogState.TOO_LARGE) for seen in self.catalogs)
            case SourceCatalogMissing():
                return False
        return True


def resolve(snapshot: Snapshot) -> Resolution:
    """The answer for one Operator. Never raises."""
    running, follow = snapshot.running, None
    offers = tuple(offer for offer in snapshot.offers if offer.state is not CatalogState.UNAVAILABLE)
    if running is not None and running.catalog:
        home = next((offer for offer in snapshot.offers if offer.catalog == running.catalog), None)
        if home is None:
            home = _successor_offer(running, offers)
            follow = _successor_catalog(running, home)
        if home is None or home.state not in STATES_WITH_CONTENT:
            return Resolution(_resolve_without_catalog(snapshot, running, home), snapshot)
        offers = (home,)
    seen = tuple(_candidates_of(offer, snapshot.request, running) for offer in offers)
    pick = _resolve_installation(snapshot, seen) if running is None else _resolve_upgrade(snapshot, running, seen)
    return Resolution(_refuse_dependencies(pick, running, seen), snapshot, seen, follow)


def _successor_offer(running: RunningBundle, offers: Sequence[CatalogOffer]) -> CatalogOffer | None:
    """The catalog that counts in place of a deleted one, for it offers the very bundle that runs.

    The same image digest is better than the same reference, then the higher priority counts, then the name.
    """
    found = [
        (identity_in(offer.package, running.name, running.version, running.image), offer.priority, offer)
        for offer in offers
        if offer.package is not None
    ]
    able = [one for one in found if one[0] is not BundleIdentity.NONE]
    return min(able, key=lambda one: (-one[0], -one[1], one[2].catalog))[2] if able else None


def _successor_catalog(running: RunningBundle, home: CatalogOffer | None) -> SuccessorCatalog | None:
    """The recorded channel is kept where the new home has the bundle in it."""
    if home is None or home.package is None:
        return None
    channels = channels_with(home.package, running.name, running.version, running.image)
    channel = running.channel if running.channel in channels else channels[0]
    return SuccessorCatalog(running.catalog, home.catalog, channel)


def _resolve_without_catalog(snapshot: Snapshot, running: RunningBundle, home: CatalogOffer | None) -> Outcome:
    if _satisfies_request(running, snapshot.request):
        return Kept(running, home.state if home is not None else None)
    if home is not None and home.state is CatalogState.TOO_LARGE:
        return TooLargeToResolve(running.catalog, home.message)
    return SourceCatalogMissing(running.catalog, home.message if home is not None else "")


def _satisfies_request(running: RunningBundle, asked: PackageRequest) -> bool:
    """Whether the spec asks for no other version and channel than what runs."""
    fits = asked.versions is None or (running.version is not None and asked.versions.matches(running.version))
    return fits and asked.channel in ("", running.channel)


def _candidates_of(offer: CatalogOffer, asked: PackageRequest, running: RunningBundle | None) -> CatalogCandidates:
    if offer.package is None:
        return CatalogCandidates(offer, MissingPart.PACKAGE)
    channels, gap = selected_channels(offer.package, asked)
    candidates = tuple(_with_running_image(one, running) for one in _channel_candidates(offer, offer.package, channels))
    matching = tuple(one for one in candidates if asked.versions is None or asked.versions.matches(one.version))
    return CatalogCandidates(offer, gap, channels, candidates, matching)


def _with_running_image(candidate: Candidate, running: RunningBundle | None) -> Candidate:
    """With the reference that runs where the image is the same: it is no upgrade to have it from another registry."""
    if running is None or not is_same_image(candidate.bundle.image, running.image):
        return candidate
    return replace(candidate, bundle=replace(candidate.bundle, image=running.image))


def selected_channels(package: PackageContent, asked: PackageRequest) -> tuple[tuple[Channel, ...], MissingPart]:
    """The channel asked for; with a version and no channel every channel; with neither the default one (an only one is that)."""
    if asked.channel:
        channel = package.channel(asked.channel)
        return ((channel,), MissingPart.NONE) if channel else ((), MissingPart.CHANNEL)
    if asked.versions is not None:
        return package.channels, MissingPart.NONE
    channel = package.channel(package.default_channel)
    if channel is not None:
        return (channel,), MissingPart.NONE
    if len(package.channels) == 1:
        return package.channels, MissingPart.NONE
    return (), MissingPart.DEFAULT_CHANNEL


def _channel_candidates(
    offer: CatalogOffer, package: PackageContent, channels: Sequence[Channel]
) -> Iterable[Candidate]:
    """Each readable bundle once, with the default channel if it is there, else the first that has it."""
    default_first = sorted(channels, key=lambda channel: (channel.name != package.default_channel, channel.name))
    known: set[str] = set()
    for channel in default_first:
        for entry in channel.entries:
            bundle = package.bundles.get(entry.name)
            if bundle is None or bundle.version is None or bundle.name in known:
                continue
            known.add(bundle.name)
            deprecation = package.deprecated_bundles.get(bundle.name, "")
            if bundle.name in package.deprecated_bundles:
                deprecation = deprecation or "no reason is given"
            yield Candidate(bundle, bundle.version, offer.catalog, offer.priority, channel.name, deprecation)


def _resolve_installation(snapshot: Snapshot, seen: Sequence[CatalogCandidates]) -> Outcome:
    """Nothing runs: the best of all catalogs, or a tie."""
    matching = [one for view in seen for one in view.matching]
    if not matching:
        return _no_match(seen)
    top = max(one.rank[:2] for one in matching)
    best = [one for one in matching if one.rank[:2] == top]
    catalogs = sorted({one.catalog for one in best})
    if len(catalogs) > 1:
        best = [one for one in best if one.catalog == snapshot.preferred_catalog]
        if not best:
            return AmbiguousCatalogs(tuple(catalogs))
    choice = max(best, key=lambda one: one.rank)
    return Chosen(choice, choice)


def _no_match(seen: Sequence[CatalogCandidates]) -> Outcome:
    refused = next((view.offer for view in seen if view.offer.state is CatalogState.TOO_LARGE), None)
    return NoMatchingBundle() if refused is None else TooLargeToResolve(refused.catalog, refused.message)


def _resolve_upgrade(snapshot: Snapshot, running: RunningBundle, seen: Sequence[CatalogCandidates]) -> Outcome:
    """Something runs: the best that its upgrade edges lead to, one step at a time. What was withdrawn stays where asked for."""
    steps = [step for view in seen if (step := _next_step(snapshot, running, view)) is not None]
    if steps:
        return max(steps, key=lambda step: (step.target.rank, step.candidate.rank))
    if running.catalog and _satisfies_request(running, snapshot.request):
        return Kept(running, seen[0].offer.state)  # the home alone counts
    matching = [(one, view) for view in seen for one in view.matching]
    if not matching:
        return _no_match(seen)
    wanted, view = max(matching, key=lambda pair: pair[0].rank)
    return _no_direct_upgrade(running, wanted, view)


def _next_step(snapshot: Snapshot, running: RunningBundle, view: CatalogCandidates) -> Chosen | None:
    """The first step on the way to the best one in reach."""
    by_name = {one.bundle.name: one for one in view.matching}
    ways = UpgradeGraph(view.channels, _versions(view)).paths_from(
        UpgradeStart(running.name, running.version), by_name.keys()
    )
    direct = ways.direct
    same = {one.bundle.name for one in view.matching if is_same_bundle(one, running)}
    if not direct | same:
        return None
    names = ways.previous.keys() | same
    target = max((by_name[name] for name in names), key=lambda one: one.rank)
    if snapshot.installing_bundle in direct | same:
        return Chosen(by_name[snapshot.installing_bundle], target)
    if target.bundle.name in direct | same:
        return Chosen(target, target)
    return Chosen(by_name[ways.path_to(target.bundle.name)[0]], target)  # each step shortens the way, so circles end


def is_same_bundle(candidate: Candidate, running: RunningBundle) -> bool:
    """By name, by exactly the version and release that run (a bundle that was renamed), or by its image."""
    is_named = candidate.bundle.name == running.name or candidate.version == running.version
    return is_named or is_same_image(candidate.bundle.image, running.image)


def _versions(view: CatalogCandidates) -> dict[str, Version | None]:
    """The versions of all bundles of the package, by name."""
    bundles = view.offer.package.bundles if view.offer.package else {}
    return {name: bundle.version for name, bundle in bundles.items()}


def _no_direct_upgrade(running: RunningBundle, wanted: Candidate, view: CatalogCandidates) -> NoDirectUpgrade:
    by_name = {one.bundle.name: one.version for one in view.candidates}
    place = UpgradeStart(running.name, running.version)
    path = UpgradeGraph(view.channels, _versions(view)).paths_from(place, by_name.keys()).path_to(wanted.bundle.name)
    direct = {channel: names & by_name.keys() for channel, names in direct_upgrades(view.channels, place).items()}
    in_reach = {channel: tuple(sorted({by_name[name] for name in names})) for channel, names in direct.items() if names}
    return NoDirectUpgrade(wanted, tuple(by_name[name] for name in path), in_reach)


def _refuse_dependencies(outcome: Outcome, running: RunningBundle | None, seen: Sequence[CatalogCandidates]) -> Outcome:
    """A choice with dependencies is refused, never passed over for an older one; what runs already is not refused anew.

    One that needs certificates is refused by judge.py, and is given the versions that do not.
    """
    if not isinstance(outcome, Chosen):
        return outcome
    candidate = outcome.candidate
    if running is not None and candidate.bundle.name == running.name:
        return outcome
    if not candidate.bundle.dependencies and not candidate.bundle.needs_certificates:
        return outcome
    own = [view for view in seen if view.offer.catalog == candidate.catalog]
    free = [one for view in own for one in _without_dependencies(view, running)]
    if candidate.bundle.dependencies:
        return HasDependencies(candidate, _ascending(free))
    return replace(outcome, without_certificates=_ascending(one for one in free if not one.bundle.needs_certificates))


def _ascending(candidates: Iterable[Candidate]) -> tuple[Version, ...]:
    return tuple(sorted({one.version for one in candidates}))


def _without_dependencies(view: CatalogCandidates, running: RunningBundle | None) -> Iterable[Candidate]:
    """What could be installed now and needs nothing of others, whatever version is asked for."""
    free = [one for one in view.candidates if not one.bundle.dependencies]
    if running is None:
        return free
    steps = direct_upgrades(view.channels, UpgradeStart(running.name, running.version)).values()
    names = frozenset[str]().union(*steps)
    return [one for one in free if one.bundle.name in names or is_same_bundle(one, running)]
