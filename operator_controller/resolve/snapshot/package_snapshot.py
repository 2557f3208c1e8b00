"""The input of resolution: what the Operator requests, what catalogs offer, and which bundle runs.

Values alone, frozen: an answer can be identified by the Snapshot that it was computed from. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from olmkit.gocompat.version_range import MastermindsRange
from olmkit.gocompat.versions import Precedence, Version
from operator_controller.resolve.package.package_content import PackageContent
from operator_controller.resolve.requirements.cluster_facts import ClusterFacts
from operator_controller.resolve.snapshot.spec_terms import OPERATOR_TERMS, SpecTerms

ALL_CHANNELS = ("*",)
"""The channels of a request that follows all channels of the package."""


@dataclass(frozen=True)
class PackageRequest:
    """The Operator's spec. An empty text means that the field is not set."""

    package: str
    channels: tuple[str, ...] = ()
    """The channels that are followed; ALL_CHANNELS for all. Without any, the default channel, or all channels for `versions`."""
    versions: MastermindsRange | None = None
    enforces_edges: bool = True
    """True if the running bundle is replaced along upgrade edges only (spec.upgradeConstraintPolicy)."""
    approved_version: str = ""
    """The version that a person has approved: it is preferred to better ones, unless it runs already."""
    is_dependency: bool = False
    """Nobody requested the package: every channel counts, and the default channel is preferred."""
    excluded: frozenset[Precedence] = frozenset()
    """The versions that are never chosen. Neither build metadata nor a release distinguishes them."""
    terms: SpecTerms = OPERATOR_TERMS
    """The terms of messages about the request."""

    @property
    def follows_every_channel(self) -> bool:
        """True if every channel is requested, whatever their names are."""
        return self.channels == ALL_CHANNELS

    @property
    def named_channels(self) -> tuple[str, ...]:
        """The channels that are requested by name."""
        return () if self.follows_every_channel else self.channels

    def excludes(self, version: Version | None) -> bool:
        """Report whether the version is never chosen; False if it is not known."""
        return version is not None and version.precedence in self.excluded


@dataclass(frozen=True)
class RunningBundle:
    """The bundle that is installed, as its own annotations describe it. What is not known is empty."""

    name: str
    image: str
    package: str = ""
    version: Version | None = None
    version_text: str = ""
    catalog: str = ""
    channel: str = ""
    properties: str = ""
    """JSON of the kinds that it provides and of its requirements."""


class CatalogState(StrEnum):
    """The states of a catalog: the content is known, or the reason why it is not."""

    SERVING = "serving"  # its current content
    CACHED = "cached"  # it cannot be read at the moment: the last content that was read from it is used
    UNREACHABLE = "unreachable"  # it cannot be read at the moment, and its content for this package is not known here
    PENDING = "pending"  # it has not served anything yet: it is ignored
    TOO_LARGE = "tooLarge"  # its content for this package exceeds the limits of resolution
    UNAVAILABLE = "unavailable"  # spec.availability is Unavailable: nothing is installed from it, so it is ignored
    NOT_SELECTED = "notSelected"  # spec.catalogSelector of the Operator does not select it: it is ignored


STATES_WITH_CONTENT = (CatalogState.SERVING, CatalogState.CACHED)
"""The states in which the catalog's content for the package is known."""
IGNORED_STATES = (CatalogState.UNAVAILABLE, CatalogState.NOT_SELECTED)
"""The states in which nothing of the catalog is considered."""


@dataclass(frozen=True)
class CatalogOffer:
    """The offer of one catalog for the package.

    `package` is None when the catalog does not have it or its content is unknown; `message` explains states other than SERVING.
    """

    catalog: str
    priority: int = 0
    state: CatalogState = CatalogState.SERVING
    package: PackageContent | None = None
    message: str = ""
    package_names: tuple[str, ...] = ()
    """The packages that the Catalog's status lists, to suggest similar names."""
    is_excluded: bool = False
    """spec.packages of the Catalog does not name the package: it is not offered. The catalog has it, or may have it."""
    is_withheld: bool = False
    """It is excluded, and the catalog has it."""


@dataclass(frozen=True)
class PackageSnapshot:
    """Everything that resolution depends on. Offers are sorted by catalog name."""

    request: PackageRequest
    offers: tuple[CatalogOffer, ...]
    running: RunningBundle | None = None
    installing_bundle: str = ""
    """Name of the bundle whose installation has begun and is not finished. It is kept as long as it is a permitted result."""
    preferred_catalog: str = ""
    """The catalog of an installation that has begun; it decides between catalogs of the same priority."""
    catalog_order: tuple[str, ...] | None = None
    """For a package that nobody asked for: all catalogs, the preferred one first, to decide between equal priorities."""
    facts: ClusterFacts = field(default_factory=ClusterFacts)
