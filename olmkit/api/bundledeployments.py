"""BundleDeployment: a bundle that is to be installed and kept installed. Reconciled by rukpak (install). Pure."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field

from olmkit.api.bundles import PROVISIONER_PATTERN, BundleSpec
from olmkit.api.meta import ConditionedStatus, Kind, Model, Resource

KIND = Kind("core.rukpak.io", "v1alpha1", "BundleDeployment", "bundledeployments")
MAX_NAME_LENGTH = 45
FINALIZER = "core.rukpak.io/remove-objects"

OWNER_UID_LABEL = "core.rukpak.io/owner-uid"
"""On every installed object: uid of its BundleDeployment."""
MEMBER_LABEL_PREFIX = "member.core.rukpak.io/"
"""On a Namespace, followed by the uid of a BundleDeployment that installs into it; value "true"."""
CREATED_LABEL = "core.rukpak.io/created"
"""On a Namespace that rukpak made; value "true"."""
INVENTORY_ANNOTATION = "core.rukpak.io/contains-group-kinds"
"""On a BundleDeployment: sorted, comma-separated `Kind.group` of all it may have installed; grown before, shrunk after."""
TEMPLATE_HASH_LABEL = "core.rukpak.io/bundle-template-hash"
OWNER_KIND_LABEL = "core.rukpak.io/owner-kind"
OWNER_NAME_LABEL = "core.rukpak.io/owner-name"

ANNOTATION_PREFIX = "operators.operatorframework.io/"
PACKAGE_ANNOTATION = ANNOTATION_PREFIX + "package"
BUNDLE_NAME_ANNOTATION = ANNOTATION_PREFIX + "bundle-name"
VERSION_ANNOTATION = ANNOTATION_PREFIX + "bundle-version"
CATALOG_ANNOTATION = ANNOTATION_PREFIX + "catalog"
CHANNEL_ANNOTATION = ANNOTATION_PREFIX + "channel"
PROPERTIES_ANNOTATION = ANNOTATION_PREFIX + "properties"
"""JSON array of the bundle's olm.gvk and dependency properties: {type, value}."""
RECORDED_ANNOTATIONS: Mapping[str, str] = {
    "name": BUNDLE_NAME_ANNOTATION,
    "version": VERSION_ANNOTATION,
    "package": PACKAGE_ANNOTATION,
    "catalog": CATALOG_ANNOTATION,
    "channel": CHANNEL_ANNOTATION,
    "properties": PROPERTIES_ANNOTATION,
}
"""Field of a BundleRecord -> annotation of the Bundle."""


class ConditionType(StrEnum):
    """The aspects of a BundleDeployment. All are positive but Stalled."""

    HAS_VALID_BUNDLE = "HasValidBundle"  # the wanted bundle is unpacked
    INSTALLED = "Installed"  # a bundle is installed: activeBundle, perhaps an older one than wanted
    HEALTHY = "Healthy"  # what is installed is well
    READY = "Ready"  # the wanted bundle is installed and well; kstatus
    RECONCILING = "Reconciling"  # work is under way or will be tried again; present only while True
    STALLED = "Stalled"  # only a person can help; present only while True


class Reason(StrEnum):
    """Why a condition is as it is."""

    UNPACK_PENDING = "UnpackPending"  # HasValidBundle False: the Bundle is being unpacked
    UNPACK_FAILED = "UnpackFailed"  # HasValidBundle False: the message is the Bundle's
    UNPACK_SUCCESSFUL = "UnpackSuccessful"  # HasValidBundle True
    BUNDLE_LOAD_FAILED = "BundleLoadFailed"  # HasValidBundle False: unpacked, but it cannot be installed as it is
    INSTALLATION_SUCCEEDED = "InstallationSucceeded"  # Installed True
    INSTALL_PENDING = "InstallPending"  # Installed Unknown: not attempted yet
    INSTALL_FAILED = "InstallFailed"  # Installed False: nothing is installed and the attempt failed
    INSTALLING = "Installing"  # Installed False: the first installation is under way; Reconciling True
    UPGRADING = "Upgrading"  # Ready False, Reconciling True: between the first and the last object of another bundle
    HEALTHY = "Healthy"  # Healthy True
    PROGRESSING = "Progressing"  # Healthy Unknown, Ready False, Reconciling True: an ordinary rollout
    UNHEALTHY = (
        "Unhealthy"  # Healthy False, Stalled True: objects failed, or exceeded their deadline; the message names them
    )
    INSTALLATION_STATUS_FALSE = "InstallationStatusFalse"  # Healthy False: nothing is installed
    OBJECT_LOOKUP_FAILURE = "ObjectLookupFailure"  # Healthy Unknown: the objects cannot be seen
    SUCCEEDED = "Succeeded"  # Ready True
    NOT_INSTALLED = "NotInstalled"  # Ready False
    RETRYING = "Retrying"  # Reconciling True: the last attempt failed and is made again
    REMOVING = "Removing"  # Reconciling True: being deleted; the message names what is left
    WAITING_FOR_KIND = "WaitingForKind"  # Reconciling True: the cluster lacks a kind that the bundle needs
    BLOCKED = "Blocked"  # Stalled True


class TemplateMeta(Model):
    """Labels and annotations for the Bundle."""

    labels: dict[str, str] | None = Field(default=None, description="Labels of the Bundle.")
    annotations: dict[str, str] | None = Field(default=None, description="Annotations of the Bundle.")


class BundleTemplate(Model):
    """The Bundle to be made. Any change makes another Bundle; the one before stays until the new one is installed."""

    metadata: TemplateMeta | None = Field(default=None, description="Labels and annotations of the Bundle.")
    spec: BundleSpec = Field(description="Spec of the Bundle.")


class BundleDeploymentSpec(Model):
    """What is to be installed."""

    provisioner_class_name: Annotated[str, Field(max_length=63, pattern=PROVISIONER_PATTERN)] = Field(
        description="Who installs: core-rukpak-io-plain."
    )
    template: BundleTemplate = Field(description="The Bundle to be made and installed.")


class ObjectReference(Model):
    """An object that is not installed because the cluster lacks its kind; it is applied as soon as the kind is there."""

    group: str = Field(description="API group.")
    kind: str = Field(description="Kind.")
    namespace: str | None = Field(default=None, description="Namespace.")
    name: str = Field(description="Name.")


class BundleRecord(Model):
    """What is installed, as far as its Bundle has to be made again and other versions chosen without it."""

    bundle: str = Field(description="The Bundle that this is the record of: activeBundle.")
    name: str | None = Field(default=None, description="Name of the bundle in its catalog.")
    version: str | None = Field(default=None, description="Its version.")
    package: str | None = Field(default=None, description="Its package.")
    catalog: str | None = Field(default=None, description="The Catalog it came from.")
    channel: str | None = Field(default=None, description="The channel it was chosen from.")
    properties: str | None = Field(
        default=None, description="JSON array of the kinds it provides and of what it requires: {type, value}."
    )
    image: str | None = Field(default=None, description="Its image by digest.")
    spec: BundleSpec = Field(description="Spec of the Bundle.")

    def annotations(self) -> dict[str, str]:
        """The annotations of the Bundle that say what it is; those that are not known are left out."""
        return {name: value for field, name in RECORDED_ANNOTATIONS.items() if (value := getattr(self, field))}


class RejectedBundle(Model):
    """A bundle that this version of rukpak does not install on any cluster."""

    image: str = Field(description="Its image by digest.")
    message: str = Field(description="Why.")


class BundleDeploymentStatus(ConditionedStatus):
    """What is so."""

    active_bundle: str | None = Field(default=None, description="The Bundle that is installed.")
    installed: BundleRecord | None = Field(
        default=None, description="What the active Bundle is, written together with activeBundle."
    )
    refused: RejectedBundle | None = Field(
        default=None, description="The wanted bundle, if it needs what this version of rukpak does not give."
    )
    install_namespace: str | None = Field(default=None, description="The namespace it is installed into.")
    left_out: list[ObjectReference] | None = Field(default=None, description="Objects whose kind the cluster lacks.")
    released: list[ObjectReference] | None = Field(
        default=None,
        description="Objects that left the bundle and stay because they hold something: no longer managed.",
    )


class BundleDeployment(Resource):
    """A bundle that is installed and kept installed."""

    spec: BundleDeploymentSpec
    status: BundleDeploymentStatus = Field(default_factory=BundleDeploymentStatus)


def template_spec(raw: dict[str, Any]) -> dict[str, Any]:
    """The part of a BundleDeployment as read that names its Bundle: spec.template.spec, unchanged."""
    template: dict[str, Any] = raw["spec"]["template"]["spec"]
    return template
