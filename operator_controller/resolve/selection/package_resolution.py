"""The result of resolution: an outcome, the candidates and versions of a package, and the trace that explains it.

Values alone. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from olmkit.gocompat.versions import Version
from operator_controller.resolve.package.package_content import Bundle, Channel, GroupKind, GroupVersionKind
from operator_controller.resolve.snapshot.package_snapshot import (
    STATES_WITH_CONTENT,
    CatalogOffer,
    CatalogState,
    PackageSnapshot,
    RunningBundle,
)
from operator_controller.resolve.snapshot.spec_terms import SpecTerms


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
    excluded: tuple[Candidate, ...] = ()
    """They match too, but spec.excludedVersions has their version."""


@dataclass(frozen=True)
class Chosen:
    """Install `candidate`. `target` is where the upgrade steps lead; it is the candidate itself if one step is enough.

    `is_best`: no permitted candidate is better; else the requirements of bundles keep out what is.
    """

    candidate: Candidate
    target: Candidate
    is_best: bool = True


@dataclass(frozen=True)
class PackageVersion:
    """One version of a domain. While an upgrade is in progress, what runs is two bundles.

    A kind counts as provided if all of `bundles` provide it, a requirement as required if one of them has it.
    """

    bundles: tuple[Bundle, ...]
    choice: Chosen | None = None
    """None: what runs stays as it is."""
    is_running: bool = False

    @property
    def version(self) -> Version | None:
        """The version of the bundle; while an upgrade is in progress, that of the old one."""
        return self.bundles[0].version

    @cached_property
    def owned_kinds(self) -> frozenset[GroupKind]:
        """The kinds that it owns, in whatever version."""
        return frozenset(kind.group_kind for bundle in self.bundles for kind in bundle.provided_kinds)

    @cached_property
    def provided_kinds(self) -> frozenset[GroupVersionKind]:
        """The kinds that all its bundles provide."""
        return frozenset.intersection(*(bundle.provided_kinds for bundle in self.bundles))


@dataclass(frozen=True)
class Kept:
    """The running bundle satisfies the request, and its catalog leads to nothing better: nothing changes."""

    running: RunningBundle
    catalog_state: CatalogState | None = None
    """State of its catalog; None if that was deleted. If the catalog's content is known, it does not contain the bundle."""

    @property
    def is_not_offered(self) -> bool:
        """The catalog's content is known, and it neither contains the running bundle nor an upgrade from it."""
        return self.catalog_state in STATES_WITH_CONTENT


@dataclass(frozen=True)
class NoMatchingBundle:
    """No catalog offers what was requested."""


@dataclass(frozen=True)
class NoVersionLeft:
    """Bundles match the request, and spec.excludedVersions has all their versions, which are ascending."""

    versions: tuple[Version, ...]


@dataclass(frozen=True)
class TooLargeToResolve:
    """The result if nothing was found, and the package in `catalog` exceeds the limits of resolution."""

    catalog: str
    message: str


@dataclass(frozen=True)
class NoDirectUpgrade:
    """The wanted bundle exists, but no upgrade edge leads to it directly. `path`: the steps that end with it, if any."""

    wanted: Candidate
    path: tuple[Version, ...]
    possible: Mapping[str, tuple[Version, ...]]
    """Direct upgrades, ascending, by the channel whose entries allow them. Channels without any are left out."""
    excluded: tuple[Version, ...] = ()
    """The versions, ascending, that would be installed or stay if spec.excludedVersions did not have them."""


@dataclass(frozen=True)
class NotInstallable:
    """Bundles match the request, and none of them can be installed on this cluster. `reason` is that of the best one."""

    candidate: Candidate
    reason: str


@dataclass(frozen=True)
class AmbiguousCatalogs:
    """Several catalogs of the same priority offer it."""

    catalogs: tuple[str, ...]


@dataclass(frozen=True)
class SourceCatalogMissing:
    """The running bundle does not satisfy the request, and the content of the catalog it came from is not known."""

    catalog: str
    message: str


@dataclass(frozen=True)
class PreferredCatalogUnread:
    """A catalog that had the package is away and its content is lost; what `best` is, the best of the others, depends on it."""

    catalog: str
    message: str
    priority: int
    best: Candidate


@dataclass(frozen=True)
class SourceCatalogNotSelected:
    """The request does not select the catalog that the running bundle came from, and no selected one offers that bundle."""

    catalog: str


ResolutionOutcome = (
    Chosen
    | Kept
    | NoMatchingBundle
    | NoVersionLeft
    | TooLargeToResolve
    | NoDirectUpgrade
    | NotInstallable
    | AmbiguousCatalogs
    | SourceCatalogMissing
    | PreferredCatalogUnread
    | SourceCatalogNotSelected
)


@dataclass(frozen=True)
class SuccessorCatalog:
    """The catalog that takes the place of another one, because it offers the same bundle; `channel` contains the bundle."""

    previous: str
    catalog: str
    channel: str
    is_deleted: bool = True
    """True if the previous catalog was deleted; else the request does not select it."""


@dataclass(frozen=True)
class PackageResolution:
    """An outcome and its trace."""

    outcome: ResolutionOutcome
    snapshot: PackageSnapshot
    catalogs: tuple[CatalogCandidates, ...] = ()
    """The catalogs that were considered."""
    successor: SuccessorCatalog | None = None
    """None: the running bundle stays with the catalog it came from."""

    @property
    def terms(self) -> SpecTerms:
        """The terms of messages about the request."""
        return self.snapshot.request.terms

    @property
    def is_final(self) -> bool:
        """True if only a change of a spec or of a catalog's content can change the outcome. If not, a catalog is still unread."""
        match self.outcome:
            case NoMatchingBundle() | NoVersionLeft() | NotInstallable() | SourceCatalogNotSelected():
                states = {one.offer.state for one in self.catalogs}
                return states == {CatalogState.SERVING}
            case TooLargeToResolve():
                return all(one.offer.state in (CatalogState.SERVING, CatalogState.TOO_LARGE) for one in self.catalogs)
            case SourceCatalogMissing() | PreferredCatalogUnread():
                return False
            case AmbiguousCatalogs(catalogs=tied):
                priority = max(one.offer.priority for one in self.catalogs if one.offer.catalog in tied)
                return all(
                    one.offer.state is CatalogState.SERVING for one in self.catalogs if one.offer.priority > priority
                )
        return True
