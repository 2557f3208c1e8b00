"""Bundle: the unpacked content of one version of an operator. Reconciled by rukpak.bundle. Pure."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from olmkit.api.content import PULL_SECRET_DESCRIPTION, PullSecret, ResolvedSource, SourceType
from olmkit.api.described_enum import DescribedEnum
from olmkit.api.meta import ConditionedStatus, Kind, Model, Resource
from olmkit.api.names import digest_of_reference
from olmkit.api.provisioner_classes import PROVISIONER_PATTERN

KIND = Kind("core.rukpak.io", "v1alpha1", "Bundle", "bundles")
MAX_NAME_LENGTH = 52

IMAGE_BY_DIGEST_ANNOTATION = "core.rukpak.io/image-by-digest"
"""The annotation of a Bundle that was created again from status.installed or status.history of its BundleDeployment: the image by
digest that it has to use.

It is used only if one of these has the same value for this Bundle.
"""


class ConditionType(DescribedEnum):
    """The condition types of a Bundle. Stalled is the only one with negative polarity."""

    UNPACKED = "Unpacked", "the content is unpacked and valid"
    READY = "Ready", "the same, for kstatus"
    RECONCILING = "Reconciling", "being pulled, or will be retried; present only while True"
    STALLED = "Stalled", "requires a new spec, or a Secret; present only while True"


class Reason(DescribedEnum):
    """The reasons of the conditions."""

    UNPACK_PENDING = "UnpackPending", "Unpacked False: not started yet"
    UNPACKING = "Unpacking", "Unpacked False: being pulled or read"
    UNPACK_SUCCESSFUL = "UnpackSuccessful", "Unpacked True"
    UNPACK_FAILED = "UnpackFailed", "Unpacked False: the message has the error"
    SUCCEEDED = "Succeeded", "Ready True"
    NOT_UNPACKED = "NotUnpacked", "Ready False"
    RETRYING = "Retrying", "Reconciling True: the last attempt failed and is retried"
    BLOCKED = "Blocked", "Stalled True: the content is invalid, or the Secret that it names is missing or invalid"


class ImageSource(Model):
    """A bundle image."""

    ref: Annotated[str, Field(min_length=1, max_length=1000)] = Field(
        description="Image reference with a tag or a digest. A tag is resolved once; its digest is kept."
    )
    pull_secret: PullSecret | None = Field(default=None, description=PULL_SECRET_DESCRIPTION)


class BundleSource(Model):
    """The source of the content."""

    type: Literal[SourceType.IMAGE] = Field(description="Kind of source: image.")
    image: ImageSource | None = Field(default=None, description="The bundle image; required for type image.")


class BundleSpec(Model):
    """Desired state."""

    provisioner_class_name: Annotated[str, Field(max_length=63, pattern=PROVISIONER_PATTERN)] = Field(
        description="The format of the content: core-rukpak-io-registry (registry+v1) or core-rukpak-io-plain (plain+v0)."
    )
    source: BundleSource = Field(description="The source of the content.")


class BundleStatus(ConditionedStatus):
    """Observed state."""

    phase: str | None = Field(
        default=None, description="Summary of the state: Pending, Unpacking, Unpacked or Failing."
    )
    resolved_source: ResolvedSource | None = Field(
        default=None, description="The source by digest. The first digest is kept, also when the tag moves."
    )


class Bundle(Resource):
    """The content of one version of a package."""

    spec: BundleSpec
    status: BundleStatus = Field(default_factory=BundleStatus)


def resolved_digest(raw: dict[str, Any]) -> str:
    """The digest in status.resolvedSource of a Bundle as read; empty when there is none."""
    source = (raw.get("status") or {}).get("resolvedSource") or {}
    ref: str = (source.get("image") or {}).get("ref") or ""
    return digest_of_reference(ref)
