"""The settings of an installation: the fields that an Operator hands to its BundleDeployment unchanged.

Part of olmkit.api.bundledeployments and olmkit.api.operators. operator_controller copies them without knowing them, and
rukpak acts on them. Pure.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import Field
from pydantic.config import JsonDict

from olmkit.api.crd_upgrade_safety import CrdUpgradeSafety
from olmkit.api.deployment_config import DeploymentConfig
from olmkit.api.install_policies import MUST_EXIST
from olmkit.api.meta import Model
from olmkit.api.names import MAX_LABEL_LENGTH, MAX_SUBDOMAIN_LENGTH
from olmkit.api.patterns import DNS_LABEL, OBJECT_NAME
from olmkit.gocompat.text import quoted

MAX_WATCHED_NAMESPACES = 256
"""Entries of watchNamespaces: each may get a Role for each permission of the bundle."""

_ALL_RULE: JsonDict = {
    "rule": "!self.exists(name, name == '') || size(self) == 1",
    "message": "an empty name means all namespaces: it has to be the only entry",
}
MAX_OBJECT_LABELS = 16
"""Entries of objectLabels."""
UNREVISIONED = frozenset({"objectLabels"})
"""The settings that are no part of a revision: their change neither begins one nor tries one again that was rolled back."""
_RESERVED_DOMAINS = (
    "core.rukpak.io",
    "operators.operatorframework.io",
    "catalogd.operatorframework.io",
    "kubernetes.io",
    "k8s.io",
)
"""The domains, with their subdomains, of labels by which the suite and Kubernetes decide something."""
_NAME_PART = "[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_LABEL_KEY = f"^([a-z0-9]([-a-z0-9.]{{0,251}}[a-z0-9])?/)?{_NAME_PART}$"
_LABEL_VALUE = f"^({_NAME_PART})?$"
_RESERVED_KEY = f"^([^/]*[.])?({'|'.join(each.replace('.', '[.]') for each in _RESERVED_DOMAINS)})/"
_LABEL_KEY_TEXT = "a key is the key of a label: letters, digits, '-', '_' and '.', with an optional domain before '/'"
_RESERVED_TEXT = (
    f"labels of Kubernetes and of olm-suite cannot be set: {', '.join(_RESERVED_DOMAINS)} and their subdomains"
)
_LABEL_KEY_RULE: JsonDict = {
    "rule": f"self.all(key, size(key) <= 317 && key.matches(r'{_LABEL_KEY}'))",
    "message": _LABEL_KEY_TEXT,
}
_LABEL_DOMAIN_RULE: JsonDict = {
    "rule": f"!self.exists(key, key.matches(r'{_RESERVED_KEY}'))",
    "message": _RESERVED_TEXT,
}
_LABEL = Field(max_length=MAX_LABEL_LENGTH, pattern=f"^{DNS_LABEL}$")

InstallNamespace = Annotated[str, _LABEL]
"""The namespace that a bundle is installed into. `install_rules` has its rules."""
WatchedNamespace = Annotated[str, Field(max_length=MAX_LABEL_LENGTH, pattern=f"^({DNS_LABEL})?$")]
"""A namespace that an operator watches; "" is all of them."""

DeletionPolicy = Literal["Cascade", "KeepCRDs", "Orphan"]
"""The objects that are deleted with a BundleDeployment."""
AdoptionPolicy = Literal["Never", "IfUnowned"]
"""The objects that exist already and that a BundleDeployment takes over."""
NamespacePolicy = Literal["Create", "MustExist"]
"""The one that the namespace to install into belongs to: rukpak, which creates it, or somebody else."""
InstallModePolicy = Literal["Lenient", "Strict"]
"""The bundles for which the namespaces to watch have to be named."""
RollbackPolicy = Literal["Never", "OnFailure"]
"""The cases in which the last revision that succeeded is brought back."""
_POSITIVE_RULE: JsonDict = {
    "rule": "self.matches(r'^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$') && duration(self) >= duration('1s')",
    "message": "must be a duration of at least 1s, such as 90s, 10m or 1h30m",
}

INSTALL_NAMESPACE_DESCRIPTION = (
    "Namespace to install into. It is created if it does not exist, unless namespacePolicy is MustExist. Default: the namespace "
    "that the bundle suggests, or <package>-system."
)

_ACCOUNT_FIELD, _POLICY_FIELD = "serviceAccount", "namespacePolicy"


def install_rules(namespace_field: str) -> JsonDict:
    """The rules about the namespace to install into, which is the field `namespace_field`."""
    namespace = f"self.{'__namespace__' if namespace_field == 'namespace' else namespace_field}"
    return {
        "x-kubernetes-validations": [
            _account_rule(namespace),
            _reserved_rule(namespace, namespace_field),
            _policy_rule(namespace),
        ]
    }


def _account_rule(namespace: str) -> JsonDict:
    """The namespace of the account is known from the object alone: what a bundle suggests must not choose whose account is
    used."""
    account = f"self.{_ACCOUNT_FIELD}"
    return {
        "rule": f"!has({account}) || has({account}.__namespace__) || has({namespace})",
        "message": f"{_ACCOUNT_FIELD}.namespace is required unless the namespace to install into is named",
    }


def _reserved_rule(namespace: str, field: str) -> JsonDict:
    """Namespaces of Kubernetes are installed into on request, and are never created, labelled or deleted."""
    is_required = f"has(self.{_POLICY_FIELD}) && self.{_POLICY_FIELD} == '{MUST_EXIST}'"
    return {
        "rule": f"!has({namespace}) || ({namespace} != 'default' && !{namespace}.startsWith('kube-')) || ({is_required})",
        "message": (
            "default and namespaces whose name begins with kube- belong to Kubernetes: name another one, or set "
            f"{_POLICY_FIELD} to {MUST_EXIST}"
        ),
        "fieldPath": f".{field}",
    }


def _policy_rule(namespace: str) -> JsonDict:
    """A namespace that is required is known from the object alone, so that nobody deletes it meanwhile."""
    return {
        "rule": f"!has(self.{_POLICY_FIELD}) || self.{_POLICY_FIELD} != '{MUST_EXIST}' || has({namespace})",
        "message": f"{_POLICY_FIELD} {MUST_EXIST} requires the namespace to install into",
        "fieldPath": f".{_POLICY_FIELD}",
    }


LabelValue = Annotated[str, Field(max_length=MAX_LABEL_LENGTH, pattern=_LABEL_VALUE)]
"""The value of a label."""


class ServiceAccountReference(Model):
    """A ServiceAccount as which rukpak installs."""

    name: Annotated[str, Field(max_length=MAX_SUBDOMAIN_LENGTH, pattern=OBJECT_NAME)] = Field(
        description="Name of the ServiceAccount."
    )
    namespace: Annotated[str, _LABEL] | None = Field(
        default=None,
        description="Its namespace, which is required unless the namespace to install into is named. Default: that one.",
    )


def label_problem(key: str, value: str) -> str:
    """Explain why the API server would refuse a label of objects; empty if it would not."""
    if not re.fullmatch(_LABEL_KEY, key):
        return f"{quoted(key)} is no key of a label: {_LABEL_KEY_TEXT}"
    if re.match(_RESERVED_KEY, key):
        return f"{quoted(key)}: {_RESERVED_TEXT}"
    return "" if re.fullmatch(_LABEL_VALUE, value) else f"{quoted(value)} is no value of a label"


class InstallSettings(Model):
    """The settings of an installation."""

    service_account: ServiceAccountReference | None = Field(
        default=None,
        description=(
            "The ServiceAccount with whose permissions the objects of the bundle are applied, changed and deleted. Whoever sets, "
            "changes or removes it, or changes anything else of a spec with it, must be permitted to impersonate it, before and "
            "after the change. Default: the objects are applied with the permissions of rukpak."
        ),
    )

    namespace_policy: NamespacePolicy | None = Field(
        default=None,
        description=(
            "Who creates the namespace to install into. Create: it is created if it does not exist, and deleted with the last "
            "installation if it was created for one. MustExist: the installation waits until it exists, as for each namespace "
            "of watchNamespaces; it is neither created, labelled nor deleted, and may be one of Kubernetes. MustExist requires "
            "that the namespace is named. Default: Create."
        ),
    )
    watch_namespaces: list[WatchedNamespace] | None = Field(
        default=None,
        json_schema_extra={
            "minItems": 1,
            "maxItems": MAX_WATCHED_NAMESPACES,
            "x-kubernetes-validations": [_ALL_RULE],
        },
        description=(
            "Namespaces that the operator watches, if the bundle supports it; an empty name is all namespaces. Default: all "
            "namespaces, or the namespace that it is installed into if the bundle does not support that."
        ),
    )
    install_mode_policy: InstallModePolicy | None = Field(
        default=None,
        description=(
            "What is done without watchNamespaces if the bundle does not support all namespaces. Lenient: the operator watches "
            "the namespace that it is installed into, if the bundle supports that. Strict: nothing is installed until "
            "watchNamespaces is set. Default: Lenient."
        ),
    )
    crd_upgrade_safety: CrdUpgradeSafety | None = Field(
        default=None, description="How changes of CustomResourceDefinitions are checked before an upgrade."
    )
    deletion_policy: DeletionPolicy | None = Field(
        default=None,
        description=(
            "What a deletion removes. Cascade: all objects, the CustomResourceDefinitions with all their custom resources among "
            "them. KeepCRDs: all but the CustomResourceDefinitions, their custom resources, and Namespaces that are not empty. "
            "Orphan: nothing; the objects stay and are not managed. Default: Cascade."
        ),
    )
    rollback: RollbackPolicy | None = Field(
        default=None,
        description=(
            "What is done when an upgrade is rejected, or not healthy in time. OnFailure: the last revision that succeeded is "
            "brought back, except for its CustomResourceDefinitions; the upgrade is tried again when spec asks for something "
            "else. Never: it stays as it is. Default: Never."
        ),
    )
    progress_deadline: Annotated[str, Field(max_length=64)] | None = Field(
        default=None,
        json_schema_extra={"x-kubernetes-validations": [_POSITIVE_RULE]},
        description=(
            "The time in which what was installed has to become healthy, as a Go duration such as 10m. Default: the deadline of "
            "each kind, which is 10m for most."
        ),
    )
    adoption_policy: AdoptionPolicy | None = Field(
        default=None,
        description=(
            "Whether objects of the bundle that exist already are taken over, with their data. IfUnowned: those that neither a "
            "BundleDeployment nor a controller owns, nor Argo CD or Flux, that belong to no release of Helm and no "
            "ClusterServiceVersion of OLM v0 that still exists, and that are no part of Kubernetes or of olm-suite. Never: only "
            "what a deleted BundleDeployment has left, and nobody wants. Default: Never."
        ),
    )
    object_labels: dict[str, LabelValue] | None = Field(
        default=None,
        json_schema_extra={
            "maxProperties": MAX_OBJECT_LABELS,
            "x-kubernetes-validations": [_LABEL_KEY_RULE, _LABEL_DOMAIN_RULE],
        },
        description=(
            "Labels of all objects of the bundle but Namespaces, also of those that are installed already. They replace labels "
            "of the bundle with the same key. Pods and other objects that are made from templates do not get them. A change "
            "begins no revision and restarts nothing."
        ),
    )
    config: DeploymentConfig | None = Field(default=None, description="Changes of the operator's Deployments.")
    certificates: Literal["Self", "CertManager", "None"] | None = Field(
        default=None,
        description=(
            "Who issues the serving certificates of webhooks and API services of the bundle. Self: rukpak issues and rotates "
            "them. CertManager: cert-manager, which has to be installed. None: the bundle brings its own. Default: Self."
        ),
    )
