"""The answer of resolution for one Operator: which bundle to install and what that needs, or why none can be, in sentences.

The solver process sends it to the Resolver, which puts it into the World of its Operator; `olm resolve` prints it. An
Answer consists of values that olmkit.jobs.codec encodes; an AnswerState is what the Resolver knows besides. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from olmkit.api.failures import FailureReason
from olmkit.errors import OlmError
from operator_controller.resolve.answers.deprecations import Deprecations
from operator_controller.resolve.explain.statements import Statement
from operator_controller.resolve.snapshot.cluster_snapshot import MovingSet, OperatorRequest
from operator_controller.resolve.snapshot.package_snapshot import STATES_WITH_CONTENT, CatalogState


class AnswerKind(StrEnum):
    """The kinds of results that resolution finds for an Operator."""

    CHOSEN = "chosen"  # install `bundle`, or keep it if it runs
    KEPT = "kept"  # the running bundle stays: its catalog is away, or has nothing that it leads to
    NO_MATCHING_BUNDLE = "noMatchingBundle"  # no catalog offers what is requested, or all of it is excluded
    TOO_LARGE = "tooLarge"  # the package exceeds the limits of resolution
    NO_DIRECT_UPGRADE = "noDirectUpgrade"  # the wanted bundle exists, and no upgrade edge leads to it
    AMBIGUOUS_CATALOGS = "ambiguousCatalogs"  # catalogs of the same priority offer it
    SOURCE_CATALOG_MISSING = "sourceCatalogMissing"  # what is requested may be in a catalog whose content is not known
    SOURCE_CATALOG_NOT_SELECTED = "sourceCatalogNotSelected"  # no catalog that the spec selects offers what runs
    NOT_INSTALLABLE = (
        "notInstallable"  # bundles match, and the cluster lacks what each of them requires, or that is invalid
    )
    CONFLICT = "conflict"  # what it requires cannot be had together with the requests that have precedence
    UNDECIDED = "undecided"  # the solver reached its budget: nothing changes
    UNNEEDED = "unneeded"  # a dependency that no installation requires
    DELETING = "deleting"  # the Operator is being deleted; `needed_by` names what still needs its package


@dataclass(frozen=True)
class SelectedBundle:
    """A bundle to install, with everything that its BundleDeployment records."""

    name: str
    version: str
    image: str
    media_type: str
    catalog: str
    channel: str
    properties: str = "[]"
    """JSON of the kinds that it provides and of its requirements."""
    deprecation: str = ""


class KeptOutBy(StrEnum):
    """The causes that keep an upgrade out. The values are those of status.available.reason."""

    CONFLICT = "RequirementsNotSatisfied"  # its requirements, or those of others
    CLUSTER = "NotInstallable"  # the cluster lacks what it requires, or its properties are invalid
    VERSION = "VersionExcluded"  # spec.version or spec.excludedVersions
    EDGE = "NoUpgradeEdge"  # no sequence of upgrade edges leads to it from what runs


@dataclass(frozen=True)
class AvailableUpgrade:
    """An upgrade that is not selected, and why in one sentence."""

    version: str
    bundle: str
    image: str
    catalog: str
    channel: str
    kept_out_by: KeptOutBy
    reason: str


@dataclass(frozen=True)
class Dependency:
    """A requirement of the selected bundle that another package satisfies. `sentence` says which and by what."""

    package: str
    version: str
    catalog: str
    bundle: str
    sentence: str


@dataclass(frozen=True)
class PackageToInstall:
    """A package that the selected bundle needs, also indirectly, and that has no Operator. `needed_for`: the Operators."""

    package: str
    version: str
    catalog: str
    needed_for: tuple[str, ...]


@dataclass(frozen=True)
class Member:
    """The bundle of a package in the end state of one component. `is_changed`: it is to be installed, or replaces what runs.

    `requires`: the packages whose bundles satisfy its requirements: they are installed first. `because`: the requirements of
    other members that it satisfies, in sentences.
    """

    package: str
    bundle: str
    version: str
    catalog: str = ""
    requires: tuple[str, ...] = ()
    is_changed: bool = False
    because: tuple[str, ...] = ()


@dataclass(frozen=True)
class FollowedCatalog:
    """The catalog that takes the place of another one, because it offers the running bundle; `channel` contains it."""

    previous: str
    catalog: str
    channel: str
    is_deleted: bool = True
    """True if the previous catalog was deleted; else the spec does not select it."""


@dataclass(frozen=True)
class RefusalFacts:
    """The reason why no bundle is selected, and the catalogs that it concerns, sorted."""

    reason: FailureReason
    catalogs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Answer:
    """The result of resolution for one Operator. `digest` identifies the part of the Snapshot that it was computed from."""

    operator: str
    uid: str
    digest: str
    kind: AnswerKind
    is_resolved: bool
    message: str
    """The message of the condition Resolved."""
    text: str
    """The explanation, for Ready and status.resolution: at most 1 KB."""
    short_reason: str = ""
    """The rule that selected the bundle, in a few words. Empty for every other kind than CHOSEN."""
    is_final: bool = True
    """True if only a change of specs, of what runs or of content can change the answer. If not, a catalog is unread."""
    refusal: RefusalFacts | None = None
    """The facts of an answer that selects no bundle, unless nothing is requested."""
    bundle: SelectedBundle | None = None
    """The bundle of CHOSEN."""
    target_version: str = ""
    """The version to which the upgrade steps lead; that of `bundle` if one step is enough."""
    catalog_state: CatalogState | None = None
    """State of the catalog of a KEPT bundle; None if it was deleted."""
    followed_catalog: FollowedCatalog | None = None
    successor_note: str = ""
    """The sentence that names the catalog that takes the place of a deleted one; `text` contains it as well."""
    available_version: str = ""
    """A better version that is not selected."""
    available_reason: str = ""
    """The reason why it is not, in one sentence."""
    available: AvailableUpgrade | None = None
    """The upgrade of the installed bundle that requirements, the cluster, the spec or a missing edge keep out."""
    deprecations: Deprecations | None = None
    """Deprecations of what is followed; None if they are not known."""
    dependencies: tuple[Dependency, ...] = ()
    to_install: tuple[PackageToInstall, ...] = ()
    members: tuple[Member, ...] = ()
    """The end state of the whole component, by package; the same in the answers of all its Operators."""
    needed_by: tuple[str, ...] = ()
    """The packages that run and require something of what runs for this Operator and of nothing else that runs."""
    required_by_deleting: tuple[str, ...] = ()
    """The packages that are being deleted and require what runs for this Operator: they are deleted before it. Without those that
    it requires itself."""
    after: tuple[str, ...] = ()
    """The packages that take their steps before this one: those that the selected bundle requires, and those whose running bundle
    requires what runs for this Operator. Without members of the same cycle."""
    moving_set: MovingSet | None = None
    """The set that the step of this Operator belongs to, if a step of it breaks what runs of another member."""
    awaited: tuple[str, ...] = ()
    """The upgrades and deletions of other Operators that may lift a CONFLICT, in sentences."""
    awaited_deletions: tuple[str, ...] = ()
    """The packages of `awaited` that run as dependencies and that nothing requires."""
    removed_with: tuple[str, ...] = ()
    """The packages that it requires and that require it, if nothing else requires one of them and no person has requested one
    that stays: such dependencies keep each other, and are deleted together."""
    clauses: tuple[Statement, ...] = ()
    """The reason why a CONFLICT is one: a minimal set of statements that cannot all hold."""

    @property
    def is_not_offered(self) -> bool:
        """The content of the catalog of a KEPT bundle is known, and neither contains it nor an upgrade from it."""
        return self.kind is AnswerKind.KEPT and self.catalog_state in STATES_WITH_CONTENT


@dataclass(frozen=True)
class AnswerState:
    """An answer belongs to the uid, the spec and the running bundle of the Operator as the World has them."""

    answer: Answer | None = None
    """None: the present request is not resolved yet."""
    needs_recheck: bool = False
    """True if the answer may change without a change of an object: a catalog that counts for the Operator is read again soon."""
    is_component_settled: bool = True
    """True if no Operator of its component may come to require its package without a change of a spec or of content."""
    outdated_catalogs: tuple[str, ...] = ()
    """The catalogs that count for an Operator that is refused and wait for other content than they serve, sorted."""
    error: OlmError | None = None
    """The reason why the last attempt to resolve failed, if there is no answer."""
    since: datetime | None = None
    """Since when the present request has awaited its answer."""
    request: OperatorRequest | None = None
    """The present request, while it has no answer."""

    @property
    def certain_answer(self) -> Answer | None:
        """The answer, unless it is undecided or may still change."""
        answer = self.answer
        is_certain = answer is not None and answer.kind is not AnswerKind.UNDECIDED and not self.needs_recheck
        return answer if is_certain else None


def may_require_more(answer: Answer) -> bool:
    """Report whether the Operator may come to require packages without a change of a spec or of content: it is not decided, or
    waits for catalogs or other Operators."""
    if answer.is_resolved or answer.kind in (AnswerKind.UNNEEDED, AnswerKind.DELETING):
        return False
    return answer.kind is AnswerKind.UNDECIDED or not answer.is_final or bool(answer.awaited)


def may_require(answer: Answer, package: str) -> bool:
    """Report whether it may come to require the installed bundle of this package, whose deletion it does not wait for."""
    return may_require_more(answer) and package not in answer.awaited_deletions


def requiring_packages(answer: Answer, package: str) -> set[str]:
    """The packages that run or are selected and require what runs or is selected of this one."""
    return {member.package for member in answer.members if package in member.requires}.union(answer.needed_by)


def related_packages(answer: Answer, package: str) -> set[str]:
    """The packages whose Operators matter to the one for `package`: those it requires, and those that require it."""
    moving = [name for name, _ in answer.moving_set.members] if answer.moving_set else []
    required = {one.package for one in answer.dependencies}
    requiring = requiring_packages(answer, package).union(answer.required_by_deleting)
    return required.union(requiring, answer.removed_with, answer.after, moving) - {package}
