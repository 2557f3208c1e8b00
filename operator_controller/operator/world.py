"""World, Plan and Done of one Operator: the observation, the next step, and its result. Values only. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from olmkit.api import bundledeployments
from olmkit.api.bundle_annotations import BUNDLE_NAME_ANNOTATION
from olmkit.api.bundledeployments import BundleDeployment
from olmkit.api.clusterextensions import extension_of
from olmkit.api.conditions import find_condition, is_condition_true
from olmkit.api.meta import Condition, OwnerReference
from olmkit.api.operator_status import InstalledBundle
from olmkit.api.operators import KIND, Operator
from olmkit.api.ownership import is_dependency
from olmkit.gocompat.text import quoted, truncate
from operator_controller.crd_checks.findings import CrdCheckState
from operator_controller.resolve.answers.answer import AnswerState
from operator_controller.resolve.snapshot.package_snapshot import RunningBundle
from operator_controller.resolve.snapshot.spec_terms import SpecTerms, terms_of

ConditionType = bundledeployments.ConditionType
HOLD_PREFIX = "required by "
"""The beginning of the value that this controller writes to the annotation that holds a deletion."""
MAX_NEIGHBOUR_MESSAGE_BYTES = 200
"""The maximum UTF-8 bytes of the message of another Operator that a message quotes."""


@dataclass(frozen=True)
class PackageClaim:
    """An Operator's claim to a package. If there are several claims, the claim with the least seniority value holds the
    package."""

    is_new: bool
    """True if the Operator has not installed the package yet."""
    is_idle: bool
    """True if the Operator has no BundleDeployment for the package yet."""
    created: str
    name: str
    is_deleting: bool = False
    """True if the Operator is being deleted."""
    is_dependency: bool = False
    """True if the Operator was created because others require the package."""
    extension: str = ""
    """The name of the ClusterExtension that the Operator belongs to; "" if it belongs to none."""

    @property
    def title(self) -> str:
        """The object that a person has created, or can create."""
        return f"ClusterExtension {quoted(self.extension)}" if self.extension else f"Operator {quoted(self.name)}"

    @property
    def seniority(self) -> tuple[bool, bool, str, str]:
        """The sort key of claims: installed packages first, then installations that have begun, then older Operators, then by
        name."""
        return self.is_new, self.is_idle, self.created, self.name


@dataclass(frozen=True)
class ObservedBundleDeployment:
    """The BundleDeployment with the Operator's name, as it was read and as a model."""

    raw: Mapping[str, Any]
    model: BundleDeployment

    @classmethod
    def load(cls, raw: Mapping[str, Any]) -> ObservedBundleDeployment:
        """Parse the API server's JSON."""
        return cls(raw, BundleDeployment.load(raw))

    @property
    def is_current(self) -> bool:
        """True if the status reports on the current spec."""
        return self.model.status.observed_generation == self.model.metadata.generation

    @property
    def annotations(self) -> Mapping[str, str]:
        """The template's annotations, which describe the desired bundle."""
        metadata = self.model.spec.template.metadata
        return (metadata.annotations if metadata else None) or {}

    @property
    def bundle_name(self) -> str:
        """The name of the desired bundle; "" if it is not known."""
        return self.annotations.get(BUNDLE_NAME_ANNOTATION, "")

    def condition(self, name: str) -> Condition | None:
        """A condition of the current spec; None if there is none, or if the status reports on an older spec."""
        if not self.is_current:
            return None
        return find_condition(self.model.status.conditions, name)

    def is_true(self, name: str) -> bool:
        """Report whether a condition of the current spec is True."""
        return self.is_current and is_condition_true(self.model.status.conditions, name)

    @property
    def controller(self) -> OwnerReference | None:
        """The owner that controls it."""
        return self.model.metadata.controller


@dataclass(frozen=True)
class Neighbour:
    """The Operator for a package that this Operator requires, or that requires this Operator's package."""

    operator: str
    package: str
    bundle: str = ""
    """Name of the bundle that runs; "" if none does."""
    message: str = ""
    """The message of its condition Ready."""
    is_stalled: bool = False
    """True if the Operator waits for a person."""
    requested: str = ""
    """Name of the bundle that its BundleDeployment requests; "" if it is not known."""
    plan: str = ""
    """The identity of the plan that its BundleDeployment records; "" if it records none."""
    is_deleting: bool = False
    has_bundle_deployment: bool = False
    is_unused: bool = False
    """True if the Operator was created as a dependency, and no custom resources of its kinds are left."""

    @property
    def short_message(self) -> str:
        """The beginning of its message, as a part of other messages."""
        return truncate(self.message, MAX_NEIGHBOUR_MESSAGE_BYTES)


@dataclass(frozen=True)
class World:
    """Everything that the decision of one pass may depend on."""

    now: datetime
    raw: Mapping[str, Any]
    """The Operator as read."""
    operator: Operator
    bundle_deployment: ObservedBundleDeployment | None = None
    running: RunningBundle | None = None
    """The bundle that runs, read from the BundleDeployment's active Bundle, or from its record if the Bundle is missing."""
    installed_status: InstalledBundle | None = None
    """The bundle that runs, as the status reports it."""
    missing_bundle: str = ""
    """The name of the active Bundle if it does not exist."""
    missing_since: datetime | None = None
    """The time since which the active Bundle has not existed, as far as this process knows."""
    claims: tuple[PackageClaim, ...] = ()
    """The claims to the package, including the claim of this Operator."""
    rejected_images: Mapping[str, str] = field(default_factory=dict)
    """Digest of an image that rukpak rejects on any cluster -> the message."""
    selected_catalogs: tuple[str, ...] | None = None
    """The names of the Catalogs that spec.catalogSelector selects, sorted; None without a selector."""
    was_orphaning: bool = False
    """True if the Operator is known to have had ORPHAN_FINALIZER while it was being deleted."""
    dependencies: tuple[str, ...] = ()
    """The names of the Operators that were created for requirements of its bundle, if its BundleDeployment stays when the
    Operator is deleted."""
    resolution: AnswerState | None = None
    """The answer to evaluate.request_to_resolve(); None if there is no request."""
    pull_secret: str | None = None
    """The pull secret of the Catalog of the answer's bundle, "" for none; None if this Catalog does not exist."""
    verification: Mapping[str, Any] | None = None
    """spec.bundles.verify of the same Catalog, empty for none; None if this Catalog does not exist."""
    neighbours: Mapping[str, Neighbour] = field(default_factory=dict)
    """Package that the answer names -> the Operator for it."""
    crd_check: CrdCheckState | None = None
    """The knowledge about the definitions of the bundle that waited at the end of the last pass; None if none did."""

    @property
    def is_of_extension(self) -> bool:
        """True if the Operator belongs to a ClusterExtension."""
        return bool(extension_of(self.raw))

    @property
    def terms(self) -> SpecTerms:
        """The terms of messages for who has requested the package."""
        return terms_of(is_of_extension=self.is_of_extension)

    @property
    def is_dependency(self) -> bool:
        """True if the Operator was created because others require its package, and no person has taken it over."""
        return is_dependency(self.raw)

    @property
    def is_orphaning(self) -> bool:
        """True if the objects of the Operator stay when it is deleted, as `kubectl delete --cascade=orphan` requests."""
        return self.operator.metadata.is_orphaning(was_orphaning=self.was_orphaning)

    @property
    def leaves_bundle_deployment(self) -> bool:
        """True if the Operator is being deleted and its BundleDeployment stays, even if the garbage collector was faster than
        this pass."""
        left = self.bundle_deployment
        is_left = left is not None and left.controller is None and not left.model.metadata.deleting
        return self.is_orphaning or (self.operator.metadata.deleting and is_left)

    @property
    def owned_bundle_deployment(self) -> ObservedBundleDeployment | None:
        """The BundleDeployment, if this Operator owns it."""
        deployment = self.bundle_deployment
        if deployment is None or not is_owned(deployment, self.operator.metadata.uid):
            return None
        return deployment


# --- the Plan


@dataclass(frozen=True)
class Keep:
    """Change nothing: everything is as desired, or another party has to act first."""

    after: timedelta | None = None


@dataclass(frozen=True)
class AddFinalizer:
    """Add the finalizer, before anything is created that has to be deleted again. `finalizers` is the whole list."""

    finalizers: tuple[str, ...]


@dataclass(frozen=True)
class ApplyBundleDeployment:
    """Apply the BundleDeployment."""

    deployment: Mapping[str, Any]
    after: timedelta | None = None


@dataclass(frozen=True)
class AdoptBundleDeployment:
    """Make the Operator the owner of the BundleDeployment with this uid, if it has not changed. `owners` is the whole list."""

    name: str
    uid: str
    resource_version: str
    owners: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True)
class ReleaseBundleDeployment:
    """Remove the Operator from the owners of the BundleDeployment with this uid, if it has not changed. `owners` is the whole
    list."""

    name: str
    uid: str
    resource_version: str
    owners: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True)
class DeleteBundleDeployment:
    """Delete the BundleDeployment with this uid, if it has not changed: by now it may belong to another Operator or to nobody."""

    name: str
    uid: str
    resource_version: str


@dataclass(frozen=True)
class RemoveFinalizer:
    """Remove the finalizer, because nothing is left to delete. `finalizers` is the rest of the list."""

    finalizers: tuple[str, ...]


@dataclass(frozen=True)
class CreateDependency:
    """Create an Operator for a package that the bundle requires, unless one of that name exists."""

    operator: Mapping[str, Any]


@dataclass(frozen=True)
class RemoveDependencyLabel:
    """Remove the label of the dependencies with these names: a person has taken the Operator over, or a BundleDeployment that no
    Operator owns still requires it."""

    operators: tuple[str, ...]


@dataclass(frozen=True)
class RequestCount:
    """Request a new count of the custom resources of the BundleDeployment from rukpak."""

    name: str
    uid: str


@dataclass(frozen=True)
class WithdrawCount:
    """Withdraw the request for a count."""

    name: str
    uid: str


@dataclass(frozen=True)
class HoldDeletion:
    """Let rukpak hold a deletion of the BundleDeployment for this reason; "" lets the deletion continue."""

    name: str
    uid: str
    reason: str


@dataclass(frozen=True)
class ProtectDeployment:
    """Protect the BundleDeployment from deletion exactly if the Operator is protected."""

    name: str
    uid: str
    is_protected: bool


@dataclass(frozen=True)
class RecordPlan:
    """Record the plan of a moving set on the BundleDeployment; "" removes the record."""

    name: str
    uid: str
    record: str


@dataclass(frozen=True)
class DeleteDependency:
    """Delete the Operator, because nothing requires its package."""

    name: str
    uid: str
    resource_version: str


DependencyPlan = (
    CreateDependency
    | RemoveDependencyLabel
    | RequestCount
    | WithdrawCount
    | HoldDeletion
    | ProtectDeployment
    | RecordPlan
    | DeleteDependency
)
"""Plans that also concern other Operators: the Operators that require this one, or that it requires."""
Plan = (
    Keep
    | AddFinalizer
    | ApplyBundleDeployment
    | AdoptBundleDeployment
    | ReleaseBundleDeployment
    | DeleteBundleDeployment
    | RemoveFinalizer
    | DependencyPlan
)
UNREPORTED_PLANS = (
    AddFinalizer,
    AdoptBundleDeployment,
    ReleaseBundleDeployment,
    RemoveFinalizer,
    RemoveDependencyLabel,
    DeleteDependency,
    RecordPlan,
)
"""Plans that are not reported: the next pass reports."""


@dataclass(frozen=True)
class Done:
    """The Plan that was carried out."""

    plan: Plan
    after: timedelta | None = None


Outcome = Done | Exception
"""The end of a pass: the Plan that was carried out, or the error."""


# --- helpers


def is_owned(deployment: ObservedBundleDeployment, uid: str) -> bool:
    """Report whether the Operator of this uid controls it."""
    owner = deployment.controller
    return owner is not None and owner.uid == uid and owner.kind == KIND.kind


def image_reference(spec: Any) -> str:
    """The image reference of a Bundle's spec."""
    return spec.source.image.ref if spec.source.image else ""
