"""BundleDeployment: a bundle to install and keep installed. Reconciled by rukpak.bundledeployment. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, WithJsonSchema

from olmkit.api.bundles import IMAGE_BY_DIGEST_ANNOTATION, RESOLVED_SOURCE_ANNOTATION, BundleSpec
from olmkit.api.content import ResolvedSource
from olmkit.api.deployed_objects import Announcement, FailedObjects, ObjectReference
from olmkit.api.deployment_config import DeploymentConfig
from olmkit.api.described_enum import DescribedEnum
from olmkit.api.impersonation import Account
from olmkit.api.install_settings import INSTALL_NAMESPACE_DESCRIPTION, InstallNamespace, InstallSettings, account_rule
from olmkit.api.meta import ConditionedStatus, Kind, Model, Resource, without_nulls
from olmkit.api.operator_condition_names import NOT_UPGRADEABLE
from olmkit.api.patterns import OBJECT_NAME
from olmkit.api.permissions import MissingPermissions
from olmkit.api.provisioner_classes import PROVISIONER_PATTERN

KIND = Kind("core.rukpak.io", "v1alpha1", "BundleDeployment", "bundledeployments")
MAX_NAME_LENGTH = 45
FINALIZER = "core.rukpak.io/remove-objects"
"""The finalizer of a BundleDeployment: its installed objects are deleted before it."""

OWNER_UID_LABEL = "core.rukpak.io/owner-uid"
"""The label of every installed object; the value is the uid of its BundleDeployment."""
MEMBER_LABEL_PREFIX = "member.core.rukpak.io/"
"""The prefix of a label of a Namespace, followed by the uid of a BundleDeployment that installs into it; the value is "true"."""
KEEP_ANNOTATION = "core.rukpak.io/keep"
"""The annotation of a Namespace that is kept when its last BundleDeployment is deleted, although rukpak created it; the value is
"true"."""
RELEASED_ANNOTATION = "core.rukpak.io/released"
"""The annotation of a CRD or Namespace that is no longer in its bundle and was kept because it was in use; the value is the
BundleDeployment that had it. A BundleDeployment with such a CRD in its bundle takes it over."""
ADOPTED_ANNOTATION = "core.rukpak.io/adopted"
"""The annotation of an object that was there before its BundleDeployment, which has taken it over with adoptionPolicy IfUnowned;
the value is the BundleDeployment."""
KEEP_ADOPTED_ANNOTATION = "core.rukpak.io/keep-adopted"
"""The annotation of a BundleDeployment whose deletion keeps what was there before it took it over: these objects, the custom
resources of such a CRD, and their Namespaces; the value is "true". `olm bundle cleanup` sets it."""
INVENTORY_ANNOTATION = "core.rukpak.io/contains-group-kinds"
"""The annotation of a BundleDeployment that lists `Kind.group` of everything it may have installed, sorted, comma-separated.

Extended before an installation, reduced after it.
"""
KEEP_TEMPLATE_ANNOTATION = "core.rukpak.io/keep-template"
"""The annotation of a Deployment that is taken over with adoptionPolicy IfUnowned in the first installation, and whose pods are
not replaced by that: its pod template stays as it is until the bundle has another one for it. rukpak replaces the value by a
digest."""
COUNT_ANNOTATION = "core.rukpak.io/count-custom-resources"
"""The annotation of a BundleDeployment whose custom resources are counted. Each new value requests a new count;
status.lastHandledCount has the value for which the counts were made."""
MAX_COUNT_REQUEST_LENGTH = 1024
"""Characters of the annotation that are compared and reported."""
ABANDON_ANNOTATION = "core.rukpak.io/abandon"
"""The annotation of a BundleDeployment that is being deleted; if it is "true", objects that cannot be deleted are left behind."""
DELETION_HOLD_ANNOTATION = "core.rukpak.io/deletion-hold"
"""The annotation of a BundleDeployment whose deletion waits: while the value is not empty, nothing is deleted, and the status
reports the value, which is the reason."""
MAX_REFERENCES = 200
"""Objects that a list of the status names: a larger status could not be stored."""
MAX_LOSSES = 20
"""Entries of status.losses."""
MAX_DELETION_HOLD_LENGTH = 1024
"""Characters of the annotation that are reported."""
MAX_COUNTED_CUSTOM_RESOURCES = 10_000
"""Custom resources of one kind that are counted."""
MAX_COUNT_MESSAGE_BYTES = 1024
CERTIFICATE_ANNOTATION = "core.rukpak.io/certificate-digest"
"""The annotation with the digest of a serving certificate: of its Secret, and of the pods that were started with it."""
AUTHORITIES_ANNOTATION = "core.rukpak.io/certificate-authorities-digest"
"""The annotation of a Secret with the digest of the certificate authorities that clients of its certificate trust."""
NOT_AFTER_ANNOTATION = "core.rukpak.io/certificate-not-after"
"""The annotation of a Secret with the time at which its serving certificate expires."""
ROTATION_ANNOTATION = "core.rukpak.io/certificate-rotation"
"""The annotation of a Secret with the last step of the rotation of its serving certificate, while that is in progress."""
MAX_VALUES_FROM = 32
"""Secrets and ConfigMaps with values of one chart."""
MAX_REVISIONS = 5
"""Revisions in the status."""
MAX_OLDER_INSTALL_BYTES = 256 * 1024
"""The texts of how older revisions than the newest were installed, all together: the API server stores objects of 1.5 MiB."""
MAX_REVISION_REASON_BYTES = 1024
MAX_UPGRADE_HOLD_BYTES = 1024
TEMPLATE_HASH_LABEL = "core.rukpak.io/bundle-template-hash"
"""The label of a Bundle with the hash of the template that it was created from."""
OWNER_KIND_LABEL = "core.rukpak.io/owner-kind"
"""The label of a Bundle with the kind of the object that created it: BundleDeployment."""
OWNER_NAME_LABEL = "core.rukpak.io/owner-name"
"""The label of a Bundle with the name of the object that created it."""

ANNOTATION_PREFIX = "operators.operatorframework.io/"
PACKAGE_ANNOTATION = ANNOTATION_PREFIX + "package"
"""The annotation of a Bundle with its package. This annotation and the next five are set by the Operator in the template."""
BUNDLE_NAME_ANNOTATION = ANNOTATION_PREFIX + "bundle-name"
"""The name of the bundle in its catalog."""
VERSION_ANNOTATION = ANNOTATION_PREFIX + "bundle-version"
"""The version of the bundle."""
CATALOG_ANNOTATION = ANNOTATION_PREFIX + "catalog"
"""The Catalog that the bundle came from."""
CHANNEL_ANNOTATION = ANNOTATION_PREFIX + "channel"
"""The channel that the bundle was chosen from."""
PROPERTIES_ANNOTATION = ANNOTATION_PREFIX + "properties"
"""JSON array of the bundle's olm.gvk and dependency properties: {type, value}."""
PLANNED_BUNDLE_ANNOTATION = ANNOTATION_PREFIX + "planned-bundle"
"""The annotation of a BundleDeployment that moves together with others: JSON of the bundle that it is to have, and of the set. It
is there before the first step of the set, until this one has its bundle."""
RECORDED_ANNOTATIONS: Mapping[str, str] = {
    "name": BUNDLE_NAME_ANNOTATION,
    "version": VERSION_ANNOTATION,
    "package": PACKAGE_ANNOTATION,
    "catalog": CATALOG_ANNOTATION,
    "channel": CHANNEL_ANNOTATION,
    "properties": PROPERTIES_ANNOTATION,
}
"""Field of a BundleRecord -> annotation of the Bundle."""


VALUES_SCHEMA = {
    "x-kubernetes-preserve-unknown-fields": True,
    "description": "Values of a Helm chart: an object, or a string of YAML. A value that is null removes a default of the chart.",
}


VALUES_RULE = "!has(self.serviceAccount) || !has(self.config) || !has(self.config.valuesFrom)"
VALUES_WITH_ACCOUNT = (
    "config.valuesFrom names objects of the suite's namespace, which an installation with serviceAccount may not read: use"
    " config.values"
)


class ConditionType(DescribedEnum):
    """The condition types of a BundleDeployment. Stalled is the only one with negative polarity."""

    HAS_VALID_BUNDLE = "HasValidBundle", "the desired bundle is unpacked"
    INSTALLED = "Installed", "a bundle is installed: activeBundle, possibly an older one than desired"
    HEALTHY = "Healthy", "the installed objects are healthy"
    READY = "Ready", "the desired bundle is installed and healthy; kstatus"
    RECONCILING = "Reconciling", "work is in progress or will be retried; present only while True"
    STALLED = "Stalled", "requires a change by a user; present only while True"


class Reason(DescribedEnum):
    """The reasons of the conditions."""

    UNPACK_PENDING = "UnpackPending", "HasValidBundle False: the Bundle is being unpacked"
    UNPACK_FAILED = "UnpackFailed", "HasValidBundle False: the message is that of the Bundle"
    UNPACK_SUCCESSFUL = "UnpackSuccessful", "HasValidBundle True"
    BUNDLE_LOAD_FAILED = "BundleLoadFailed", "HasValidBundle False: unpacked, but it cannot be installed as it is"
    INVALID_CONFIGURATION = (
        "InvalidConfiguration",
        "HasValidBundle False: unpacked, but it cannot be installed as spec says, which has to be changed",
    )
    INSTALLATION_SUCCEEDED = "InstallationSucceeded", "Installed True"
    INSTALL_PENDING = "InstallPending", "Installed Unknown: not attempted yet"
    INSTALL_FAILED = "InstallFailed", "Installed False: nothing is installed and the attempt failed"
    INSTALLING = "Installing", "Installed False, Ready False: the first installation is in progress; Reconciling True"
    UPGRADING = "Upgrading", "Ready False, Reconciling True: between the first and the last object of another bundle"
    HEALTHY = "Healthy", "Healthy True"
    PROGRESSING = "Progressing", "Healthy Unknown, Ready False, Reconciling True: a rollout"
    UNHEALTHY = (
        "Unhealthy",
        "Healthy False, Stalled True: objects failed, or exceeded their deadline; the message names them",
    )
    INSTALLATION_STATUS_FALSE = "InstallationStatusFalse", "Healthy False: nothing is installed"
    OBJECT_LOOKUP_FAILURE = "ObjectLookupFailure", "Healthy Unknown: the objects cannot be read"
    SUCCEEDED = "Succeeded", "Ready True"
    RETRYING = (
        "Retrying",
        "Reconciling True: the last attempt failed and is retried; Ready False too if nothing is installed or it is broken",
    )
    REMOVING = "Removing", "Reconciling True: being deleted; the message names what remains"
    DELETION_HELD = "DeletionHeld", "Reconciling True, Ready False: being deleted, which an annotation holds"
    WAITING_FOR_KIND = (
        "WaitingForKind",
        "Reconciling True: the cluster does not have a kind that the bundle requires, or is older than it requires",
    )
    WAITING_FOR_WEBHOOK = (
        "WaitingForWebhook",
        "Reconciling True: the webhook that guards Bundles does not answer, so that no Bundle is created; or the webhooks are "
        "missing that guard who names a ServiceAccount",
    )
    WAITING_FOR_SERVICE_ACCOUNT = (
        "WaitingForServiceAccount",
        "Reconciling True: the ServiceAccount that spec names does not exist",
    )
    OPERATOR_CONDITION_NOT_UPGRADEABLE = (
        NOT_UPGRADEABLE,
        "Ready False, Reconciling True: the OperatorCondition of the installed bundle permits no upgrade; see upgradeHold",
    )
    ROLLING_BACK = (
        "RollingBack",
        "Ready False, Reconciling True: a revision failed, and the last good one is being brought back",
    )
    ROLLED_BACK = (
        "RolledBack",
        "Ready False, Stalled True: what spec asks for failed, and the last good revision is installed",
    )
    BLOCKED = "Blocked", "Stalled True, Ready False; HasValidBundle False: the Bundle cannot be created"


class TemplateMeta(Model):
    """Labels and annotations of the Bundle."""

    labels: dict[str, str] | None = Field(default=None, description="Labels of the Bundle.")
    annotations: dict[str, str] | None = Field(default=None, description="Annotations of the Bundle.")


class BundleTemplate(Model):
    """The Bundle to create. Each change creates another Bundle; the previous one stays until the new one is installed."""

    metadata: TemplateMeta | None = Field(default=None, description="Labels and annotations of the Bundle.")
    spec: BundleSpec = Field(description="Spec of the Bundle.")


class ValuesFrom(Model):
    """Values of a chart in a Secret or ConfigMap of the suite's namespace."""

    kind: Literal["Secret", "ConfigMap"] = Field(description="Kind of the object.")
    name: Annotated[str, Field(max_length=253, pattern=OBJECT_NAME)] = Field(
        description="Name of the object, in the suite's namespace."
    )
    key: Annotated[str, Field(min_length=1, max_length=253)] | None = Field(
        default=None, description="Key whose value is a YAML mapping of values. Default: values.yaml."
    )
    optional: bool | None = Field(default=None, description="Whether the object or its key may be missing.")


class BundleDeploymentConfig(DeploymentConfig):
    """Changes of the operator's Deployments, or the values of a Helm chart."""

    values: Annotated[Any, WithJsonSchema(VALUES_SCHEMA)] = None
    values_from: Annotated[list[ValuesFrom], Field(max_length=MAX_VALUES_FROM)] | None = Field(
        default=None,
        description=(
            "More values of a Helm chart, in Secrets and ConfigMaps of the suite's namespace. Later ones win, and values win over"
            " all of them. A change of one is applied."
        ),
    )

    def dump(self) -> dict[str, Any]:
        """The object as a mapping for JSON. Values keep what is null, which removes a default of the chart."""
        return {**super().dump(), **({"values": self.values} if self.values is not None else {})}


class BundleDeploymentSpec(InstallSettings):
    """Desired state."""

    model_config = ConfigDict(json_schema_extra=account_rule("installNamespace"))

    provisioner_class_name: Annotated[str, Field(max_length=63, pattern=PROVISIONER_PATTERN)] = Field(
        description="The installer: core-rukpak-io-plain, or core-rukpak-io-helm for a Helm chart."
    )
    template: BundleTemplate = Field(description="The Bundle to create and install.")
    config: BundleDeploymentConfig | None = Field(
        default=None, description="Changes of the operator's Deployments, or the values of a Helm chart."
    )
    install_namespace: InstallNamespace | None = Field(default=None, description=INSTALL_NAMESPACE_DESCRIPTION)

    def account(self) -> Account | None:
        """The ServiceAccount with its namespace; None if there is none."""
        named = self.service_account
        return Account(named.namespace or self.install_namespace or "", named.name) if named is not None else None


class BundleRecord(Model):
    """The installed bundle: what is needed to create its Bundle again, and to choose other versions while the Bundle is
    missing."""

    bundle: str = Field(description="The name of the Bundle: activeBundle.")
    name: str | None = Field(default=None, description="Name of the bundle in its catalog.")
    version: str | None = Field(default=None, description="Its version.")
    package: str | None = Field(default=None, description="Its package.")
    catalog: str | None = Field(default=None, description="The Catalog that it came from.")
    channel: str | None = Field(default=None, description="The channel it was chosen from.")
    properties: str | None = Field(
        default=None, description="JSON array of the properties that it provides and requires: {type, value}."
    )
    image: str | None = Field(default=None, description="Its image by digest.")
    resolved_source: ResolvedSource | None = Field(
        default=None,
        description="The source that it was read from, if that is no image: status.resolvedSource of the Bundle.",
    )
    spec: BundleSpec = Field(description="Spec of the Bundle.")

    def annotations(self) -> dict[str, str]:
        """The annotations of the Bundle that describe it; unknown values are omitted."""
        return {name: value for field, name in RECORDED_ANNOTATIONS.items() if (value := getattr(self, field))}

    def resolved(self) -> dict[str, Any]:
        """The source that its content was read from, as in status.resolvedSource of the Bundle; empty if it is not known."""
        if self.image:
            return {"type": "image", "image": {"ref": self.image}}
        return self.resolved_source.dump() if self.resolved_source is not None else {}

    def pin(self) -> dict[str, str]:
        """The annotation with which the Bundle is created again with this content; empty if that is not known."""
        if self.image:
            return {IMAGE_BY_DIGEST_ANNOTATION: self.image}
        resolved = self.resolved()
        text = json.dumps(resolved, sort_keys=True, separators=(",", ":"))
        return {RESOLVED_SOURCE_ANNOTATION: text} if resolved else {}


class RevisionOutcome(DescribedEnum):
    """The outcome of a revision."""

    IN_PROGRESS = "InProgress", "its objects are being applied, or are not healthy yet"
    SUCCEEDED = "Succeeded", "all its objects were applied and healthy; what happened later is in the conditions"
    FAILED = (
        "Failed",
        "it was rejected, or not healthy in time; it becomes Succeeded if its objects become healthy later",
    )
    ROLLING_BACK = "RollingBack", "it failed, and the last revision that had succeeded is being brought back"
    ROLLED_BACK = "RolledBack", "it failed, and the last revision that had succeeded was brought back"
    SUPERSEDED = "Superseded", "another revision began before it had succeeded"


class Revision(BundleRecord):
    """A Bundle that was installed, or was to be, and how."""

    revision: Annotated[int, Field(ge=1)] = Field(
        description="Its number; each revision has a higher one than those before."
    )
    install: str = Field(description="JSON of the fields of spec that said how to install it.")
    outcome: RevisionOutcome = Field(description="What became of it.")
    reason: Annotated[str, Field(max_length=MAX_REVISION_REASON_BYTES)] | None = Field(
        default=None, description="Why it failed."
    )
    asked: str | None = Field(
        default=None,
        description="Digest of what spec asked for when it was rolled back. It is tried again when spec asks for something else.",
    )
    operator_condition: Annotated[str, Field(max_length=317)] | None = Field(
        default=None,
        description=(
            "Its OperatorCondition, as <namespace>/<name>. Absent if it has none: the cluster did not have that kind when the"
            " revision began, or its bundle has no ClusterServiceVersion."
        ),
    )
    started_at: str = Field(description="When it began.", json_schema_extra={"format": "date-time"})
    installed_at: str | None = Field(
        default=None, description="When all its objects were applied.", json_schema_extra={"format": "date-time"}
    )
    finished_at: str | None = Field(
        default=None, description="When its outcome was known.", json_schema_extra={"format": "date-time"}
    )


PermittingField = Literal["adoptionPolicy", "crdUpgradeSafety.ignoredRules"]
"""A field of spec by which a person permits what is refused otherwise."""


class UpgradeHold(Model):
    """An OperatorCondition that permits no upgrade."""

    operator_condition: Annotated[str, Field(max_length=317)] = Field(
        description="The OperatorCondition of the installed bundle, as <namespace>/<name>."
    )
    message: Annotated[str, Field(max_length=MAX_UPGRADE_HOLD_BYTES)] = Field(description="The reason.")

    @property
    def sentence(self) -> str:
        """The reason with the name of the object, for messages."""
        return f"OperatorCondition {self.operator_condition}: {self.message}"


class RejectedBundle(Model):
    """A bundle that this version of rukpak does not install on any cluster."""

    image: str = Field(description="Its image by digest.")
    message: str = Field(description="The reason.")


class CustomResourceCount(Model):
    """The custom resources of one CRD of a BundleDeployment, without those that it applied itself."""

    group: str = Field(description="API group.")
    kind: str = Field(description="Kind.")
    plural: str | None = Field(default=None, description="Plural name of the kind, as in the name of its CRD.")
    count: Annotated[int, Field(ge=0)] | None = Field(
        default=None,
        description=(
            "Number of custom resources, without those that this BundleDeployment applied itself. Absent if they could not be"
            " counted: there may be any number of them."
        ),
    )
    truncated: bool | None = Field(
        default=None,
        description=f"True if counting stopped at {MAX_COUNTED_CUSTOM_RESOURCES}: there are at least that many.",
    )
    message: Annotated[str, Field(max_length=MAX_COUNT_MESSAGE_BYTES)] | None = Field(
        default=None, description="Why they could not be counted."
    )


class CreatedNamespace(Model):
    """A Namespace that rukpak created."""

    name: str = Field(description="Name.")
    uid: str | None = Field(default=None, description="Its uid. Absent while it is about to be created.")


class Loss(Model):
    """An object that another client deleted, with what it held."""

    kind: Literal["CustomResourceDefinition", "Namespace"] = Field(description="Kind of the object that was deleted.")
    name: str = Field(description="Name of the object that was deleted.")
    custom_resources: Annotated[int, Field(ge=0)] | None = Field(
        default=None,
        description=(
            "Number of custom resources of the CustomResourceDefinition when they were last counted. Absent if they were not."
        ),
    )

    @property
    def sentence(self) -> str:
        """The sentence that names what was lost, for messages."""
        what = "everything that was in it" if self.kind == "Namespace" else "all its custom resources"
        counted = f" ({self.custom_resources} when they were last counted)" if self.custom_resources else ""
        return f"{self.kind} {self.name} was deleted by another client, and with it {what}{counted}; it was created again, empty"


class BundleDeploymentStatus(ConditionedStatus):
    """Observed state."""

    active_bundle: str | None = Field(default=None, description="The Bundle that is installed.")
    installed: BundleRecord | None = Field(
        default=None, description="Details of the active Bundle, written together with activeBundle."
    )
    applied_digest: str | None = Field(
        default=None,
        description=(
            "Digest of the installed objects as they were applied: a new process that finds them so applies nothing again."
            " Absent while they are being changed."
        ),
    )
    revision: int | None = Field(default=None, description="The revision that is installed.")
    history: Annotated[list[Revision], Field(max_length=MAX_REVISIONS)] | None = Field(
        default=None,
        description=(
            f"The last {MAX_REVISIONS} revisions, the newest first, or fewer if their configs are large; of older ones the last"
            " that succeeded is kept. Properties are in the revision that a rollback may need only."
        ),
    )
    refused: RejectedBundle | None = Field(
        default=None, description="The wanted bundle, if this version of rukpak cannot install it on any cluster."
    )
    upgrade_hold: UpgradeHold | None = Field(
        default=None,
        description=(
            "Why the installed bundle is not replaced with another one. Absent if its OperatorCondition permits that, or if it"
            " has none. The first installation, a rollback, a change of other fields and the deletion are never held."
        ),
    )
    install_namespace: str | None = Field(default=None, description="The namespace in which it is installed.")
    created_namespaces: list[CreatedNamespace] | None = Field(
        default=None,
        description=(
            "The Namespaces that it installs into and that rukpak created, for it or for another BundleDeployment. Such a"
            f" Namespace is deleted with its last BundleDeployment, with everything in it, unless it has the annotation"
            f" {KEEP_ANNOTATION}."
        ),
    )
    left_out: list[ObjectReference] | None = Field(
        default=None,
        description=(
            "Objects that are not applied because the cluster does not have their kind. They are applied when it appears."
            f" At most {MAX_REFERENCES}, sorted."
        ),
    )
    left_out_truncated: bool | None = Field(default=None, description="True if more objects are left out.")
    kept_templates: list[ObjectReference] | None = Field(
        default=None,
        description=(
            "Deployments whose pods are as they were before it took them over, because of the annotation"
            f" {KEEP_TEMPLATE_ANNOTATION}. Their pod templates are neither applied nor repaired until the bundle has other ones."
            f" At most {MAX_REFERENCES}, sorted."
        ),
    )
    released: list[ObjectReference] | None = Field(
        default=None,
        description=(
            "Objects that are not in the bundle any more and were kept because they are in use. They are not managed."
            f" At most {MAX_REFERENCES}, sorted."
        ),
    )
    released_truncated: bool | None = Field(default=None, description="True if more objects were kept.")
    failed: FailedObjects | None = Field(
        default=None,
        description=(
            "The objects because of which Healthy is False with the reason Unhealthy, without those that others change"
            " repeatedly. An object that is in it counts as failed until it is healthy, also while its kind cannot be listed: it"
            " has no second deadline."
        ),
    )
    announced: Announcement | None = Field(
        default=None,
        description="What Ready announces: it cannot be undone, and is done once it is announced.",
    )
    losses: Annotated[list[Loss], Field(max_length=MAX_LOSSES)] | None = Field(
        default=None,
        description=(
            "CustomResourceDefinitions and Namespaces that another client deleted, and with them what they held, since spec"
            " changed last; the newest first. They were created again."
        ),
    )
    missing_permissions: MissingPermissions | None = Field(
        default=None,
        description=(
            "The permissions that the account of spec.serviceAccount lacks to install the bundle, or to remove what is installed,"
            " all at once. Nothing is applied or deleted before it has them."
        ),
    )
    refused_pods: list[ObjectReference] | None = Field(
        default=None,
        description=(
            "Workloads whose pods the API server refuses to create, such as for a PriorityClass that does not exist, a quota or"
            f" the security level of the namespace. At most {MAX_REFERENCES}, sorted."
        ),
    )
    permitted_by: Annotated[list[PermittingField], Field(max_length=2)] | None = Field(
        default=None,
        description=(
            "The fields of spec that would permit what is refused. Absent if nothing is refused, or if it takes more than that."
        ),
    )
    custom_resources: list[CustomResourceCount] | None = Field(
        default=None,
        description=(
            "The custom resources of each CRD that the BundleDeployment installed. Present while the annotation"
            f" {COUNT_ANNOTATION} requests it, or while the BundleDeployment is being deleted."
        ),
    )
    last_handled_count: Annotated[str, Field(max_length=MAX_COUNT_REQUEST_LENGTH)] | None = Field(
        default=None,
        description=(
            f"Value of the annotation {COUNT_ANNOTATION} for which customResources was counted, written together with it: the"
            " count began after the annotation was set. A CRD that is not in customResources was not installed then."
        ),
    )


class BundleDeployment(Resource):
    """A bundle to install and keep installed."""

    spec: BundleDeploymentSpec
    status: BundleDeploymentStatus = Field(default_factory=BundleDeploymentStatus)


_OTHER_FIELDS = ("provisionerClassName", "template")


def install_fields(raw: dict[str, Any]) -> dict[str, Any]:
    """The fields of spec of a BundleDeployment as read that say how its bundle is installed."""
    spec = {field.alias for field in BundleDeploymentSpec.model_fields.values()}
    return {
        name: with_values(without_nulls(value), value)
        for name, value in raw["spec"].items()
        if name in spec and name not in _OTHER_FIELDS and value is not None
    }


def with_values(stripped: Any, value: Any) -> Any:
    """A field of spec that was stripped of what is null, with the values of a chart as they are: null removes a default there."""
    values = value.get("values") if isinstance(value, dict) else None
    return {**stripped, "values": values} if values is not None else stripped


def template_spec(raw: dict[str, Any]) -> dict[str, Any]:
    """spec.template.spec of a BundleDeployment as read, unchanged."""
    template: dict[str, Any] = raw["spec"]["template"]["spec"]
    return template
