"""Bundle: the unpacked content of one version of an operator. Reconciled by rukpak.bundle. Pure."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from olmkit.api.content import (
    CHECKSUM_RULES,
    PULL_SECRET_DESCRIPTION,
    ArchiveLocation,
    ChartSource,
    Checksum,
    ConfigMapSource,
    GitSource,
    PullSecret,
    ResolvedSource,
    SourceType,
)
from olmkit.api.described_enum import DescribedEnum
from olmkit.api.meta import ConditionedStatus, Kind, Model, Resource
from olmkit.api.provisioner_classes import PROVISIONER_PATTERN
from olmkit.api.signatures import SIGNED_BY_DESCRIPTION, VERIFY_DESCRIPTION, SignedBy, Verification

KIND = Kind("core.rukpak.io", "v1alpha1", "Bundle", "bundles")
MAX_NAME_LENGTH = 52

IMAGE_BY_DIGEST_ANNOTATION = "core.rukpak.io/image-by-digest"
"""The annotation of a Bundle that was created again from status.installed or status.history of its BundleDeployment: the image by
digest that it has to use.

It is used only if one of these has the same value for this Bundle.
"""
UPLOAD_LABEL = "core.rukpak.io/upload"
"""On a ConfigMap of the suite's namespace: it stores a part of the archive that was uploaded for a Bundle (`part`), or says that
the archive is complete (`index`). It is deleted with the Bundle."""
UPLOAD_DIGEST_ANNOTATION = "core.rukpak.io/upload-digest"
"""On such a ConfigMap: the sha256 of the archive."""
UPLOAD_SIZE_ANNOTATION = "core.rukpak.io/upload-size"
"""On such a ConfigMap: the bytes of the archive, or of the part."""
RESOLVED_SOURCE_ANNOTATION = "core.rukpak.io/resolved-source"
"""The same for a Bundle of another source than an image: JSON of status.resolvedSource."""


class ConditionType(DescribedEnum):
    """The condition types of a Bundle. Stalled is the only one with negative polarity."""

    UNPACKED = "Unpacked", "the content is unpacked and valid"
    READY = "Ready", "the same, for kstatus"
    RECONCILING = "Reconciling", "being fetched, or will be retried; present only while True"
    STALLED = "Stalled", "requires a new spec, a Secret or a ConfigMap; present only while True"


class Reason(DescribedEnum):
    """The reasons of the conditions."""

    UNPACK_PENDING = "UnpackPending", "Unpacked False: not started yet"
    UNPACKING = "Unpacking", "Unpacked False: being fetched or read"
    UNPACK_SUCCESSFUL = "UnpackSuccessful", "Unpacked True"
    UNPACK_FAILED = "UnpackFailed", "Unpacked False: the message has the error"
    SUCCEEDED = "Succeeded", "Ready True"
    NOT_UNPACKED = "NotUnpacked", "Ready False"
    RETRYING = "Retrying", "Reconciling True: the last attempt failed and is retried"
    BLOCKED = (
        "Blocked",
        "Stalled True: the content is invalid, or the Secret or ConfigMap that it names is missing or invalid",
    )


class ImageSource(Model):
    """A bundle image."""

    ref: Annotated[str, Field(min_length=1, max_length=1000)] = Field(
        description="Image reference with a tag or a digest. A tag is resolved once; its digest is kept."
    )
    pull_secret: PullSecret | None = Field(default=None, description=PULL_SECRET_DESCRIPTION)
    verify: Verification | None = Field(default=None, description=VERIFY_DESCRIPTION)


class HttpSource(ArchiveLocation):
    """An archive on a web server: tar, uncompressed, gzip or zstd, or zip."""

    digest: Checksum | None = Field(
        default=None,
        description=(
            "Digest of the archive: sha256:<64 hex digits>. Other content is refused. Without it, the first archive that can be"
            " read is kept."
        ),
        json_schema_extra=CHECKSUM_RULES,
    )

    @property
    def checksum(self) -> str | None:
        """The same, by the name that it has in Catalogs."""
        return self.digest


class UploadSource(Model):
    """An archive that is uploaded to rukpak: tar, uncompressed, gzip or zstd, or zip."""

    digest: Checksum | None = Field(
        default=None,
        description=(
            "Digest of the archive: sha256:<64 hex digits>. Only this archive can be uploaded, and no token is needed for it."
            " Without it, the first archive that a user who may update the Bundle uploads is kept."
        ),
        json_schema_extra=CHECKSUM_RULES,
    )


class BundleSource(Model):
    """The source of the content: exactly the field that type names."""

    type: SourceType = Field(description="Kind of source: image, git, http, configMaps, upload or chart.")
    image: ImageSource | None = Field(default=None, description="The bundle image.")
    git: GitSource | None = Field(
        default=None,
        description=(
            "The directory of a git repository that contains manifests, and metadata for registry+v1. A branch or tag is"
            " resolved once; its commit is kept."
        ),
    )
    http: HttpSource | None = Field(
        default=None,
        description=(
            "A tar or zip archive that contains manifests, and metadata for registry+v1, at its root or in the only directory"
            " there."
        ),
    )
    config_maps: Annotated[list[ConfigMapSource], Field(max_length=64)] | None = Field(
        default=None,
        description=(
            "Immutable ConfigMaps in the suite's namespace whose keys are the files: in the directory manifests, and in metadata"
            " for registry+v1."
        ),
        json_schema_extra={"minItems": 1},
    )
    upload: UploadSource | None = Field(
        default=None,
        description=(
            "An archive that is uploaded: `olm bundle upload`. It contains manifests, and metadata for registry+v1, at its root"
            " or in the only directory there."
        ),
    )
    chart: ChartSource | None = Field(
        default=None, description="A Helm chart of a repository, for the class core-rukpak-io-helm."
    )


class BundleSpec(Model):
    """Desired state."""

    provisioner_class_name: Annotated[str, Field(max_length=63, pattern=PROVISIONER_PATTERN)] = Field(
        description=(
            "The format of the content: core-rukpak-io-registry (registry+v1), core-rukpak-io-plain (plain+v0) or"
            " core-rukpak-io-helm (a Helm chart)."
        )
    )
    source: BundleSource = Field(description="The source of the content.")


class ChartFacts(Model):
    """The chart that a Bundle contains, from its Chart.yaml."""

    name: str = Field(description="Its name.")
    version: str = Field(description="Its version.")
    app_version: str | None = Field(default=None, description="The version of what it installs, as it says.")


class BundleStatus(ConditionedStatus):
    """Observed state."""

    phase: str | None = Field(
        default=None, description="Summary of the state: Pending, Unpacking, Unpacked or Failing."
    )
    resolved_source: ResolvedSource | None = Field(
        default=None,
        description=(
            "The source by digest or commit. The first one is kept, also when a tag or branch moves, or an archive or a"
            " ConfigMap is replaced."
        ),
    )
    signed_by: SignedBy | None = Field(default=None, description=SIGNED_BY_DESCRIPTION)
    chart: ChartFacts | None = Field(default=None, description="The Helm chart, if the content is one.")
    content_digest: str | None = Field(default=None, description="Digest by which the content is stored.")
    content_url: Annotated[str | None, Field(alias="contentURL")] = Field(
        default=None, description="URL of the files, as a tgz. Requires a token."
    )


class Bundle(Resource):
    """The content of one version of a package."""

    spec: BundleSpec
    status: BundleStatus = Field(default_factory=BundleStatus)
