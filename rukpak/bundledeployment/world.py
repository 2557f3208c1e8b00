"""The World of one BundleDeployment, and errors about it.

Values only. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cached_property
from typing import Any

from olmkit.api import customresourcedefinitions
from olmkit.api.bundledeployment_status import MAX_REFERENCES, BundleRecord, PermittingField, Revision
from olmkit.api.bundledeployments import (
    ABANDON_ANNOTATION,
    DELETION_HOLD_ANNOTATION,
    KEEP_ADOPTED_ANNOTATION,
    BundleDeployment,
)
from olmkit.api.bundles import BundleSpec
from olmkit.api.customresourcedefinitions import CustomResourceDefinition
from olmkit.api.failures import FailureReason
from olmkit.api.impersonation import Account
from olmkit.api.install_settings import DeletionPolicy
from olmkit.api.meta import Kind
from olmkit.api.ownership import manager_name
from olmkit.api.provisioner_classes import HELM
from olmkit.crd_safety.evidence import Evidence, Form
from olmkit.crd_safety.problem import Problem
from olmkit.errors import ApiError, Blocked, Waiting
from olmkit.gocompat.text import parse_duration
from olmkit.sources.spec_source import InputReference
from rukpak.bundledeployment.bundle_info import BundleInfo, record_of
from rukpak.bundledeployment.charts.chart_state import ChartState
from rukpak.bundledeployment.cluster.namespace_blockers import NamespaceBlockers
from rukpak.bundledeployment.cluster.namespace_info import NamespaceInfo
from rukpak.bundledeployment.count_schedule import CustomResourceCounts
from rukpak.bundledeployment.evaluation import Evaluation
from rukpak.bundledeployment.health.health_result import Health
from rukpak.bundledeployment.health.pod_problems import Explanation
from rukpak.bundledeployment.object_references import key_of
from rukpak.bundledeployment.operator_condition import ConditionState
from rukpak.bundledeployment.rendered_bundle import Content, MissingContent, RenderedBundle
from rukpak.bundledeployment.revisions.target import Target, fallback_of, options_of, revisions_of, target_of
from rukpak.certificates.serving_certificate import ServingCertificate
from rukpak.format.objects import ObjectKey
from rukpak.permissions.rules import Right
from rukpak.render.install_options import InstallOptions

NAMESPACE = ("", "Namespace")
CRD = customresourcedefinitions.KIND.group_kind


@dataclass(frozen=True)
class ConflictingObject:
    """An object of others with the key of an object of the bundle."""

    kind: Kind
    namespace: str
    name: str


class ApplyRejected(Waiting):
    """A rejected apply that requires user action. It is retried after `after`, when one of the `conflicting_objects` changes, or
    when something changes that may have refused the `refused` objects. `applied`: the objects that the same pass has applied
    before. `missing`: the rights that the account lacks, before anything is applied or removed. `permitted_by`: the fields of
    spec that would permit it, and nothing else is needed. `failure`: what status.failure says."""

    def __init__(  # noqa: PLR0913 all but three have defaults
        self,
        reason: str,
        message: str,
        after: timedelta,
        subject: Iterable[str] = (),
        applied: frozenset[ObjectKey] = frozenset(),
        conflicting_objects: frozenset[ConflictingObject] = frozenset(),
        refused: frozenset[ObjectKey] = frozenset(),
        missing: frozenset[Right] = frozenset(),
        permitted_by: frozenset[PermittingField] = frozenset(),
        failure: FailureReason = FailureReason.APPLY_FAILED,
    ) -> None:
        super().__init__(reason, message, after, subject)
        self.failure = failure
        self.applied = applied
        self.conflicting_objects = conflicting_objects
        self.refused = refused
        self.missing = missing
        self.permitted_by = permitted_by

    @property
    def refused_in(self) -> frozenset[str]:
        """The namespaces of the refused objects; "" for objects without a namespace."""
        return frozenset(key.namespace for key in self.refused)


class Refused(Blocked):
    """A refusal for a reason that status.failure names. `permitted_by`: the fields of spec that would permit it, and nothing else
    is needed. `install_modes`: those of the bundle, if they do not fit the namespaces to watch."""

    def __init__(
        self,
        failure: FailureReason,
        reason: str,
        message: str,
        subject: Iterable[str] = (),
        permitted_by: frozenset[PermittingField] = frozenset(),
        install_modes: tuple[str, ...] = (),
    ) -> None:
        super().__init__(reason, message, subject)
        self.failure = failure
        self.permitted_by = permitted_by
        self.install_modes = install_modes


class FailedStep(Waiting):
    """A step that has failed, and is repeated after `after`; other waits are no failure. `failure`: what status.failure says."""

    def __init__(
        self,
        failure: FailureReason,
        reason: str,
        message: str,
        after: timedelta,
        subject: Iterable[str] = (),
    ) -> None:
        super().__init__(reason, message, after, subject)
        self.failure = failure


class BriefWait(Waiting):
    """A short wait: the status stays unchanged unless the wait gets long."""


# --- what the cluster shows


@dataclass(frozen=True)
class LabeledObject:
    """An object with the owner-uid label of a BundleDeployment."""

    key: ObjectKey
    uid: str
    resource_version: str
    applied_fields: Mapping[str, str] = field(default_factory=dict)
    """Field manager -> hash of the fields that it applied, for the field managers of rukpak."""
    last_changed_by: str = ""
    """The field manager, other than rukpak's, that wrote to the object last."""
    deletion_timestamp: datetime | None = None
    finalizers: tuple[str, ...] = ()
    is_scaled_by_others: bool = False
    """True if another field manager owns spec.replicas."""
    health: Health | None = None
    is_kept: bool = False
    """True if an annotation of Helm asks to keep it when its chart is removed."""
    is_adopted: bool = False
    """True if it was there before the BundleDeployment, which has taken it over."""
    has_refused_pods: bool = False
    """True if it is a workload whose pods the API server refuses to create."""
    pod_selector: str = ""
    """The label selector of the pods of a workload that is not healthy; empty for other objects."""
    operator_condition: ConditionState | None = None
    """The content of an OperatorCondition; None for other objects."""
    kept_template: str | None = None
    """The digest of the pod template that was left out when a Deployment was taken over; empty if it is not known. None: it was
    applied."""


@dataclass(frozen=True)
class CustomResource:
    """A custom resource of a CRD of a BundleDeployment that is being deleted."""

    key: ObjectKey
    uid: str
    resource_version: str
    deletion_timestamp: datetime | None = None
    finalizers: tuple[str, ...] = ()


class Usage(StrEnum):
    """The use of a CustomResourceDefinition or a Namespace that is no longer in its bundle."""

    NEVER_ESTABLISHED = "never established"
    """A CustomResourceDefinition that the API server has never served, so it can have no custom resources."""
    UNUSED = "unused"
    IN_USE = "in use"
    """A CustomResourceDefinition with custom resources, or a Namespace that contains objects of others."""
    UNLISTABLE = "unlistable"
    """A CustomResourceDefinition that was established but serves no version, so its custom resources cannot be listed."""


@dataclass(frozen=True)
class ForeignObjects:
    """Objects in a Namespace that are not part of the bundle."""

    first: tuple[str, ...] = ()
    """Names of the first few, sorted."""
    count: int = 0


@dataclass(frozen=True)
class LastApplied:
    """The last apply of an object: the digest of the manifest, and the hash of our fields as the API server stored them. The
    digest is empty while two manifests are possible and it is not known which one is stored.

    rukpak.bundledeployment.drift compares it with the object.
    """

    digest: str
    fields_hash: str
    at: datetime
    quick_reverts: int = 0
    """The number of consecutive times that the same manifest had to be applied again soon after the previous apply."""


@dataclass(frozen=True)
class ExistingObjects:
    """A check of custom resources against the schemas of a bundle, and its result once it has ended."""

    identity: str
    at: datetime
    """The time when the check ended, or when it began if it is running."""
    is_running: bool = False
    evidence: Mapping[Form, Evidence] = field(default_factory=dict)
    """The evidence from custom resources, by form."""
    error: str = ""
    """The reason why the check failed; empty if it did not fail."""


@dataclass(frozen=True)
class Interests:
    """The kinds and objects that one BundleDeployment depends on, in addition to its own objects."""

    kinds: frozenset[tuple[str, str]] = frozenset()
    """The group-kinds of its objects, and the group-kinds that it needs but the cluster does not serve."""
    namespaces: frozenset[str] = frozenset()
    crds: frozenset[str] = frozenset()
    values: frozenset[InputReference] = frozenset()
    """The Secrets and ConfigMaps with values of its charts."""
    all_kinds: bool = False
    """True if its charts may give other objects when the cluster serves another kind."""


@dataclass(frozen=True)
class DeletedWorld:
    """The World of a BundleDeployment that does not exist, but for which this process still watches objects."""

    name: str


@dataclass(frozen=True)
class ListFailure:
    """The API server does not list the custom resources of a CustomResourceDefinition."""

    definition: CustomResourceDefinition
    error: ApiError


@dataclass(frozen=True)
class World:
    """Everything that is known about one BundleDeployment."""

    now: datetime
    raw: Mapping[str, Any]
    deployment: BundleDeployment
    bundles: Mapping[str, BundleInfo] = field(default_factory=dict)
    """The Bundles that the BundleDeployment owns, by name."""
    bundle_owner: str = ""
    """The owner of the Bundle of the desired name, if the owner is not this BundleDeployment."""
    left_bundle: BundleInfo | None = None
    """The Bundle of the desired name, if its owner is an earlier BundleDeployment of this name."""
    is_active_name_taken: bool = False
    """True if the Bundle of the active name has another owner."""
    admission_problem: str = ""
    """The reason why the webhook that guards Bundles does not answer, when a Bundle has to be created; empty if the webhook
    answers or is disabled."""
    has_operator_conditions: bool = False
    """True if the cluster serves OperatorConditions."""
    account_refusal: str = ""
    """The reason why nothing is done as the account of spec, or without one; empty if it may be."""
    account_unguarded: str = ""
    """The reason why nothing guards who names an account; empty if the webhooks do, or are disabled."""
    account_exists: bool | None = True
    """False if the account of spec does not exist; None while that is not known."""
    permitted: frozenset[str] = frozenset()
    """Identify the account and the permissions that it was found to have since a request as it was refused."""
    is_refused: bool = False
    """True if a request as the account was refused, and not all of its permissions have been found since."""
    derived_record: BundleRecord | None = None
    """The record of the active Bundle, from the Operator's status; only when the Bundle is missing and status has no record of
    it."""
    content: Content = field(default_factory=MissingContent)
    """The content of the desired Bundle."""
    active_content: Content = field(default_factory=MissingContent)
    """The content of the active Bundle, if that is another Bundle than the desired one."""
    fallback_content: Content = field(default_factory=MissingContent)
    """The content of the revision that a rollback restores if the target fails."""
    charts: tuple[ChartState, ...] = ()
    """The charts among the contents: of the desired Bundle, of the active one, and of the revision that a rollback restores."""
    inventory: frozenset[tuple[str, str]] = frozenset()
    """The group-kinds of the inventory annotation."""
    interests: Interests = field(default_factory=Interests)
    """The objects on which the BundleDeployment depends: their changes enqueue it as soon as the pass has published."""
    changes_before: int = 0
    """The number of changes that had been mapped to keys before this pass read anything."""
    labeled: Mapping[ObjectKey, LabeledObject] = field(default_factory=dict)
    taken: frozenset[ObjectKey] = frozenset()
    """Keys of objects of the desired bundle that other BundleDeployments have, while it is being installed."""
    unsynced: frozenset[tuple[str, str]] = frozenset()
    """Kinds of the inventory that may have more objects, because they have not been listed or their watch is cut. Includes the
    kinds that cannot be listed."""
    unreachable_kinds: frozenset[tuple[str, str]] = frozenset()
    """Kinds of the inventory that cannot be listed because their API server is unavailable."""
    namespaces: Mapping[str, NamespaceInfo] = field(default_factory=dict)
    """The Namespaces that are in the bundle, were released, or have the BundleDeployment as a member, by name."""
    crds: Mapping[str, CustomResourceDefinition] = field(default_factory=dict)
    """The CustomResourceDefinitions that are in the bundle or were released, by name."""
    crd_problems: Mapping[str, tuple[Problem, ...] | ApiError] = field(default_factory=dict)
    """The problems that arise if the bundle's CustomResourceDefinitions replace the existing ones, by name; an error if the
    existing one could not be read."""
    conversion_problems: Mapping[ObjectKey, str] = field(default_factory=dict)
    """CustomResourceDefinition -> the reason why its custom resources need a conversion and nobody converts them."""
    existing_objects: ExistingObjects | None = None
    """The last check of custom resources against the schemas of the bundle; None if there was no check."""
    custom_resources: tuple[CustomResource, ...] | None = None
    """Custom resources of its CRDs, while the BundleDeployment is being deleted; None when they cannot be listed."""
    list_failure: ListFailure | None = None
    """The reason why the custom resources cannot be listed."""
    prepared_templates: frozenset[ObjectKey] = frozenset()
    """The Deployments of the bundle that nobody has taken over yet, and whose pods others have asked to keep then."""
    webhooks_without_endpoints: frozenset[ObjectKey] = frozenset()
    """Its webhook configurations that have no endpoints, while the BundleDeployment is being deleted."""
    uncopied: Mapping[str, str] = field(default_factory=dict)
    """uid of an OperatorCondition -> the resourceVersion of which the API server has refused the copies of its conditions."""
    undeletable: frozenset[str] = frozenset()
    """The uids of objects that the API server refuses to delete, while the BundleDeployment is being deleted."""
    namespace_blockers: Mapping[str, NamespaceBlockers] = field(default_factory=dict)
    """The blockers of each Namespace that is being deleted, by its name."""
    foreign_objects: Mapping[str, ForeignObjects] = field(default_factory=dict)
    """The objects of others in the Namespaces that are deleted with the BundleDeployment, by uid, once they have been listed."""
    usage: Mapping[str, Usage | ApiError] = field(default_factory=dict)
    """The usage of CustomResourceDefinitions and Namespaces that are no longer in the bundle, by uid; an error if it could not
    be read."""
    certificates: Mapping[ObjectKey, ServingCertificate] = field(default_factory=dict)
    """The content of the Secrets with its serving certificates, as far as they exist and were read."""
    endpoint_problems: Mapping[str, str] = field(default_factory=dict)
    """Deployment that the next phase waits for -> the reason why the API server cannot call it yet; empty if it can."""
    refused_since: Mapping[str, datetime] = field(default_factory=dict)
    """Deployment -> the time since which it has refused connections."""
    last_applied: Mapping[ObjectKey, LastApplied] = field(default_factory=dict)
    unhealthy_since: datetime | None = None
    """The time since which a workload has not been healthy; None if all workloads are healthy."""
    pod_problems: Mapping[ObjectKey, Explanation] = field(default_factory=dict)
    """Workload that has been unhealthy for a while -> the reason why its pods do not run, as one sentence."""
    custom_resource_counts: CustomResourceCounts | None = None
    """The last count, made in this pass if it was due; None if this process has made no count."""
    brief_wait_since: datetime | None = None
    """The time since which every pass has ended with a BriefWait; None if the last pass did not."""
    evaluation: Evaluation | None = None
    """The evaluation on which the last stage of reading depended; None if no stage needed an evaluation."""

    @property
    def name(self) -> str:
        """The name of the BundleDeployment."""
        return self.deployment.metadata.name

    @property
    def uid(self) -> str:
        """The uid of the BundleDeployment."""
        return self.deployment.metadata.uid

    @cached_property
    def account(self) -> Account | None:
        """The ServiceAccount as which its objects are applied and deleted; None for rukpak itself. It is that of spec, also for
        an earlier revision."""
        return self.deployment.spec.account()

    @property
    def object_labels(self) -> Mapping[str, str]:
        """The labels that all objects get beside those of the bundle. They are those of spec, also for an earlier revision."""
        return self.deployment.spec.object_labels or {}

    def only_joins(self, namespace: str) -> bool:
        """Report whether the Namespace gets the label of a member and nothing else: with an account, one that exists and that
        rukpak did not create for this BundleDeployment."""
        live = self.namespaces.get(namespace)
        if self.account is None or live is None:
            return False
        return not live.is_created or any(other.is_recorded for other in live.others)

    @cached_property
    def contents(self) -> tuple[RenderedBundle, ...]:
        """The contents that are known."""
        seen = (self.content, self.active_content, self.fallback_content)
        return tuple(content for content in seen if isinstance(content, RenderedBundle))

    @cached_property
    def target(self) -> Target:
        """The Bundle that is installed or kept, and its options."""
        return target_of(self.raw, self.deployment, has_conditions=self.has_operator_conditions)

    @property
    def target_bundle(self) -> str:
        """The name of the Bundle that is installed or kept."""
        return self.target.bundle

    @cached_property
    def fallback(self) -> Revision | None:
        """The revision that a rollback restores if the target fails; None if there is no revision, or if the target has
        succeeded."""
        return fallback_of(self.deployment, self.target)

    @cached_property
    def progress_deadline(self) -> timedelta | None:
        """The time in which the installed objects have to become healthy; None for the deadline of each kind."""
        text = self.deployment.spec.progress_deadline
        return parse_duration(text) if text else None

    def is_later(self, revision: Revision | None) -> bool:
        """Report whether a revision is not the first one: a chart is then rendered for an upgrade. None: one that has not
        begun."""
        return revision.revision > 1 if revision is not None else bool(self.deployment.status.history)

    @cached_property
    def is_first_installation(self) -> bool:
        """True if no revision before that of the target was ever installed."""
        current = self.target.revision
        history = self.deployment.status.history or ()
        return not any(one.installed_at for one in history if current is None or one.revision != current.revision)

    @cached_property
    def takes_templates(self) -> bool:
        """True until the first revision is installed, if objects of others are taken over: a Deployment can keep its pods."""
        history = self.deployment.status.history or ()
        return self.adopts and not any(one.installed_at for one in history)

    @cached_property
    def named_templates(self) -> frozenset[ObjectKey]:
        """The Deployments that the status names, before they are taken over: who may write annotations and entries of field
        managers adds none later."""
        if not self.is_first_installation:
            return frozenset()
        named = self.deployment.status.kept_templates or ()
        return frozenset(map(key_of, named))

    @property
    def unrecorded_templates(self) -> frozenset[ObjectKey]:
        """The Deployments that the status has to name before they are taken over, as far as there is room."""
        is_full = len(self.named_templates) >= MAX_REFERENCES
        return frozenset() if is_full else self.prepared_templates - self.named_templates

    @cached_property
    def kept_templates(self) -> Mapping[ObjectKey, str]:
        """The Deployments whose pods are as they were before they were taken over, with the digests of the templates that were
        left out."""
        found = ((key, member.kept_template) for key, member in sorted(self.owned.items()))
        return {key: noted for key, noted in found if noted and key in self.named_templates}

    def is_left(self, key: ObjectKey) -> bool:
        """Report whether a rollback leaves this CustomResourceDefinition as the failed revision has changed it."""
        return self.target.is_rolled_back and key[:2] == CRD and key in self.owned

    @cached_property
    def installed_revision(self) -> Revision | None:
        """The revision of the active Bundle; None if it was not recorded."""
        status = self.deployment.status
        history = [one for one in revisions_of(self.deployment) if one.revision == status.revision]
        return next((one for one in history if one.bundle == status.active_bundle), None)

    @cached_property
    def installed_options(self) -> InstallOptions:
        """The options with which the active Bundle is installed; the options of the target if they were not recorded."""
        return options_of(self.installed_revision) if self.installed_revision else self.target.options

    @property
    def is_target_active(self) -> bool:
        """True if the target is installed."""
        return self.is_target(self.active_bundle)

    @property
    def is_upgrade(self) -> bool:
        """True if the target is to replace the installed bundle."""
        return self.active_bundle is not None and not self.is_target_active

    def is_target(self, active: str | None) -> bool:
        """Report whether the target is installed, given the active Bundle `active`."""
        is_installed_so = active != self.active_bundle or self.installed_options == self.target.options
        return active == self.target.bundle and is_installed_so

    @property
    def active_bundle(self) -> str | None:
        """The Bundle that is installed."""
        return self.deployment.status.active_bundle

    @cached_property
    def changed_bundles(self) -> tuple[BundleInfo, ...]:
        """Its Bundles whose spec has changed since they were created, sorted by name."""
        template, installed = self.deployment.spec.template.spec, self.deployment.status.installed
        specs = {one.bundle: one.spec for one in self.deployment.status.history or ()}
        specs |= {installed.bundle: installed.spec} if installed is not None else {}
        specs |= {} if self.target.is_rolled_back else {self.target_bundle: template}
        known = ((bundle, specs.get(name)) for name, bundle in sorted(self.bundles.items()))
        return tuple(
            bundle for bundle, spec in known if bundle.spec and spec not in (None, BundleSpec.load(dict(bundle.spec)))
        )

    def record(self, active: str | None) -> BundleRecord | None:
        """The record of an active Bundle, from the Bundle as it was created, else from the status; None if there is no record."""
        bundle = self.bundles.get(active or "")
        if bundle is not None and bundle.digest and bundle not in self.changed_bundles:
            return record_of(bundle)
        recorded = (self.deployment.status.installed, self.derived_record)
        return next((record for record in recorded if record is not None and record.bundle == active), None)

    @property
    def abandoned(self) -> bool:
        """True if objects that cannot be deleted may be left behind."""
        return self.deployment.metadata.annotations.get(ABANDON_ANNOTATION) == "true"

    @property
    def adopts(self) -> bool:
        """True if objects that nobody manages are taken over."""
        return self.deployment.spec.adoption_policy == "IfUnowned"

    @property
    def deletion_policy(self) -> DeletionPolicy:
        """The policy that decides which objects its deletion removes."""
        return self.deployment.spec.deletion_policy or "Cascade"

    @property
    def deletion_hold(self) -> str:
        """The reason why a deletion waits before it deletes anything; empty if it does not wait."""
        return self.deployment.metadata.annotations.get(DELETION_HOLD_ANNOTATION, "")

    @cached_property
    def owned(self) -> Mapping[ObjectKey, LabeledObject]:
        """The labeled objects that we applied. Other objects have a copy of our label; for example, controllers copy a Service's
        labels to Endpoints."""
        manager = manager_name(self.name)
        return {key: member for key, member in self.labeled.items() if manager in member.applied_fields}

    def is_kept(self, entry: LabeledObject) -> bool:
        """Report whether an object stays, without an owner, when it is no longer in the bundle or the bundle is removed."""
        return self.is_kept_by_chart(entry) or self.is_returned(entry)

    def is_kept_by_chart(self, entry: LabeledObject) -> bool:
        """Report whether its chart keeps an object. In bundles of other formats the annotation means nothing."""
        return entry.is_kept and self.deployment.spec.template.spec.provisioner_class_name == HELM

    def is_returned(self, entry: LabeledObject) -> bool:
        """Report whether an object that was there before stays as nobody's."""
        return entry.is_adopted and self.deployment.metadata.annotations.get(KEEP_ADOPTED_ANNOTATION) == "true"

    def is_deleting(self, key: ObjectKey) -> bool:
        """Report whether the object is being deleted."""
        if key[:2] == NAMESPACE:
            namespace = self.namespaces.get(key.name)
            return namespace is not None and namespace.deletion_timestamp is not None
        member = self.labeled.get(key)
        return member is not None and member.deletion_timestamp is not None
