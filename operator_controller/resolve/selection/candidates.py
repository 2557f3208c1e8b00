"""The bundles of a catalog that may be installed: those of the selected channels, and those of them that match the version range.
Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from olmkit.gocompat.versions import Version
from operator_controller.resolve.package.bundle_identity import is_same_image
from operator_controller.resolve.package.package_content import Bundle, Channel, PackageContent
from operator_controller.resolve.requirements.bundle_constraints import constraints_of
from operator_controller.resolve.requirements.constraints import KnownCluster, unmet_cluster_requirement
from operator_controller.resolve.snapshot.package_snapshot import CatalogOffer, PackageRequest, RunningBundle


@dataclass(frozen=True)
class Candidate:
    """A bundle that may be installed. `channel` is where it was found; `deprecation` is its message, empty if not deprecated."""

    bundle: Bundle
    version: Version
    catalog: str
    priority: int
    channel: str
    deprecation: str = ""
    is_preferred: bool = True
    """False for a possible dependency that is not in the default channel of its package."""

    @property
    def rank(self) -> tuple[bool, int, bool, Version, str, str]:
        """The better candidate has the greater rank. The names only make the order total."""
        return not self.deprecation, self.priority, self.is_preferred, self.version, self.bundle.name, self.catalog

    @property
    def tier(self) -> tuple[bool, int]:
        """The part of the rank that catalogs are compared by: versions of different catalogs are not."""
        return not self.deprecation, self.priority


class MissingPart(StrEnum):
    """The reason why a catalog has no candidates."""

    NONE = ""
    PACKAGE = "package"
    CHANNEL = "channel"
    DEFAULT_CHANNEL = "default"  # no channel was requested, and the package's default channel does not exist


@dataclass(frozen=True)
class RuledOut:
    """A bundle that matches the request and cannot be installed: the cluster lacks what it requires, or that is invalid."""

    candidate: Candidate
    reason: str
    """The end of a sentence about the bundle."""


@dataclass(frozen=True)
class CatalogCandidates:
    """One catalog's offer: its selected channels, the candidates in them, and those that match the requested versions."""

    offer: CatalogOffer
    missing: MissingPart
    channels: tuple[Channel, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    matching: tuple[Candidate, ...] = ()
    ruled_out: tuple[RuledOut, ...] = ()
    """They match too, and are not in `matching`."""


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
    ruled_out = [
        RuledOut(one, reason)
        for one in matching
        if not (running is not None and is_same_bundle(one, running))
        and (reason := installation_problem(one.bundle, cluster))
    ]
    if ruled_out:
        names = {each.candidate.bundle.name for each in ruled_out}
        matching = tuple(one for one in matching if one.bundle.name not in names)
    return CatalogCandidates(offer, missing, channels, candidates, matching, tuple(ruled_out))


def installation_problem(bundle: Bundle, cluster: KnownCluster) -> str:
    """Explain why the bundle cannot be installed, whatever else is installed; "" if it can."""
    return unmet_cluster_requirement(bundle, cluster) or constraints_of(bundle).problem


def _with_running_image(candidate: Candidate, running: RunningBundle | None) -> Candidate:
    """Takes over the running image reference if both are the same image: another registry is no reason for an upgrade."""
    if running is None or not is_same_image(candidate.bundle.image, running.image):
        return candidate
    return replace(candidate, bundle=candidate.bundle.with_image(running.image))


def selected_channels(package: PackageContent, request: PackageRequest) -> tuple[tuple[Channel, ...], MissingPart]:
    """The requested channel; every channel for versions without a channel and for a dependency; else the default or only one."""
    if request.channel:
        channel = package.channel(request.channel)
        return ((channel,), MissingPart.NONE) if channel else ((), MissingPart.CHANNEL)
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
