"""BundleDeployment: a bundle to install and keep installed. Reconciled by rukpak.bundledeployment. Pure."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, WithJsonSchema

from olmkit.api.bundle_annotations import ANNOTATION_PREFIX
from olmkit.api.bundledeployment_status import BundleDeploymentStatus
from olmkit.api.bundles import BundleSpec
from olmkit.api.deployment_config import DeploymentConfig
from olmkit.api.described_enum import DescribedEnum
from olmkit.api.impersonation import Account
from olmkit.api.install_settings import INSTALL_NAMESPACE_DESCRIPTION, InstallNamespace, InstallSettings, install_rules
from olmkit.api.meta import Kind, Model, Resource, without_nulls
from olmkit.api.operator_condition_names import NOT_UPGRADEABLE
from olmkit.api.patterns import OBJECT_NAME
from olmkit.api.provisioner_classes import PROVISIONER_PATTERN
from olmkit.gocompat.json_depth import MAX_LEVELS, is_deeper

KIND = Kind("core.rukpak.io", "v1alpha1", "BundleDeployment", "bundledeployments")
MAX_NAME_LENGTH = 45
FINALIZER = "core.rukpak.io/remove-objects"
"""The finalizer of a BundleDeployment: its installed objects are deleted before it."""

OWNER_UID_LABEL = "core.rukpak.io/owner-uid"
"""The label of every installed object; the value is the uid of its BundleDeployment."""
MEMBER_LABEL_PREFIX = "member.core.rukpak.io/"
"""The prefix of a label of a Namespace, followed by the uid of a BundleDeployment that installs into it; the value is "true"."""
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
ABANDON_ANNOTATION = "core.rukpak.io/abandon"
"""The annotation of a BundleDeployment that is being deleted; if it is "true", objects that cannot be deleted are left behind."""
DELETION_HOLD_ANNOTATION = "core.rukpak.io/deletion-hold"
"""The annotation of a BundleDeployment whose deletion waits: while the value is not empty, nothing is deleted, and the status
reports the value, which is the reason."""
MAX_DELETION_HOLD_LENGTH = 1024
"""Characters of the annotation that are reported."""
CERTIFICATE_ANNOTATION = "core.rukpak.io/certificate-digest"
"""The annotation with the digest of a serving certificate: of its Secret, and of the pods that were started with it."""
AUTHORITIES_ANNOTATION = "core.rukpak.io/certificate-authorities-digest"
"""The annotation of a Secret with the digest of the certificate authorities that clients of its certificate trust."""
NOT_AFTER_ANNOTATION = "core.rukpak.io/certificate-not-after"
"""The annotation of a Secret with the time at which its serving certificate expires."""
LABELS_ANNOTATION = "core.rukpak.io/object-labels-digest"
"""The annotation of a Secret with the digest of the objectLabels that it has; absent if it has none."""
ROTATION_ANNOTATION = "core.rukpak.io/certificate-rotation"
"""The annotation of a Secret with the last step of the rotation of its serving certificate, while that is in progress."""
MAX_VALUES_FROM = 32
"""Secrets and ConfigMaps with values of one chart."""
TEMPLATE_HASH_LABEL = "core.rukpak.io/bundle-template-hash"
"""The label of a Bundle with the hash of the template that it was created from."""
OWNER_KIND_LABEL = "core.rukpak.io/owner-kind"
"""The label of a Bundle with the kind of the object that created it: BundleDeployment."""
OWNER_NAME_LABEL = "core.rukpak.io/owner-name"
"""The label of a Bundle with the name of the object that created it."""

PLANNED_BUNDLE_ANNOTATION = ANNOTATION_PREFIX + "planned-bundle"
"""The annotation of a BundleDeployment that moves together with others: JSON of the bundle that it is to have, and of the set. It
is there before the first step of the set, until this one has its bundle."""


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
    WAITING_FOR_NAMESPACE = (
        "WaitingForNamespace",
        "Reconciling True: a namespace that spec names does not exist, or is being deleted, and namespacePolicy is MustExist",
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

    model_config = ConfigDict(json_schema_extra=install_rules("installNamespace"))

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


class BundleDeployment(Resource):
    """A bundle to install and keep installed."""

    spec: BundleDeploymentSpec
    status: BundleDeploymentStatus = Field(default_factory=BundleDeploymentStatus)


_OTHER_FIELDS = ("provisionerClassName", "template")


def install_fields(raw: dict[str, Any]) -> dict[str, Any]:
    """The fields of spec of a BundleDeployment as read that say how its bundle is installed. A config that nests too deep is
    empty."""
    spec = {field.alias for field in BundleDeploymentSpec.model_fields.values()}
    return {
        name: with_values(without_nulls(value), value) if not is_deeper(value, MAX_LEVELS) else {}
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
