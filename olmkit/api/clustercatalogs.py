"""ClusterCatalog v1 of OLM: the source of a catalog, as clients of OLM v1 write it. catalogd turns it into a Catalog. Pure."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from olmkit.api import v1_rules
from olmkit.api.catalogs import NAME_LABEL
from olmkit.api.clusterextensions import OWNER_KIND_LABEL
from olmkit.api.described_enum import DescribedEnum
from olmkit.api.meta import Conditioned, Kind, Model, ObjectMeta, Resource

KIND = Kind("olm.operatorframework.io", "v1", "ClusterCatalog", "clustercatalogs")
FINALIZER = "olm.operatorframework.io/delete-server-cache"
"""Finalizer of a ClusterCatalog whose content is served. OLM v1 has it too: whichever of the two runs removes it."""
ADOPT_ANNOTATION = "catalogd.operatorframework.io/adopt-for"
"""Annotation of a Catalog that belongs to nobody: the name of the ClusterCatalog that takes it over."""
MAX_NAME_LENGTH = 63
"""The name is the value of a label."""


class ConditionType(DescribedEnum):
    """The condition types of a ClusterCatalog."""

    SERVING = "Serving", "content is served over HTTP, possibly an older version"
    PROGRESSING = "Progressing", "False only if a user has to change something"


class Reason(DescribedEnum):
    """The reasons of the conditions."""

    SUCCEEDED = "Succeeded", "Progressing True: the current content is served, or spec wants none to be served"
    RETRYING = "Retrying", "Progressing True: the last attempt failed and is retried; the message has the error"
    BLOCKED = "Blocked", "Progressing False: not retried until the spec, or what stands in the way, changes"
    AVAILABLE = "Available", "Serving True"
    UNAVAILABLE = "Unavailable", "Serving False: nothing has been unpacked yet"
    USER_SPECIFIED_UNAVAILABLE = "UserSpecifiedUnavailable", "Serving False: spec.availabilityMode is Unavailable"


class AvailabilityMode(StrEnum):
    """The values of spec.availabilityMode: a ClusterCatalog should be served, or not."""

    AVAILABLE = "Available"
    UNAVAILABLE = "Unavailable"


class ImageSource(Model):
    """A catalog image."""

    model_config = ConfigDict(json_schema_extra=v1_rules.POLLED_BY_TAG)

    ref: Annotated[str, Field(max_length=1000)] = Field(
        description="Image reference with a registry, and with a tag or a digest, such as quay.io/org/catalog:v1.",
        json_schema_extra=v1_rules.REFERENCE,
    )
    poll_interval_minutes: Annotated[int, Field(ge=1)] | None = Field(
        default=None,
        description="How often the tag is checked, in minutes. Default: never. Not allowed with a digest.",
    )


class CatalogSource(Model):
    """The source of the content."""

    model_config = ConfigDict(json_schema_extra=v1_rules.IMAGE_UNION)

    type: Literal["Image"] = Field(description="Kind of source: Image.")
    image: ImageSource | None = Field(default=None, description="The catalog image.")


class ClusterCatalogSpec(Model):
    """Desired state."""

    source: CatalogSource = Field(description="The source of the catalog.")
    priority: Annotated[int, Field(ge=-(2**31), le=2**31 - 1)] = Field(
        default=0,
        description="The catalog with the highest priority is used when several offer a package. Default: 0.",
        # Clients of OLM v1 read the value, which its API server always writes.
        json_schema_extra={"format": "int32", **v1_rules.api_default(0)},
    )
    availability_mode: AvailabilityMode = Field(
        default=AvailabilityMode.AVAILABLE,
        description="Available (default) or Unavailable: nothing is served, stored or installed from it.",
        # The same: kubectl-operator reads catalogs whose mode is Available.
        json_schema_extra=v1_rules.api_default(AvailabilityMode.AVAILABLE),
    )


class ResolvedImageSource(Model):
    """The catalog image by digest."""

    ref: Annotated[str, Field(max_length=1000)] = Field(
        description="Image reference with the digest.", json_schema_extra=v1_rules.REFERENCE_BY_DIGEST
    )


class ResolvedCatalogSource(Model):
    """The source of the content that is served."""

    model_config = ConfigDict(json_schema_extra=v1_rules.IMAGE_UNION)

    type: Literal["Image"] = Field(description="Kind of source: Image.")
    image: ResolvedImageSource = Field(description="The catalog image.")


class ClusterCatalogUrls(Model):
    """Addresses of the content."""

    base: Annotated[str, Field(max_length=525)] = Field(
        description="Address of the catalog: the paths of the API for its content begin with it.",
        json_schema_extra=v1_rules.BASE_URL,
    )


class ClusterCatalogStatus(Conditioned):
    """Observed state."""

    resolved_source: ResolvedCatalogSource | None = Field(
        default=None, description="The source of the content that is served."
    )
    urls: ClusterCatalogUrls | None = Field(default=None, description="Where the content is served.")
    last_unpacked: str | None = Field(
        default=None,
        description="When the content that is served was unpacked.",
        json_schema_extra={"format": "date-time"},
    )


class ClusterCatalog(Resource):
    """A catalog of packages, in the API of OLM v1. ClusterExtensions are installed from it."""

    spec: ClusterCatalogSpec
    status: ClusterCatalogStatus = Field(default_factory=ClusterCatalogStatus)


def selectable_labels(catalog: ObjectMeta) -> dict[str, str]:
    """The labels of a Catalog that selectors compare: OWNER_KIND_LABEL counts only if the ClusterCatalog of its name controls it,
    because whoever may write Catalogs can give it to his own."""
    owner = catalog.controller
    is_owned = owner is not None and (owner.kind, owner.name) == (KIND.kind, catalog.name)
    return {key: value for key, value in catalog.labels.items() if is_owned or key != OWNER_KIND_LABEL}


def labels_for_catalog(cluster_catalog: ObjectMeta) -> dict[str, str]:
    """The labels that a ClusterCatalog gives its Catalog, but for NAME_LABEL, which each Catalog has of its own."""
    own = {key: value for key, value in cluster_catalog.labels.items() if key != NAME_LABEL}
    return {**own, OWNER_KIND_LABEL: KIND.kind}


def is_untranslated(cluster_catalog: ClusterCatalog) -> bool:
    """Report whether a ClusterCatalog that has no Catalog is about to get one: it wants to be served, and nothing is reported
    yet."""
    is_wanted = cluster_catalog.spec.availability_mode is AvailabilityMode.AVAILABLE
    return is_wanted and not cluster_catalog.metadata.deleting and not cluster_catalog.status.conditions
