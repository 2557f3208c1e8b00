"""The input of resolution for all Operators of a cluster: one frozen Snapshot, which the Resolver sends to its solver process.

The Resolver makes it from informers and the catalog client, `olm resolve` from its arguments. Values that olmkit.jobs.codec
encodes: versions and ranges are texts, a package's document is named by the digest of its catalog's content and read through
catalog_documents.py. Contains no status and no time. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from olmkit.gocompat.version_range import MastermindsRange
from olmkit.gocompat.versions import BadRange, BadVersion, Precedence, Version, parse_bundle_version
from operator_controller.resolve.requirements.cluster_facts import ClusterFacts
from operator_controller.resolve.snapshot.package_snapshot import CatalogState, PackageRequest, RunningBundle
from operator_controller.resolve.snapshot.spec_terms import SpecTerms, terms_of


@dataclass(frozen=True)
class RecordedBundle:
    """A bundle as the annotations of a template or of a Bundle record it. What is not known is empty."""

    name: str
    image: str
    package: str = ""
    version: str = ""
    catalog: str = ""
    channel: str = ""
    properties: str = ""
    """JSON of the kinds that it provides and of its requirements, as Bundle.recorded_properties makes it."""


@dataclass(frozen=True)
class MovingSet:
    """Packages that run and of which no order of steps satisfies every requirement at every time: each records the plan before
    the first of them takes its step, and a recorded plan is finished."""

    plan: str
    """Identifies the members and their bundles."""
    members: tuple[tuple[str, str], ...]
    """The packages, and the name of the bundle that each is to have, by package."""


@dataclass(frozen=True)
class PlannedBundle:
    """The bundle that an Operator is to have when its moving set has moved, as its BundleDeployment records it."""

    plan: str
    """The identity of the set and of its bundles: MovingSet.plan."""
    name: str
    image: str
    members: tuple[tuple[str, str], ...]
    """The set: packages, and the name of the bundle that each is to have."""


@dataclass(frozen=True)
class OperatorRequest:
    """One Operator: what its spec requests and what runs for it. Of the Operators for one package only the senior one is here.

    An Operator whose spec cannot be resolved (its range is invalid, its package name has changed, its running bundle is not
    known) is here too if something runs for it, with `is_resolvable` False.
    """

    name: str
    uid: str
    created: str
    """creationTimestamp as the API server writes it."""
    package: str
    channels: tuple[str, ...] = ()
    """The channels of spec.channel or spec.channels, sorted."""
    version: str = ""
    """A version or a range."""
    excluded_versions: tuple[str, ...] = ()
    """The versions of spec.excludedVersions, sorted."""
    catalogs: tuple[str, ...] | None = None
    """The catalogs that spec.catalogSelector selects; None without a selector."""
    ignores_upgrade_edges: bool = False
    """spec.upgradeConstraintPolicy is Ignore."""
    is_manual: bool = False
    """spec.approval is Manual."""
    approved_version: str = ""
    """The version in the annotation that approves one."""
    is_paused: bool = False
    is_dependency: bool = False
    """It was created because others require its package, and nobody has taken it over."""
    is_deleting: bool = False
    is_resolvable: bool = True
    """True if its spec is to be resolved. If not, what runs for it stays and counts."""
    running: RecordedBundle | None = None
    """The bundle that is installed."""
    installing: RecordedBundle | None = None
    """The bundle of the template, while some of its objects are installed and not all: it is kept as long as it is permitted."""
    requested: RecordedBundle | None = None
    """The bundle of the template, if it is neither `running` nor `installing`: rukpak may install it, or has installed a part of
    it and lost its Bundle. What it requires is not deleted, and its kinds are not the cluster's own; nothing else of it
    counts."""
    planned: PlannedBundle | None = None
    """The part of the Operator in a moving set that has been recorded and is not finished."""
    preferred_catalog: str = ""
    """The catalog of an installation that has begun; it decides between catalogs of the same priority."""
    is_of_extension: bool = False
    """It belongs to a ClusterExtension: messages use the terms of that, and nothing else depends on it."""

    @property
    def terms(self) -> SpecTerms:
        """The terms of messages about it."""
        return terms_of(is_of_extension=self.is_of_extension)

    @property
    def held_package(self) -> str:
        """The package that it stands for: the one that runs, also after its spec has been changed to another one."""
        return (self.running.package if self.running else "") or self.package

    @property
    def recorded(self) -> tuple[RecordedBundle, ...]:
        """The bundles that run, or of which a part may be installed."""
        return tuple(each for each in (self.running, self.installing, self.requested) if each is not None)

    @property
    def seniority(self) -> tuple[bool, str, str]:
        """Of several Operators the one with the least value comes first: installed, then older, then by name."""
        return self.running is None, self.created, self.name


@dataclass(frozen=True)
class CatalogSource:
    """A Catalog. `content` is the digest of its content, empty if none is known here; `message` explains other states."""

    name: str
    priority: int = 0
    state: CatalogState = CatalogState.SERVING
    content: str = ""
    message: str = ""
    package_names: tuple[str, ...] = ()
    """The packages that the Catalog's status lists and its spec selects, to suggest similar names and to know what an unreadable
    one has."""
    lists_all_packages: bool = False
    """True if `package_names` is complete: an unreadable catalog does not have any other package then."""
    selected_packages: tuple[str, ...] | None = None
    """The packages that spec.packages of the Catalog names; None without a list. It offers no other package of its content."""
    withheld_names: tuple[str, ...] = ()
    """The packages that the Catalog's status lists and its spec does not select, to name them while its content is not known."""

    def selects(self, package: str) -> bool:
        """Report whether the Catalog offers the package, if its content has it."""
        return self.selected_packages is None or package in self.selected_packages


@dataclass(frozen=True)
class ClusterSnapshot:
    """Everything that the resolution of all Operators depends on, apart from the documents that `content` names.

    The order of Operators counts only if `is_ordered`: offline, seniority is the order given. Otherwise it never matters.
    """

    operators: tuple[OperatorRequest, ...]
    catalogs: tuple[CatalogSource, ...]
    facts: ClusterFacts = field(default_factory=ClusterFacts)
    taken_names: tuple[tuple[str, str], ...] = ()
    """Names under which no dependency can be created, and what has each of them: an Operator for another package, or a
    BundleDeployment without an Operator."""
    is_ordered: bool = False


def package_request(operator: OperatorRequest) -> PackageRequest:
    """The request of the spec. A range that cannot be read requests every version: such an Operator is not resolvable."""
    try:
        versions = MastermindsRange.parse(operator.version) if operator.version else None
    except BadRange:
        versions = None
    approved = operator.approved_version if operator.is_manual else ""
    return PackageRequest(
        operator.package,
        operator.channels,
        versions,
        not operator.ignores_upgrade_edges,
        is_dependency=operator.is_dependency and versions is None and not operator.channels,
        approved_version=approved,
        excluded=excluded_precedences(operator.excluded_versions),
        terms=operator.terms,
    )


def excluded_precedences(versions: Iterable[str]) -> frozenset[Precedence]:
    """The versions by what ranges compare. One that cannot be read excludes nothing: no catalog has it."""
    parsed = (parsed_version(each) for each in versions)
    return frozenset(each.precedence for each in parsed if each is not None)


def running_bundle(recorded: RecordedBundle | None) -> RunningBundle | None:
    """The recorded bundle with its version parsed."""
    if recorded is None:
        return None
    return RunningBundle(
        name=recorded.name,
        image=recorded.image,
        package=recorded.package,
        version=parsed_version(recorded.version),
        version_text=recorded.version,
        catalog=recorded.catalog,
        channel=recorded.channel,
    )


def parsed_version(text: str) -> Version | None:
    """The version of a recorded bundle; None if it cannot be read."""
    try:
        return parse_bundle_version(text)
    except BadVersion:
        return None
