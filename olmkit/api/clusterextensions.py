"""ClusterExtension v1 of OLM: a package to install, as clients of OLM v1 write it. operator-controller turns it into an Operator.

Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, WithJsonSchema
from pydantic.config import JsonDict

from olmkit.api import v1_rules
from olmkit.api.described_enum import DescribedEnum
from olmkit.api.impersonation import Account
from olmkit.api.label_selector import KEY_PATTERN, MAX_KEY_LENGTH, MAX_REQUIREMENTS
from olmkit.api.meta import Conditioned, Kind, Model, Object, Resource, controlling_owner
from olmkit.api.names import MAX_LABEL_LENGTH, is_label_value, safe_name
from olmkit.api.operators import MAX_NAME_LENGTH
from olmkit.api.patterns import DNS_LABEL, DNS_SUBDOMAIN
from olmkit.gocompat.text import quoted

KIND = Kind("olm.operatorframework.io", "v1", "ClusterExtension", "clusterextensions")
FINALIZER = "operators.operatorframework.io/remove-operator"
"""The finalizer of a ClusterExtension: its Operator is deleted before it."""
UPSTREAM_FINALIZERS = (
    "olm.operatorframework.io/cleanup-unpack-cache",
    "olm.operatorframework.io/cleanup-contentmanager-cache",
)
"""Finalizers that OLM v1 leaves on a ClusterExtension. What they stand for exists in its controllers only."""
ADOPT_FOR_ANNOTATION = "operators.operatorframework.io/adopt-for"
"""Annotation of an Operator that belongs to nobody: the name of the ClusterExtension that takes it over."""
SERVICE_ACCOUNT_ANNOTATION = "operators.operatorframework.io/service-account"
"""Annotation of a ClusterExtension: the ServiceAccount of its installation, as `namespace/name`, or as `name` for one of
spec.namespace."""
SERVICE_ACCOUNT_PATTERN = f"^({DNS_LABEL}/)?{DNS_SUBDOMAIN}$"
"""The form of its value. config/webhook/rukpak.yaml has the same: another value names no account."""
OWNER_KIND_LABEL = "olm.operatorframework.io/owner-kind"
"""Label of what belongs to an object of OLM v1: its kind."""
OWNER_NAME_LABEL = "olm.operatorframework.io/owner-name"
"""Label of what belongs to an object of OLM v1: its name."""
MAX_CHANNELS = 256
MAX_EXPRESSIONS = MAX_REQUIREMENTS - 1
"""Expressions of a selector: the Operator gets one more, which selects Catalogs of ClusterCatalogs."""
_OWNED = ("packageName", "version", "channel", "channels", "catalogSelector", "upgradeConstraintPolicy")
"""The fields of the spec of its Operator that a ClusterExtension owns."""
_OWNED_OF_INSTALL = (
    "namespace",
    "namespacePolicy",
    "watchNamespaces",
    "installModePolicy",
    "objectLabels",
    "config",
    "progressDeadline",
    "serviceAccount",
)
"""The same of spec.install."""
_SAFETY, _POLICY = "crdUpgradeSafety", "policy"
"""The field of spec.install of which it owns one field."""


class ConditionType(DescribedEnum):
    """The condition types of a ClusterExtension."""

    INSTALLED = "Installed", "a bundle runs, also while another one is tried; status.install names it"
    PROGRESSING = "Progressing", "False only if a user has to change something"
    AVAILABLE = "Available", "what is installed is healthy; absent before the first installation"
    DEPRECATED = "Deprecated", "one of the next three is True, with their messages"
    PACKAGE_DEPRECATED = "PackageDeprecated", "the publisher has deprecated the package"
    CHANNEL_DEPRECATED = "ChannelDeprecated", "the same of a channel that is followed"
    BUNDLE_DEPRECATED = "BundleDeprecated", "the same of the installed bundle"


class Reason(DescribedEnum):
    """The reasons of the conditions."""

    SUCCEEDED = "Succeeded", "Installed True; Progressing True: what spec requests is applied"
    FAILED = "Failed", "Installed False: nothing runs, and nothing is rolling out, or the last attempt failed"
    ABSENT = (
        "Absent",
        "Installed False: the first bundle is rolling out; BundleDeprecated Unknown: nothing is installed",
    )
    RETRYING = (
        "Retrying",
        "Progressing True: the last attempt failed and is retried; the message has the error, or what a deletion waits for",
    )
    BLOCKED = "Blocked", "Progressing False: not retried until a person changes something"
    INVALID_CONFIGURATION = (
        "InvalidConfiguration",
        "Progressing False: spec.config does not fit the bundle, or the annotation names no ServiceAccount",
    )
    PROGRESS_DEADLINE_EXCEEDED = (
        "ProgressDeadlineExceeded",
        "Progressing False: not healthy within spec.progressDeadlineMinutes",
    )
    PROBES_SUCCEEDED = "ProbesSucceeded", "Available True"
    PROBE_FAILURE = "ProbeFailure", "Available False: the message names the objects"
    RECONCILING = "Reconciling", "Available Unknown: objects are rolling out, or cannot be read"
    DEPRECATED = "Deprecated", "Deprecated, PackageDeprecated, ChannelDeprecated, BundleDeprecated True"
    NOT_DEPRECATED = "NotDeprecated", "the same False"
    DEPRECATION_STATUS_UNKNOWN = "DeprecationStatusUnknown", "the same Unknown: the catalog was not read"


class UpgradeConstraintPolicy(StrEnum):
    """The values of upgradeConstraintPolicy."""

    CATALOG_PROVIDED = "CatalogProvided"
    SELF_CERTIFIED = "SelfCertified"


_OPERATORS = {"In": True, "NotIn": True, "Exists": False, "DoesNotExist": False}
"""Operator of a label selector -> True if it compares with values."""


def _label_problem(key: str, values: Sequence[str]) -> str:
    if len(key) > MAX_KEY_LENGTH or not re.fullmatch(KEY_PATTERN, key):
        return f"{quoted(key)} is no key of a label"
    wrong = next((each for each in values if each and not is_label_value(each)), None)
    return "" if wrong is None else f"{quoted(wrong)} is no value of a label"


class SelectorRequirement(Model):
    """One expression of a selector."""

    key: str = Field(description="Key of the label.")
    operator: str = Field(description="How it is compared with the values: In, NotIn, Exists or DoesNotExist.")
    values: list[str] | None = Field(
        default=None,
        description="Values for the operators In and NotIn.",
        json_schema_extra={"x-kubernetes-list-type": "atomic"},
    )

    def problem(self) -> str:
        """The first reason why it is no expression, as a sentence; empty if it is one."""
        if self.operator not in _OPERATORS:
            return f"{quoted(self.operator)} is no operator of a label selector: use {', '.join(_OPERATORS)}"
        values = self.values or []
        if bool(values) != _OPERATORS[self.operator]:
            return f"values must be {'empty' if values else 'set'} for the operator {self.operator}"
        if len(values) > MAX_REQUIREMENTS:
            return f"an expression may have {MAX_REQUIREMENTS} values"
        return _label_problem(self.key, values)


class CatalogSelector(Model):
    """Selects ClusterCatalogs by their labels. As in OLM v1, one that is invalid is reported in the status."""

    match_labels: dict[str, str] | None = Field(default=None, description="Labels with the value that they must have.")
    match_expressions: list[SelectorRequirement] | None = Field(
        default=None, description="Expressions on labels.", json_schema_extra={"x-kubernetes-list-type": "atomic"}
    )

    def problem(self) -> str:
        """The first reason why it selects nothing, as a sentence; empty if it is a selector of labels."""
        labels, expressions = self.match_labels or {}, self.match_expressions or []
        if len(labels) > MAX_REQUIREMENTS or len(expressions) > MAX_EXPRESSIONS:
            return f"matchLabels may have {MAX_REQUIREMENTS} entries, and matchExpressions {MAX_EXPRESSIONS}"
        problems = (_label_problem(key, [value]) for key, value in labels.items())
        return next(filter(None, (*problems, *(each.problem() for each in expressions))), "")


_Channel = Annotated[str, Field(max_length=253, json_schema_extra=v1_rules.CHANNEL)]


class CatalogFilter(Model):
    """The package, and which of its bundles may be installed."""

    package_name: Annotated[str, Field(max_length=253)] = Field(
        description="Package to install. It cannot be changed.", json_schema_extra=v1_rules.PACKAGE_NAME
    )
    version: Annotated[str, Field(max_length=64)] | None = Field(
        default=None,
        description=(
            "Version to install: exact (1.2.3), which pins it, or a range such as '>=1.2.0 <2.0.0', '1.x' or '~1.4', "
            "of which the best version is followed. Default: the newest version of the channels."
        ),
        json_schema_extra=v1_rules.VERSION,
    )
    channels: Annotated[list[_Channel], Field(max_length=MAX_CHANNELS)] | None = Field(
        default=None, description="Channels to follow. Default: every channel of the package."
    )
    selector: CatalogSelector | None = Field(
        default=None,
        description=(
            "ClusterCatalogs that count, by their labels. Each has the label olm.operatorframework.io/metadata.name. "
            "Default: all ClusterCatalogs."
        ),
        json_schema_extra={"x-kubernetes-map-type": "atomic"},
    )
    upgrade_constraint_policy: UpgradeConstraintPolicy = Field(
        default=UpgradeConstraintPolicy.CATALOG_PROVIDED,
        description=(
            "CatalogProvided (default): the installed bundle is replaced only along the upgrade edges of its catalog. "
            "SelfCertified: by any version that spec requests."
        ),
        # Clients of OLM v1 read the value, which its API server always writes.
        json_schema_extra=v1_rules.api_default(UpgradeConstraintPolicy.CATALOG_PROVIDED),
    )


class SourceConfig(Model):
    """The source of the bundle."""

    model_config = ConfigDict(json_schema_extra=v1_rules.CATALOG_UNION)

    source_type: Literal["Catalog"] = Field(description="Kind of source: Catalog.")
    catalog: CatalogFilter | None = Field(default=None, description="What to install from the catalogs.")


class ServiceAccountReference(Model):
    """A ServiceAccount. It is ignored."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    name: Annotated[str, Field(min_length=1, max_length=253)] | None = Field(
        default=None,
        description="Name of the ServiceAccount. It cannot be changed, but removed.",
        json_schema_extra=v1_rules.ACCOUNT_NAME,
    )


class CrdUpgradeSafety(Model):
    """The check of CustomResourceDefinitions before an upgrade."""

    enforcement: Literal["None", "Strict"] = Field(
        description="Strict: an upgrade that could break existing custom resources is refused. None: it is not checked."
    )


class Preflight(Model):
    """Checks before an installation or upgrade."""

    model_config = ConfigDict(json_schema_extra=v1_rules.CRD_UPGRADE_SAFETY)

    crd_upgrade_safety: CrdUpgradeSafety = Field(
        description="The check of CustomResourceDefinitions. Default, without spec.install: Strict."
    )


class InstallConfig(Model):
    """The settings of the installation."""

    model_config = ConfigDict(json_schema_extra=v1_rules.PREFLIGHT)

    preflight: Preflight | None = Field(default=None, description="Checks before an installation or upgrade.")


_FREE: JsonDict = {"type": "object", "minProperties": 1, "x-kubernetes-preserve-unknown-fields": True}


class ExtensionConfig(Model):
    """Configuration of the bundle."""

    model_config = ConfigDict(json_schema_extra=v1_rules.INLINE_UNION)

    config_type: Literal["Inline"] = Field(description="Kind of configuration: Inline.")
    inline: Annotated[dict[str, Any], WithJsonSchema(_FREE)] | None = Field(
        default=None, description="The configuration: watchNamespace and deploymentConfig."
    )


class ClusterExtensionSpec(Model):
    """Desired state."""

    namespace: Annotated[str, Field(max_length=63)] = Field(
        description="Namespace to install into. It must exist, and cannot be changed.",
        json_schema_extra=v1_rules.NAMESPACE,
    )
    service_account: ServiceAccountReference | None = Field(
        default=None, description="Deprecated and ignored. A warning says so."
    )
    source: SourceConfig = Field(description="Where the bundle comes from.")
    install: InstallConfig | None = Field(default=None, description="How the bundle is installed.")
    config: ExtensionConfig | None = Field(default=None, description="Configuration of the bundle.")
    # The limits are those of the API server: whoever lowers them in the CRD, as tests of OLM v1 do, gets what it accepts.
    progress_deadline_minutes: int | None = Field(
        default=None,
        description="Minutes within which what is installed has to be healthy. Default: no limit is reported.",
        json_schema_extra={"format": "int32", "minimum": 10, "maximum": 720},
    )


class BundleMetadata(Model):
    """The installed bundle."""

    name: str = Field(description="Name of the bundle.", json_schema_extra=v1_rules.BUNDLE_NAME)
    version: str = Field(description="Version of the bundle.", json_schema_extra=v1_rules.BUNDLE_VERSION)


class InstallStatus(Model):
    """The installation."""

    bundle: BundleMetadata = Field(description="The installed bundle.")


class ClusterExtensionStatus(Conditioned):
    """Observed state."""

    install: InstallStatus | None = Field(default=None, description="What is installed; absent before.")


class ClusterExtension(Resource):
    """A package to install and keep up to date, in the API of OLM v1."""

    spec: ClusterExtensionSpec
    status: ClusterExtensionStatus = Field(default_factory=ClusterExtensionStatus)

    def account(self) -> Account | None:
        """The ServiceAccount of the installation; None if none is named. Raises ValueError if the annotation has another form."""
        value = self.metadata.annotations.get(SERVICE_ACCOUNT_ANNOTATION)
        if value is None:
            return None
        if re.fullmatch(SERVICE_ACCOUNT_PATTERN, value) is None:
            raise ValueError(f"the annotation {SERVICE_ACCOUNT_ANNOTATION} is {quoted(value)}: write {_ACCOUNT_FORM}")
        namespace, _, name = value.rpartition("/")
        return Account(namespace or self.spec.namespace, name)


_ACCOUNT_FORM = "<namespace>/<name> of a ServiceAccount, or <name> for one of spec.namespace"


def operator_name(name: str) -> str:
    """The name of the Operator of a ClusterExtension: its own, or a shorter one with a hash. It depends on nothing else."""
    return name if len(name) <= MAX_NAME_LENGTH else safe_name(name, name, MAX_NAME_LENGTH)


def extension_of(operator: Mapping[str, Any]) -> str:
    """The name of the ClusterExtension that an Operator, as read, belongs to; "" if it belongs to none."""
    owner = controlling_owner(operator) or {}
    is_extension = (owner.get("apiVersion"), owner.get("kind")) == (KIND.api_version, KIND.kind)
    return str(owner.get("name") or "") if is_extension else ""


def owner_labels(name: str) -> dict[str, str]:
    """The labels of what is installed for the ClusterExtension of this name, which is shortened if it is no label value."""
    value = name if len(name) <= MAX_LABEL_LENGTH else safe_name(name, name, MAX_LABEL_LENGTH)
    return {OWNER_KIND_LABEL: KIND.kind, OWNER_NAME_LABEL: value}


def owned_fields(spec: Mapping[str, Any]) -> Object:
    """The fields that a ClusterExtension owns of the spec of its Operator, or of a part of that."""
    install = spec.get("install") or {}
    owned = {name: value for name, value in install.items() if name in _OWNED_OF_INSTALL and value is not None}
    policy = (install.get(_SAFETY) or {}).get(_POLICY)
    own_install = {**owned, **({_SAFETY: {_POLICY: policy}} if policy else {})}
    own = {name: value for name, value in spec.items() if name in _OWNED and value is not None}
    return {**own, **({"install": own_install} if own_install else {})}
