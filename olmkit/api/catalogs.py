"""Catalog: the source of a catalog, and the content that is served. Reconciled by catalogd. Pure."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from olmkit.api import content
from olmkit.api.conditions import find_condition, is_condition_true
from olmkit.api.content import (
    CONFIG_MAPS_RULES,
    PULL_SECRET_DESCRIPTION,
    ConfigMapSources,
    PullSecret,
    ResolvedSource,
    SourceType,
)
from olmkit.api.described_enum import DescribedEnum
from olmkit.api.meta import ConditionedStatus, Kind, Model, Resource
from olmkit.api.patterns import IMAGE_REFERENCE, PACKAGE_NAME
from olmkit.api.signatures import SIGNED_BY_DESCRIPTION, VERIFY_DESCRIPTION, SignedBy, Verification

KIND = Kind("catalogd.operatorframework.io", "v1alpha1", "Catalog", "catalogs")
NAME_LABEL = "olm.operatorframework.io/metadata.name"
"""Label that catalogd sets to the name of each Catalog, for selectors."""
REFRESH_ANNOTATION = "catalogd.operatorframework.io/refresh"
"""Annotation: a new value requests a check of the source now; status.lastHandledRefresh has the value when it has finished."""
MAX_REFRESH_LENGTH = 1024
"""Characters of its value that are used."""
MAX_SELECTED_PACKAGES = 1000
"""Names in spec.packages. A catalog of which more are offered needs no list."""


class ConditionType(DescribedEnum):
    """The condition types of a Catalog. Stalled is the only one with negative polarity."""

    UNPACKED = "Unpacked", "the current content of the source was unpacked"
    SERVING = "Serving", "content is served over HTTP, possibly an older version"
    VALID = "Valid", "every blob of the served content is valid for its schema"
    PACKAGES_SELECTED = (
        "PackagesSelected",
        "the served content has every package that spec.packages names; absent without a list",
    )
    READY = "Ready", "content is served; kstatus"
    RECONCILING = "Reconciling", "work is in progress or will be retried; present only while True"
    STALLED = "Stalled", "requires a change by a user; present only while True"


class Reason(DescribedEnum):
    """The reasons of the conditions."""

    UNPACK_PENDING = (
        "UnpackPending",
        "Unpacked False: the source has not been checked yet; Ready False while nothing is served",
    )
    UNPACKING = "Unpacking", "Unpacked False: being pulled or read; Ready False while nothing is served"
    UNPACK_SUCCESSFUL = "UnpackSuccessful", "Unpacked True"
    UNPACK_FAILED = "UnpackFailed", "Unpacked False: the message has the error; Ready False while nothing is served"
    AVAILABLE = "Available", "Serving True"
    UNAVAILABLE = "Unavailable", "Serving False: nothing has been unpacked yet"
    USER_SPECIFIED_UNAVAILABLE = "UserSpecifiedUnavailable", "spec.availability is Unavailable: nothing is served"
    ALL_BLOBS_READ = "AllBlobsRead", "Valid True"
    PROBLEMS_FOUND = "ProblemsFound", "Valid False: the message counts and names them"
    NOT_READ_YET = "NotReadYet", "Valid, PackagesSelected Unknown: nothing is served"
    PACKAGES_FOUND = "PackagesFound", "PackagesSelected True"
    PACKAGES_NOT_FOUND = "PackagesNotFound", "PackagesSelected False: the message names those that the catalog lacks"
    SUCCEEDED = "Succeeded", "Ready True: the current content of the source is served"
    SERVING_OLD_CONTENT = (
        "ServingOldContent",
        "Ready True: the content that was read before is served while the source cannot be read",
    )
    RETRYING = "Retrying", "Reconciling True: the last attempt failed and is retried"
    WRITING_PACKAGES = "WritingPackages", "Ready False, Reconciling True: served, its Package objects are being written"
    BLOCKED = "Blocked", "Stalled True: not retried until the spec, or a Secret or ConfigMap that it names, changes"


REFERENCE_HINT = (
    "write it as host/repository:tag or host/repository@sha256:<64 hex digits>, the repository in lower case"
)
_INTERVAL = r"^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$|^0$"


def _rule(rule: str, message: str) -> dict[str, Any]:
    return {"x-kubernetes-validations": [{"rule": rule, "message": message}]}


PollInterval = Annotated[str, Field(max_length=64)]
_POLLED = _rule(f"self.matches(r'{_INTERVAL}')", "must be a duration such as 30s, 10m or 1h30m, or 0s for never")


class Availability(StrEnum):
    """The values of spec.availability: a Catalog should be served, or not."""

    AVAILABLE = "Available"
    UNAVAILABLE = "Unavailable"


class CatalogFailure(DescribedEnum):
    """The values of status.failureReason."""

    SOURCE_UNREADABLE = "SourceUnreadable", "the source cannot be fetched, verified or read"
    STORAGE_FAILED = "StorageFailed", "the content cannot be stored: the disk is full or has failed"


class ImageSource(Model):
    """A catalog image. Its label operators.operatorframework.io.index.configs.v1 names the directory of the catalog's files."""

    model_config = ConfigDict(
        json_schema_extra=_rule(
            "!has(self.pollInterval) || !self.ref.contains('@')",
            "cannot specify pollInterval while using digest-based image: a digest never changes",
        )
    )

    ref: Annotated[str, Field(min_length=1, max_length=1000)] = Field(
        description="Image reference with a tag or a digest, such as quay.io/org/catalog:v1 or quay.io/org/catalog@sha256:…",
        json_schema_extra=_rule(f"self.matches(r'{IMAGE_REFERENCE}')", f"must be an image reference: {REFERENCE_HINT}"),
    )
    pull_secret: PullSecret | None = Field(default=None, description=PULL_SECRET_DESCRIPTION)
    poll_interval: PollInterval | None = Field(
        default=None,
        description=(
            "How often the tag is checked, as a Go duration such as 10m. Default: 10m; 0s: never. "
            "Not allowed with a digest, because a digest never changes."
        ),
        json_schema_extra=_POLLED,
    )
    verify: Verification | None = Field(default=None, description=VERIFY_DESCRIPTION)


class GitSource(content.GitSource):
    """A directory of a git repository with the catalog's files."""

    model_config = ConfigDict(
        json_schema_extra=_rule(
            "!has(self.pollInterval) || !has(self.ref.commit)",
            "cannot specify pollInterval while using a commit: a commit never changes",
        )
    )

    poll_interval: PollInterval | None = Field(
        default=None,
        description="How often a branch or tag is checked, such as 10m. Default: 10m; 0s: never.",
        json_schema_extra=_POLLED,
    )


class HttpSource(content.HttpSource):
    """A tar or zip archive with the catalog's files."""

    model_config = ConfigDict(
        json_schema_extra=_rule(
            "!has(self.pollInterval) || !has(self.checksum)",
            "cannot specify pollInterval while using a checksum: the archive cannot change",
        )
    )

    poll_interval: PollInterval | None = Field(
        default=None,
        description="How often to check whether the archive has changed, such as 10m. Default: 10m; 0s: never.",
        json_schema_extra=_POLLED,
    )


class CatalogSource(Model):
    """The source of the content: exactly the field that type names."""

    type: Literal[SourceType.IMAGE, SourceType.GIT, SourceType.HTTP, SourceType.CONFIG_MAPS] = Field(
        description="Kind of source: image, git, http or configMaps."
    )
    image: ImageSource | None = Field(default=None, description="The catalog image.")
    git: GitSource | None = Field(default=None, description="The directory of a git repository.")
    http: HttpSource | None = Field(default=None, description="The archive on a web server.")
    config_maps: ConfigMapSources | None = Field(
        default=None,
        description="ConfigMaps in the suite's namespace whose keys are the files. Changes to them are applied automatically.",
        json_schema_extra=CONFIG_MAPS_RULES,
    )


class BundlePolicy(Model):
    """The policy for the bundles of a catalog."""

    verify: Verification | None = Field(
        default=None,
        description=(
            "Who must have signed the images of the bundles. It is handed on to the BundleDeployment of each Operator whose"
            " bundle is from this catalog. Default: signatures are not read."
        ),
    )


class CatalogSpec(Model):
    """Desired state."""

    source: CatalogSource = Field(description="The source of the catalog.")
    priority: Annotated[int, Field(ge=-(2**31), le=2**31 - 1)] = Field(
        default=0, description="The catalog with the highest priority is used when several offer a package. Default: 0."
    )
    availability: Availability = Field(
        default=Availability.AVAILABLE,
        description="Available (default) or Unavailable: nothing is served, stored or installed from it.",
    )
    display_name: Annotated[str, Field(max_length=253)] | None = Field(
        default=None, description="Name of the catalog for display."
    )
    publisher: Annotated[str, Field(max_length=253)] | None = Field(
        default=None, description="Publisher of the catalog, for display."
    )
    bundles: BundlePolicy | None = Field(default=None, description="The policy for the bundles of the catalog.")
    packages: (
        Annotated[
            list[Annotated[str, Field(min_length=1, max_length=253, pattern=PACKAGE_NAME)]],
            Field(min_length=1, max_length=MAX_SELECTED_PACKAGES, json_schema_extra={"x-kubernetes-list-type": "set"}),
        ]
        | None
    ) = Field(
        default=None,
        description=(
            "Names of the packages to offer: only these are listed as Package objects and installed. What is installed"
            " already stays. Default: all packages of the catalog."
        ),
    )


class CatalogStatus(ConditionedStatus):
    """Observed state."""

    phase: str | None = Field(
        default=None, description="Summary of the state: Pending, Unpacking, Unpacked or Failing."
    )
    failure_reason: Literal[CatalogFailure.SOURCE_UNREADABLE, CatalogFailure.STORAGE_FAILED] | None = Field(
        default=None,
        description=(
            "Why the current content of the source was not unpacked: SourceUnreadable or StorageFailed. Absent while nothing has"
            " failed."
        ),
    )
    resolved_source: ResolvedSource | None = Field(
        default=None, description="The source of the content that is served, by digest."
    )
    signed_by: SignedBy | None = Field(default=None, description=SIGNED_BY_DESCRIPTION)
    content_digest: str | None = Field(
        default=None,
        description="Digest of the content that is served; responses have it in the header Olm-Catalog-Digest.",
    )
    short_digest: str | None = Field(default=None, description="The beginning of contentDigest, for lists.")
    content_url: Annotated[str | None, Field(alias="contentURL")] = Field(
        default=None, description="URL of the whole catalog."
    )
    last_unpacked: str | None = Field(
        default=None,
        description="When the content that is served was unpacked.",
        json_schema_extra={"format": "date-time"},
    )
    last_handled_refresh: Annotated[str, Field(max_length=MAX_REFRESH_LENGTH)] | None = Field(
        default=None,
        description=(
            f"Value of the annotation {REFRESH_ANNOTATION} that requested the last check of the source. It is set when the check"
            " finishes, in the same update as its result."
        ),
    )
    package_count: int | None = Field(default=None, description="Number of packages in the content that is served.")
    bundle_count: int | None = Field(default=None, description="Number of bundles in the content that is served.")
    packages: Annotated[str | None, Field(max_length=65_536)] = Field(
        default=None, description="Names of all packages of the content, sorted, comma-separated."
    )
    selected_packages: Annotated[str | None, Field(max_length=65_536)] = Field(
        default=None,
        description="Those of the packages that spec.packages selects, sorted, comma-separated; absent without a list.",
    )


class Catalog(Resource):
    """A catalog of packages. Operators are installed from it."""

    spec: CatalogSpec
    status: CatalogStatus = Field(default_factory=CatalogStatus)

    @property
    def is_unavailable(self) -> bool:
        """True if spec.availability is Unavailable: nothing may be served."""
        return self.spec.availability == Availability.UNAVAILABLE

    @property
    def selected_packages(self) -> tuple[str, ...] | None:
        """The packages that spec.packages names, sorted; None without a list: all packages of the catalog."""
        return tuple(sorted(set(self.spec.packages))) if self.spec.packages else None


def served_digest(catalog: Catalog) -> str:
    """The digest of the content that is served; "" if none is, or if none is to be used."""
    is_serving = is_condition_true(catalog.status.conditions, ConditionType.SERVING)
    is_wanted = not catalog.is_unavailable and not catalog.metadata.deleting
    return catalog.status.content_digest or "" if is_serving and is_wanted and catalog.status.content_url else ""


def is_first_unpacked(catalog: Catalog) -> bool:
    """Report whether the first content of the Catalog is being unpacked, or is about to be: nothing is served, and nothing has
    failed."""
    is_wanted = not catalog.is_unavailable and not catalog.metadata.deleting
    is_failing = catalog.status.failure_reason is not None or is_condition_true(
        catalog.status.conditions, ConditionType.STALLED
    )
    return is_wanted and not is_failing and not catalog.status.content_digest


def package_names(catalog: Catalog) -> tuple[str, ...]:
    """The packages that the status lists: all of them, unless there are too many for it."""
    return tuple(filter(None, (name.strip() for name in (catalog.status.packages or "").split(","))))


def unpack_failure(catalog: Catalog) -> str:
    """The message of its condition Unpacked, if its source cannot be read; else empty."""
    unpacked = find_condition(catalog.status.conditions, ConditionType.UNPACKED)
    return unpacked.message if unpacked is not None and unpacked.reason == Reason.UNPACK_FAILED else ""


def not_served_message(catalog: Catalog) -> str:
    """Explain why the Catalog is not served: the message of its own condition, if it has one."""
    if catalog.metadata.deleting:
        return "it is being deleted"
    for name in (ConditionType.UNPACKED, ConditionType.READY):
        condition = find_condition(catalog.status.conditions, name)
        if condition is not None and condition.status != "True" and condition.message:
            return condition.message
    return "it has not been read yet"
