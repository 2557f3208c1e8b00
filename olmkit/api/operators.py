"""Operator: a package to install and keep up to date. Reconciled by operator_controller. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field
from pydantic.config import JsonDict

from olmkit.api.described_enum import DescribedEnum
from olmkit.api.impersonation import Account
from olmkit.api.install_settings import (
    INSTALL_NAMESPACE_DESCRIPTION,
    InstallNamespace,
    InstallSettings,
    install_rules,
)
from olmkit.api.label_selector import LabelSelector
from olmkit.api.meta import Kind, Model, Resource, without_nulls
from olmkit.api.operator_condition_names import NOT_UPGRADEABLE
from olmkit.api.operator_status import OperatorStatus
from olmkit.api.patterns import DNS_SUBDOMAIN, OBJECT_NAME

KIND = Kind("operators.operatorframework.io", "v1alpha1", "Operator", "operators")
FINALIZER = "operators.operatorframework.io/remove-bundle-deployment"
"""The finalizer of an Operator: its BundleDeployment is deleted before it."""
APPROVED_VERSION_ANNOTATION = "operators.operatorframework.io/approved-version"
"""Annotation of an Operator with approval Manual: the version that may be installed."""
DELETION_PROTECTION_ANNOTATION = "operators.operatorframework.io/deletion-protection"
"""Annotation of an Operator: with the value `true` it cannot be deleted while custom resources exist that would be deleted too.

operator-controller copies it to the BundleDeployment.
"""
PROTECTED = "true"
"""The value of the annotation that protects; any other is as if there was none."""
ADOPT_ANNOTATION = "operators.operatorframework.io/adopt"
"""Annotation of a BundleDeployment that no object owns: with the value `true` the Operator of its name takes it over."""
ADOPT = "true"
"""The value of the annotation that asks for it; any other is as if there was none."""
MIGRATION_LABEL = "operators.operatorframework.io/migrated-from-olm-v0"
"""Label of the objects that `olm migrate v0` moves, until it has finished: the package. An annotation of the same name has what
was taken from each of them."""
V1_MIGRATION_LABEL = "operators.operatorframework.io/migrated-from-olm-v1"
"""Label of the objects that `olm migrate v1` moves, until it has finished: the ClusterExtension. An annotation of the same name
has what was taken from each of them, and of an Operator the bundle that was installed."""
REPLICAS_ANNOTATION = "operators.operatorframework.io/replicas-before-migration"
"""Annotation of a Deployment of OLM v0 or v1 that `olm migrate` has stopped: its number of replicas before."""
MIGRATIONS_ANNOTATION = "operators.operatorframework.io/begun-migrations"
"""Annotation of a Deployment of OLM v0 that `olm migrate v0` has stopped: the uids of the ClusterServiceVersions whose migration
has begun, separated by commas. `removing`: what OLM v1 consists of is being deleted."""
INSTALLED_FOR_LABEL = "operators.operatorframework.io/installed-for"
"""The label of an Operator that was created because another one requires its package. Nobody has taken it over."""
MAX_NAME_LENGTH = 45
"""The BundleDeployment has the same name, and the names of its Bundles are seven characters longer, at most 52."""

MAX_PACKAGE_NAME_LENGTH = 253
MAX_CHANNEL_LENGTH = 253
MAX_CHANNELS = 256
EVERY_CHANNEL = "*"
"""The only item of spec.channels that is no name: all channels of the package."""
MAX_VERSION_LENGTH = 64
MAX_EXCLUDED_VERSIONS = 32
PACKAGE_PATTERN = OBJECT_NAME
CHANNEL_PATTERN = OBJECT_NAME


_NUMBER = "(0|[1-9][0-9]*)"
_PART = f"([xX*]|{_NUMBER})"
_WORD = "(0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
_BUILD = "[0-9A-Za-z-]+"
_VERSION = rf"v?{_PART}(\.{_PART}){{0,2}}(-{_WORD}(\.{_WORD})*)?(\+{_BUILD}(\.{_BUILD})*)?"
_BOUND = rf"(=|!=|>|<|>=|=>|<=|=<|~|~>|\^)? *{_VERSION}"
VERSION_PATTERN = rf"^ *{_BOUND}(( *(,|\|\|) *| +){_BOUND})* *$"
"""The ranges of olmkit/gocompat/version_range.py, except hyphen ranges and leading zeros, which the API of
OpenShift 4.14 refuses too. What matches and is not a valid range (a number of more than 64 bits) is reported in the status."""
VERSION_HINT = 'a version is "1.2.3", a range is ">=1.2.0 <2.0.0", "~1.4" or "1.x"'
VERSION_RULE: JsonDict = {
    "rule": f"self.matches(r'{VERSION_PATTERN}')",
    "message": f"invalid version expression: {VERSION_HINT}",
    # The API server shows the type of the field instead of its value, so the message has to contain it.
    "messageExpression": (
        f"""'invalid version expression "' + self + '"' + (self.matches('^ *$') """
        f"""? ': leave spec.version out to follow the channel' : ': {VERSION_HINT}')"""
    ),
}


def has_protection(annotations: Mapping[str, Any] | None) -> bool:
    """Report whether these annotations, of an Operator or of its BundleDeployment, protect it from being deleted."""
    return (annotations or {}).get(DELETION_PROTECTION_ANNOTATION) == PROTECTED


def unprotect_command(kind: Kind, name: str) -> str:
    """The command with which a person removes the protection."""
    return f"kubectl annotate {kind.plural}.{kind.group} {shlex.quote(name)} {DELETION_PROTECTION_ANNOTATION}-"


class ConditionType(DescribedEnum):
    """The condition types of an Operator. Stalled and those of deprecations have negative polarity."""

    RESOLVED = "Resolved", "a bundle was found for the spec"
    INSTALLED = "Installed", "a bundle is installed; the message names it, also while another one is being installed"
    READY = "Ready", "resolved, installed and healthy for this generation; kstatus"
    RECONCILING = "Reconciling", "work is in progress; present only while True"
    STALLED = "Stalled", "requires a change by a user; present only while True"
    DEPRECATED = "Deprecated", "one of the next three is True, with their messages; present only while True"
    PACKAGE_DEPRECATED = "PackageDeprecated", "the publisher has deprecated the package; present only while True"
    CHANNEL_DEPRECATED = "ChannelDeprecated", "the same of the channel that is followed"
    BUNDLE_DEPRECATED = "BundleDeprecated", "the same of the installed bundle; before, of the one to install"


class Reason(DescribedEnum):
    """The reasons of the conditions."""

    SUCCESS = "Success", "Resolved True, Installed True"
    RESOLUTION_FAILED = "ResolutionFailed", "Resolved False: the message has the error"
    RESOLUTION_UNKNOWN = "ResolutionUnknown", "Resolved Unknown: not attempted"
    INSTALLATION_FAILED = "InstallationFailed", "Installed False: nothing is installed and the attempt failed"
    INSTALLATION_STATUS_UNKNOWN = "InstallationStatusUnknown", "Installed Unknown: not known yet"
    SUCCEEDED = "Succeeded", "Ready True"
    CATALOG_DELETED = (
        "CatalogDeleted",
        "Ready True: healthy, but its Catalog was deleted and no other one offers its bundle",
    )
    CATALOG_UNAVAILABLE = "CatalogUnavailable", "Ready True: healthy, but its Catalog is unavailable, and not cached"
    NOT_OFFERED = "NotOffered", "Ready True: healthy, but its Catalog does not offer the bundle or an upgrade from it"
    UPGRADE_AVAILABLE = "UpgradeAvailable", "Ready True: healthy, and another bundle waits for approval"
    PAUSED = "Paused", "Ready True: healthy, and nothing is changed; Ready False: what spec requests is not installed"
    APPROVAL_REQUIRED = "ApprovalRequired", "Ready False: what spec requests is not installed, and waits for approval"
    OPERATOR_CONDITION_NOT_UPGRADEABLE = (
        NOT_UPGRADEABLE,
        "Ready True: healthy, and its OperatorCondition holds an upgrade; Ready False: what spec requests is not installed",
    )
    NOT_RESOLVED = "NotResolved", "Ready False: see Resolved"
    UPGRADING = "Upgrading", "Ready False: a bundle is installed and another one is being installed"
    ROLLING_BACK = (
        "RollingBack",
        "Ready False, Reconciling True: an upgrade failed, and what ran before is being brought back",
    )
    ROLLED_BACK = "RolledBack", "Ready False, Stalled True: an upgrade failed, and what ran before it runs again"
    PROGRESSING = "Progressing", "Ready False, Reconciling True: installed, and its workloads are rolling out"
    UNHEALTHY = "Unhealthy", "Ready False: installed, but unhealthy"
    WAITING_FOR_CATALOG = "WaitingForCatalog", "Reconciling True: a catalog is being read, or there is none"
    RESOLVING = "Resolving", "Reconciling True: the request is being resolved, which takes unusually long"
    INSTALLING = "Installing", "Reconciling True, Ready False: the bundle is being installed"
    FOLLOWING_CATALOG = (
        "FollowingCatalog",
        "Ready False, Reconciling True: its Catalog was deleted; another one takes its place",
    )
    RETRYING = (
        "Retrying",
        "Reconciling True: the last attempt failed and is retried; Ready False while nothing is installed",
    )
    WAITING_FOR_NAMESPACE = (
        "WaitingForNamespace",
        "Reconciling True: a namespace that spec.install names does not exist, and namespacePolicy is MustExist",
    )
    WAITING_FOR_DEPENDENCIES = (
        "WaitingForDependencies",
        "Reconciling True: packages that the bundle requires are not installed yet",
    )
    WAITING_FOR_OPERATORS = (
        "WaitingForOperators",
        "Reconciling True: an upgrade or deletion of others may lift a refusal",
    )
    WAITING_FOR_DEPENDANTS = (
        "WaitingForDependants",
        "Reconciling True: what is installed of others requires what is to be replaced",
    )
    DELETION_BLOCKED = "DeletionBlocked", "Ready False: it is being deleted, and others require what it has installed"
    REMOVING = "Removing", "Reconciling True: the Operator is being deleted"
    BLOCKED = "Blocked", "Stalled True; Ready False while nothing is installed"
    DEPRECATED = "Deprecated", "Deprecated, PackageDeprecated, ChannelDeprecated, BundleDeprecated True"


class Install(InstallSettings):
    """The settings of the installation."""

    model_config = ConfigDict(json_schema_extra=install_rules("namespace"))

    namespace: InstallNamespace | None = Field(default=None, description=INSTALL_NAMESPACE_DESCRIPTION)

    def fields(self) -> dict[str, Any]:
        """The fields of the spec of a BundleDeployment."""
        fields: dict[str, Any] = without_nulls(self.dump())
        namespace = fields.pop("namespace", None)
        return fields | ({"installNamespace": namespace} if namespace else {})

    def account(self) -> Account | None:
        """The ServiceAccount with its namespace; None if there is none."""
        named = self.service_account
        return Account(named.namespace or self.namespace or "", named.name) if named is not None else None


_NUMBER_OF_64_BITS = "(0|[1-9][0-9]{0,17})"
_PRERELEASE = f"({_NUMBER_OF_64_BITS}|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
EXACT_VERSION_PATTERN = (
    rf"^{_NUMBER_OF_64_BITS}\.{_NUMBER_OF_64_BITS}\.{_NUMBER_OF_64_BITS}"
    rf"(-{_PRERELEASE}(\.{_PRERELEASE})*)?(\+{_BUILD}(\.{_BUILD})*)?$"
)
"""One version of semver.org 2.0.0: what matches can be read."""
EXACT_VERSION_RULE: JsonDict = {
    "rule": f"self.matches(r'{EXACT_VERSION_PATTERN}')",
    "message": 'an excluded version is one exact version, such as "1.2.3"',
    # The API server shows the type of the field instead of its value, so the message has to contain it.
    "messageExpression": (
        """'invalid version "' + self + '": an excluded version is one exact version, such as "1.2.3", and no range'"""
    ),
}
UNIQUE_VERSIONS_RULE: JsonDict = {
    "rule": "self.all(one, self.exists_one(other, other.split('+')[0] == one.split('+')[0]))",
    "message": "a version is excluded once: build metadata does not count",
}
ExcludedVersions = Annotated[
    list[
        Annotated[
            str,
            Field(max_length=MAX_VERSION_LENGTH, json_schema_extra={"x-kubernetes-validations": [EXACT_VERSION_RULE]}),
        ]
    ],
    Field(
        max_length=MAX_EXCLUDED_VERSIONS,
        json_schema_extra={"x-kubernetes-list-type": "set", "x-kubernetes-validations": [UNIQUE_VERSIONS_RULE]},
    ),
]
"""A set, so that each field manager has members of its own: `olm exclude` adds one beside those of a GitOps tool."""


_ONE_CHANNEL_RULE: JsonDict = {
    "rule": "!has(self.channel) || !has(self.channels)",
    "message": "channel and channels exclude each other: name one channel in channel, or several in channels",
}
_EVERY_CHANNEL_RULE: JsonDict = {
    "rule": f"size(self) == 1 || !self.exists(c, c == '{EVERY_CHANNEL}')",
    "message": f'"{EVERY_CHANNEL}" means every channel: it has to be the only entry',
}
Channels = Annotated[
    list[Annotated[str, Field(max_length=MAX_CHANNEL_LENGTH, pattern=rf"^(\*|{DNS_SUBDOMAIN})$")]],
    Field(
        max_length=MAX_CHANNELS,
        json_schema_extra={"x-kubernetes-list-type": "atomic", "x-kubernetes-validations": [_EVERY_CHANNEL_RULE]},
    ),
]
"""Atomic: a channel that another field manager adds would be followed beside those that are asked for."""


def followed_channels(channel: str | None, channels: Iterable[str] | None) -> tuple[str, ...]:
    """The channels that the fields channel and channels of a spec name, sorted; none if neither is set."""
    return tuple(sorted(set(channels or filter(None, [channel]))))


class OperatorSpec(Model):
    """Desired state."""

    model_config = ConfigDict(json_schema_extra={"x-kubernetes-validations": [_ONE_CHANNEL_RULE]})

    package_name: Annotated[str, Field(max_length=MAX_PACKAGE_NAME_LENGTH, pattern=PACKAGE_PATTERN)] = Field(
        description="Package to install."
    )
    version: Annotated[str, Field(max_length=MAX_VERSION_LENGTH)] | None = Field(
        default=None,
        json_schema_extra={"x-kubernetes-validations": [VERSION_RULE]},
        description=(
            "Version to install: exact (1.2.3), which pins it, or a range such as '>=1.2.0 <2.0.0', '1.x' or '~1.4', "
            "of which the best version is followed. Default: the newest version of the channel."
        ),
    )
    channel: Annotated[str, Field(max_length=MAX_CHANNEL_LENGTH, pattern=CHANNEL_PATTERN)] | None = Field(
        default=None,
        description=("Channel to follow. Default: the package's default channel, or all channels if version is set."),
    )
    channels: Channels | None = Field(
        default=None,
        description=(
            "Channels to follow, instead of channel: the best bundle of them is chosen, and only their upgrade edges count. "
            f"{EVERY_CHANNEL} alone means every channel of the package, also one that is added later."
        ),
    )
    catalog_selector: LabelSelector | None = Field(
        default=None,
        json_schema_extra={"x-kubernetes-map-type": "atomic"},
        description=(
            "Catalogs that count for this Operator, by their labels. Each Catalog has the label "
            "olm.operatorframework.io/metadata.name. Default: all Catalogs."
        ),
    )
    excluded_versions: ExcludedVersions | None = Field(
        default=None,
        description=(
            "Versions that are never chosen, exactly as a catalog has them, without regard to build metadata. What runs already "
            "stays until another version replaces it."
        ),
    )
    upgrade_constraint_policy: Literal["Enforce", "Ignore"] | None = Field(
        default=None,
        description=(
            "Enforce: the installed bundle is replaced only along the upgrade edges of its catalog (replaces, skips, "
            "skipRange). Ignore: by the best bundle in the channel and range, whatever is installed, also by an older one. "
            "Default: Enforce."
        ),
    )
    approval: Literal["Automatic", "Manual"] | None = Field(
        default=None,
        description=(
            "Automatic: what is chosen is installed. Manual: each version, also the first one, is installed when the annotation "
            f"{APPROVED_VERSION_ANNOTATION} names it; status.available has the version that waits. Default: Automatic."
        ),
    )
    paused: bool | None = Field(
        default=None,
        description=(
            "Whether nothing is changed: the BundleDeployment stays as it is, and the status shows what would be installed. An "
            "installation that has begun continues. Default: false."
        ),
    )
    install: Install | None = Field(default=None, description="How the bundle is installed.")

    @property
    def followed_channels(self) -> tuple[str, ...]:
        """The channels of channel or channels, sorted; none if neither is set."""
        return followed_channels(self.channel, self.channels)


class Operator(Resource):
    """A package to install on the cluster and keep up to date."""

    spec: OperatorSpec
    status: OperatorStatus = Field(default_factory=OperatorStatus)
