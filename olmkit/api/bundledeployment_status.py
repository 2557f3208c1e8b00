"""The status of a BundleDeployment: what rukpak reports about it. Written by rukpak.bundledeployment. Pure."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import Field

from olmkit.api.bundle_annotations import RECORDED_ANNOTATIONS
from olmkit.api.bundles import IMAGE_BY_DIGEST_ANNOTATION, RESOLVED_SOURCE_ANNOTATION, BundleSpec
from olmkit.api.content import ResolvedSource
from olmkit.api.deployed_objects import Announcement, FailedObjects, ObjectReference
from olmkit.api.described_enum import DescribedEnum
from olmkit.api.meta import ConditionedStatus, Model
from olmkit.api.permissions import MissingPermissions
from olmkit.api.reported_failure import ReportedFailure

KEEP_ANNOTATION = "core.rukpak.io/keep"
"""The annotation of a Namespace that is kept when its last BundleDeployment is deleted, although rukpak created it; the value is
"true"."""
KEEP_TEMPLATE_ANNOTATION = "core.rukpak.io/keep-template"
"""The annotation of a Deployment that is taken over with adoptionPolicy IfUnowned in the first installation, and whose pods are
not replaced by that: its pod template stays as it is until the bundle has another one for it. rukpak replaces the value by a
digest."""
COUNT_ANNOTATION = "core.rukpak.io/count-custom-resources"
"""The annotation of a BundleDeployment whose custom resources are counted. Each new value requests a new count;
status.lastHandledCount has the value for which the counts were made."""
MAX_COUNT_REQUEST_LENGTH = 1024
"""Characters of the annotation that are compared and reported."""
MAX_REFERENCES = 200
"""Objects that a list of the status names: a larger status could not be stored."""
MAX_FAILURE_OBJECTS = 20
"""Entries of status.failure.objects."""
MAX_LOSSES = 20
"""Entries of status.losses."""
MAX_COUNTED_CUSTOM_RESOURCES = 10_000
"""Custom resources of one kind that are counted."""
MAX_COUNT_MESSAGE_BYTES = 1024
MAX_REVISIONS = 5
"""Revisions in the status."""
MAX_OLDER_INSTALL_BYTES = 256 * 1024
"""The texts of how older revisions than the newest were installed, all together: the API server stores objects of 1.5 MiB."""
MAX_REVISION_REASON_BYTES = 1024
MAX_UPGRADE_HOLD_BYTES = 1024


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


class InstallFailure(ReportedFailure):
    """The reason why what spec asks for is not installed, or not healthy, with the objects that it concerns."""

    objects: Annotated[list[ObjectReference], Field(max_length=MAX_FAILURE_OBJECTS)] | None = Field(
        default=None,
        description=f"The objects that it concerns, as far as they are known. At most {MAX_FAILURE_OBJECTS}, sorted.",
    )


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
    failure: InstallFailure | None = Field(
        default=None,
        description="Why what spec asks for is not installed, or not healthy; absent while nothing has failed.",
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
