"""Catalog: where a catalog of packages comes from, and what of it is served. Reconciled by catalogd. Pure."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from olmkit.api.content import ResolvedSource, SourceType
from olmkit.api.meta import ConditionedStatus, Kind, Model, Resource

KIND = Kind("catalogd.operatorframework.io", "v1alpha1", "Catalog", "catalogs")


class ConditionType(StrEnum):
    """The aspects of a Catalog. All are positive but Stalled."""

    UNPACKED = "Unpacked"  # what the source holds now was read; True also says which digest
    SERVING = "Serving"  # content is to be had over HTTP, perhaps an older one
    VALID = "Valid"  # every blob of what is served could be read as what its schema says
    READY = "Ready"  # content is served; kstatus
    RECONCILING = "Reconciling"  # work is under way or will be tried again; present only while True
    STALLED = "Stalled"  # only a person can help; present only while True


class Reason(StrEnum):
    """Why a condition is as it is."""

    UNPACK_PENDING = "UnpackPending"  # Unpacked False: the source has not been asked yet
    UNPACKING = "Unpacking"  # Unpacked False: being pulled or read for the first time
    UNPACK_SUCCESSFUL = "UnpackSuccessful"  # Unpacked True
    UNPACK_FAILED = "UnpackFailed"  # Unpacked False: the message says why
    AVAILABLE = "Available"  # Serving True
    UNAVAILABLE = "Unavailable"  # Serving False: nothing has been unpacked yet
    ALL_BLOBS_READ = "AllBlobsRead"  # Valid True
    BLOBS_NOT_READ = "BlobsNotRead"  # Valid False: the message counts and names them
    NOT_READ_YET = "NotReadYet"  # Valid Unknown: nothing is served
    SUCCEEDED = "Succeeded"  # Ready True: what the source holds is served
    SERVING_OLD_CONTENT = "ServingOldContent"  # Ready True: an older content is served while the new one cannot be read
    NOT_SERVED = "NotServed"  # Ready False: nothing is served
    RETRYING = "Retrying"  # Reconciling True: the last attempt failed and is made again
    BLOCKED = "Blocked"  # Stalled True: nothing is tried until the spec changes


class ImageSource(Model):
    """A catalog image: files under the path its label operators.operatorframework.io.index.configs.v1 names."""

    ref: Annotated[str, Field(min_length=1, max_length=1000)] = Field(
        description="Image reference with a tag or a digest, such as quay.io/org/catalog:v1 or quay.io/org/catalog@sha256:…"
    )
    poll_interval: Annotated[str, Field(pattern=r"^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$|^0$")] | None = Field(
        default=None,
        description=(
            "How often a tag is looked up again, as a Go duration such as 10m. 10m when absent; 0s never. "
            "A digest is never looked up again."
        ),
    )


class CatalogSource(Model):
    """Where the content comes from."""

    type: Literal[SourceType.IMAGE] = Field(description="Kind of source: image.")
    image: ImageSource | None = Field(default=None, description="The catalog image; needed for type image.")


class CatalogSpec(Model):
    """What a person asks for."""

    source: CatalogSource = Field(description="Where the catalog comes from.")
    priority: Annotated[int, Field(ge=-(2**31), le=2**31 - 1)] = Field(
        default=0, description="Which catalog wins when several offer a package: the higher one."
    )


class CatalogStatus(ConditionedStatus):
    """What is so."""

    phase: str | None = Field(
        default=None, description="The state in one word: Pending, Unpacking, Unpacked or Failing."
    )
    resolved_source: ResolvedSource | None = Field(default=None, description="The content that is served, by digest.")
    content_url: Annotated[str | None, Field(alias="contentURL")] = Field(
        default=None, description="Where the whole catalog can be read over HTTP."
    )
    last_unpacked: str | None = Field(
        default=None,
        description="When the content that is served was unpacked.",
        json_schema_extra={"format": "date-time"},
    )
    package_count: int | None = Field(default=None, description="Packages in the content that is served.")
    bundle_count: int | None = Field(default=None, description="Bundles in the content that is served.")
    packages: Annotated[str | None, Field(max_length=65_536)] = Field(
        default=None, description="Names of the packages, sorted, comma-separated."
    )


class Catalog(Resource):
    """A catalog of packages that people can install Operators from."""

    spec: CatalogSpec
    status: CatalogStatus = Field(default_factory=CatalogStatus)
