"""What is asked for, what catalogs offer and what runs make one decision: `resolve(snapshot) -> Decision`.

The seam between the Operator's reconciler and the way of solving: a Snapshot goes in, an outcome comes out together with what it
was made from, and explain.py words both. Candidates are the bundles of the package in the channels that count; the version rule
and the upgrade edges from what runs remove some; the best of the rest is not deprecated, of the highest catalog priority, version
and release. Pure: the same Snapshot gives the same Decision.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from olmkit.versions import Version
from operator_controller.resolve.package import Bundle, Channel, PackageContent
from operator_controller.resolve.upgrades import Graph, Place
from operator_controller.resolve.versions import MastermindsRange


@dataclass(frozen=True)
class Asked:
    """What the Operator's spec says. Empty text: not said."""

    package: str
    channel: str = ""
    versions: MastermindsRange | None = None


@dataclass(frozen=True)
class Running:
    """The bundle that is installed, as its own annotations say; what is not known is empty."""

    name: str
    image: str
    package: str = ""
    version: Version | None = None
    version_text: str = ""
    catalog: str = ""
    channel: str = ""


class Standing(StrEnum):
    """What can be had of a catalog."""

    SERVING = "serving"  # what it holds now
    AWAY = "away"  # it served and cannot be read now: its last content counts
    LOST = "lost"  # it served, cannot be read now, and what it held of this package is not known here
    PENDING = "pending"  # it has not served yet: it does not count


@dataclass(frozen=True)
class Offer:
    """One catalog. `package` is None when it does not have it or nothing is known; `message` says why it is not SERVING."""

    catalog: str
    priority: int = 0
    standing: Standing = Standing.SERVING
    package: PackageContent | None = None
    message: str = ""
    names: tuple[str, ...] = ()
    """All packages that the catalog's status names; for near misses."""


@dataclass(frozen=True)
class Snapshot:
    """Everything a decision is made from. Offers are sorted by catalog name."""

    asked: Asked
    offers: tuple[Offer, ...]
    running: Running | None = None
    under_way: str = ""
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


class Gap(StrEnum):
    """Why a catalog has no candidates."""

    NONE = ""
    NO_PACKAGE = "package"
    NO_CHANNEL = "channel"
    NO_DEFAULT = "default"  # no channel was asked for, and the package's default channel is none of its channels


@dataclass(frozen=True)
class Seen:
    """What one catalog's offer came to: the channels that count, its candidates there, and those the version rule left."""

    offer: Offer
    gap: Gap
    channels: tuple[Channel, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    matching: tuple[Candidate, ...] = ()


@dataclass(frozen=True)
class Chosen:
    """Install this one now. `target` is where the upgrade steps lead; the same one when it is reached at once."""

    candidate: Candidate
    target: Candidate


@dataclass(frozen=True)
class Kept:
    """What runs is what was asked for, and its catalog cannot say whether there is better: it stays."""

    running: Running


@dataclass(frozen=True)
class NotFound:
    """No catalog has what was asked for."""


@dataclass(frozen=True)
class Unreachable:
    """It exists, but no upgrade edge leads to it directly. `path`: steps that end with it, if any."""

    wanted: Candidate
    path: tuple[Version, ...]
    open: Mapping[str, tuple[Version, ...]]
    """What is in reach, ascending, by the channel whose entries lead there; channels that lead nowhere are left out."""


@dataclass(frozen=True)
class Dependent:
    """The best candidate needs something of others."""

    candidate: Candidate


@dataclass(frozen=True)
class Tied:
    """Catalogs of one priority offer it."""

    catalogs: tuple[str, ...]


@dataclass(frozen=True)
class HomeMissing:
    """What runs is not what was asked for, and the catalog it came from cannot say."""

    catalog: str
    message: str


Outcome = Chosen | Kept | NotFound | Unreachable | Dependent | Tied | HomeMissing


@dataclass(frozen=True)
class Decision:
    """An outcome and its trace."""

    outcome: Outcome
    snapshot: Snapshot
    seen: tuple[Seen, ...] = ()
    """The catalogs that counted."""

    @property
    def is_settled(self) -> bool:
        """Whether only a person, or new content, can change the outcome; otherwise a catalog is still to be heard."""
        match self.outcome:
            case NotFound():
                return bool(self.seen) and all(seen.offer.standing is Standing.SERVING for seen in self.seen)
            case HomeMissing():
                return False
        return True


def resolve(snapshot: Snapshot) -> Decision:
    """The answer for one Operator. Never raises."""
    offers, running = snapshot.offers, snapshot.running
    if running is not None and running.catalog:
        offers = tuple(offer for offer in offers if offer.catalog == running.catalog)
        if not offers or offers[0].standing in (Standing.LOST, Standing.PENDING):
            return Decision(_without_home(snapshot, running, offers), snapshot)
    seen = tuple(_look(offer, snapshot.asked) for offer in offers)
    pick = _first(snapshot, seen) if running is None else _next(snapshot, running, seen)
    return Decision(_refuse_dependent(pick, running), snapshot, seen)


def _without_home(snapshot: Snapshot, running: Running, offers: Sequence[Offer]) -> Outcome:
    asked = snapshot.asked
    fits = asked.versions is None or (running.version is not None and asked.versions.matches(running.version))
    if fits and asked.channel in ("", running.channel):
        return Kept(running)
    return HomeMissing(running.catalog, offers[0].message if offers else "")


def _look(offer: Offer, asked: Asked) -> Seen:
    if offer.package is None:
        return Seen(offer, Gap.NO_PACKAGE)
    channels, gap = channels_that_count(offer.package, asked)
    candidates = tuple(_candidates(offer, offer.package, channels))
    matching = tuple(one for one in candidates if asked.versions is None or asked.versions.matches(one.version))
    return Seen(offer, gap, channels, candidates, matching)


def channels_that_count(package: PackageContent, asked: Asked) -> tuple[tuple[Channel, ...], Gap]:
    """The channel asked for; with a version and no channel every channel; with neither the default one (an only one is that)."""
    if asked.channel:
        channel = package.channel(asked.channel)
        return ((channel,), Gap.NONE) if channel else ((), Gap.NO_CHANNEL)
    if asked.versions is not None:
        return package.channels, Gap.NONE
    channel = package.channel(package.default_channel)
    if channel is not None:
        return (channel,), Gap.NONE
    if len(package.channels) == 1:
        return package.channels, Gap.NONE
    return (), Gap.NO_DEFAULT


def _candidates(offer: Offer, package: PackageContent, channels: Sequence[Channel]) -> Iterable[Candidate]:
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


def _first(snapshot: Snapshot, seen: Sequence[Seen]) -> Outcome:
    """Nothing runs: the best of all catalogs, or a tie."""
    matching = [one for view in seen for one in view.matching]
    if not matching:
        return NotFound()
    top = max(one.rank[:2] for one in matching)
    best = [one for one in matching if one.rank[:2] == top]
    catalogs = sorted({one.catalog for one in best})
    if len(catalogs) > 1:
        best = [one for one in best if one.catalog == snapshot.preferred_catalog]
        if not best:
            return Tied(tuple(catalogs))
    choice = max(best, key=lambda one: one.rank)
    return Chosen(choice, choice)


def _next(snapshot: Snapshot, running: Running, seen: Sequence[Seen]) -> Outcome:
    """Something runs: the best that its upgrade edges lead to, one step at a time."""
    steps = [step for view in seen if (step := _step(snapshot, running, view)) is not None]
    if steps:
        return max(steps, key=lambda step: (step.target.rank, step.candidate.rank))
    matching = [(one, view) for view in seen for one in view.matching]
    if not matching:
        return NotFound()
    wanted, view = max(matching, key=lambda pair: pair[0].rank)
    return _unreachable(running, wanted, view)


def _step(snapshot: Snapshot, running: Running, view: Seen) -> Chosen | None:
    """The first step on the way to the best one in reach."""
    by_name = {one.bundle.name: one for one in view.matching}
    graph = _graph(view)
    place = Place(running.name, running.version)
    direct = graph.next_from(place) & by_name.keys()
    same = {one.bundle.name for one in view.matching if is_same(one, running)}
    if not direct | same:
        return None
    names = graph.reachable(place, by_name.keys()) | same
    target = max((by_name[name] for name in names), key=lambda one: one.rank)
    if snapshot.under_way in direct | same:
        return Chosen(by_name[snapshot.under_way], target)
    if target.bundle.name in direct | same:
        return Chosen(target, target)
    way = graph.path(place, target.bundle.name, by_name.keys())  # each step shortens it, so circles end
    return Chosen(by_name[way[0]], target)


def is_same(candidate: Candidate, running: Running) -> bool:
    """By name, or by exactly the version and release that run (a bundle that was renamed)."""
    return candidate.bundle.name == running.name or candidate.version == running.version


def _graph(view: Seen, channels: Sequence[Channel] | None = None) -> Graph:
    """The upgrade edges of some channels, by default of those that count."""
    bundles = view.offer.package.bundles if view.offer.package else {}
    known = {name: bundle.version for name, bundle in bundles.items()}
    return Graph(view.channels if channels is None else channels, known)


def _unreachable(running: Running, wanted: Candidate, view: Seen) -> Unreachable:
    by_name = {one.bundle.name: one.version for one in view.candidates}
    place = Place(running.name, running.version)
    path = _graph(view).path(place, wanted.bundle.name, by_name.keys())
    in_reach = {
        channel.name: tuple(
            sorted({by_name[name] for name in _graph(view, [channel]).next_from(place) & by_name.keys()})
        )
        for channel in view.channels
    }
    return Unreachable(
        wanted, tuple(by_name[name] for name in path), {name: found for name, found in in_reach.items() if found}
    )


def _refuse_dependent(outcome: Outcome, running: Running | None) -> Outcome:
    """A choice with dependencies is refused, never passed over for an older one; what runs already is not refused anew."""
    if not isinstance(outcome, Chosen) or not outcome.candidate.bundle.dependencies:
        return outcome
    if running is not None and outcome.candidate.bundle.name == running.name:
        return outcome
    return Dependent(outcome.candidate)
