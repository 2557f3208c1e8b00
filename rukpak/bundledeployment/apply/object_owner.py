"""Names who manages an object that exists already: adoption.py decides by that whether the object is taken over. Pure.

A BundleDeployment takes over only what nobody manages: another controller would change the object back, or delete it. What is
a part of Kubernetes or of the suite is never taken over: the cluster would be damaged, at the latest when it is deleted with
the bundle. A label is not an owner: what a tool has marked is managed as long as something that the mark names exists, where
that can be known.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from olmkit.api import bundledeployments
from olmkit.api.bundledeployments import OWNER_UID_LABEL
from olmkit.api.meta import Kind, controlling_owner
from olmkit.api.names import is_dns1123_subdomain, is_label_value
from olmkit.api.ownership import apply_entries, is_applied_by

ARGO_CD, FLUX, HELM, OLM_V0 = "Argo CD", "Flux", "Helm", "OLM v0"
KUBERNETES, SUITE = "Kubernetes", "olm-suite"
SYSTEM = frozenset({KUBERNETES, SUITE})
"""Whose objects no bundle may replace."""
MANAGED_BY: Mapping[str, str] = {
    "addonmanager.kubernetes.io/mode": KUBERNETES,
    "apf.kubernetes.io/autoupdate-spec": KUBERNETES,
    "argocd.argoproj.io/instance": ARGO_CD,
    "argocd.argoproj.io/tracking-id": ARGO_CD,
    "helm.toolkit.fluxcd.io/name": FLUX,
    "kube-aggregator.kubernetes.io/automanaged": KUBERNETES,
    "kubernetes.io/bootstrapping": KUBERNETES,
    "kubernetes.io/cluster-service": KUBERNETES,
    "kustomize.toolkit.fluxcd.io/name": FLUX,
    "meta.helm.sh/release-name": HELM,
    "olm.managed": OLM_V0,
    "olm.owner": OLM_V0,
    "rbac.authorization.kubernetes.io/autoupdate": KUBERNETES,
}
"""A label or annotation that a tool writes to each object that it manages, and the tool."""
MANAGED_BY_PREFIX: Mapping[str, str] = {
    "operatorframework.io/installed-alongside-": OLM_V0,
    "operators.coreos.com/": OLM_V0,
}
"""The same, of keys that end with a name."""
_COMPONENT_PREFIX, _ALONGSIDE_PREFIX = "operators.coreos.com/", "operatorframework.io/installed-alongside-"
_SYSTEM_LABELS = {("app.kubernetes.io/part-of", SUITE): SUITE, ("provider", "kubernetes"): KUBERNETES}
_SYSTEM_NAMESPACES = frozenset({"kube-node-lease", "kube-public", "kube-system"})
_SYSTEM_NAMES = frozenset({"kube-root-ca.crt", "system-cluster-critical", "system-node-critical"})
_SYSTEM_PREFIX = "system:"
"""The beginning of names that Kubernetes reserves for itself."""

CLUSTER_SERVICE_VERSIONS = Kind(
    "operators.coreos.com", "v1alpha1", "ClusterServiceVersion", "clusterserviceversions", namespaced=True
)
SUBSCRIPTIONS = Kind("operators.coreos.com", "v1alpha1", "Subscription", "subscriptions", namespaced=True)
_OLM_V0_KINDS = {
    kind.kind: kind
    for kind in (
        CLUSTER_SERVICE_VERSIONS,
        SUBSCRIPTIONS,
        Kind("operators.coreos.com", "v1", "OperatorGroup", "operatorgroups", namespaced=True),
        Kind("operators.coreos.com", "v1alpha1", "CatalogSource", "catalogsources", namespaced=True),
        Kind("operators.coreos.com", "v1alpha1", "InstallPlan", "installplans", namespaced=True),
    )
}
SECRETS = Kind("", "v1", "Secret", "secrets", namespaced=True)
_CONFIG_MAPS = Kind("", "v1", "ConfigMap", "configmaps", namespaced=True)
_ORIGINAL = "!olm.copiedFrom"
"""Selects ClusterServiceVersions without the copies of them in other namespaces."""


@dataclass(frozen=True)
class PossibleOwner:
    """Objects of which one has to exist for a mark to be true: the one with this name, or those that are selected."""

    kind: Kind
    namespace: str
    """Empty: in all namespaces."""
    name: str = ""
    selector: str = ""

    @property
    def is_named(self) -> bool:
        """True if the mark says which objects these are, so that the one that is found may be named as the owner."""
        return self.selector != _ORIGINAL


@dataclass(frozen=True)
class Claim:
    """A tool, the labels and annotations by which it has marked an object, and what would have to exist.

    Without `owners` it cannot be known whether the tool still manages the object.
    """

    tool: str
    keys: tuple[str, ...]
    owners: tuple[PossibleOwner, ...] = ()

    @property
    def names_nobody(self) -> bool:
        """True if something would have to exist, and the marks do not say what."""
        return bool(self.owners) and not any(owner.is_named for owner in self.owners)


def claims_of(metadata: Mapping[str, Any]) -> tuple[Claim, ...]:
    """The tools that have marked the object with this metadata, sorted by name."""
    marks = {**(metadata.get("annotations") or {}), **(metadata.get("labels") or {})}
    keys: dict[str, list[str]] = {}
    for key in sorted(marks):
        tool = MANAGED_BY.get(key) or next((t for start, t in MANAGED_BY_PREFIX.items() if key.startswith(start)), "")
        if tool:
            keys.setdefault(tool, []).append(key)
    namespace = metadata.get("namespace") or ""
    return tuple(Claim(tool, tuple(found), _owners(tool, marks, namespace)) for tool, found in sorted(keys.items()))


def owner_of(metadata: Mapping[str, Any], name_of: Callable[[str], str], departed: Collection[str] = ()) -> str:
    """Name the owner of the object with this metadata, for messages; empty if nobody manages it.

    `name_of` returns the name of the BundleDeployment of a uid, empty when there is none. `departed`: tools that have marked the
    object and are known to manage it no longer.
    """
    labels, obj = metadata.get("labels") or {}, {"metadata": metadata}
    system = _system_of(metadata, labels)
    if system and not any(apply_entries(obj)):  # what rukpak has applied was not there before it
        return system
    uid = labels.get(OWNER_UID_LABEL, "")
    deployment = name_of(uid)
    if deployment and is_applied_by(obj, uid, deployment):
        return described(deployment)
    if owner := controlling_owner(obj):
        return f"{owner['kind']} {owner['name']}"
    return next((claim.tool for claim in claims_of(metadata) if claim.tool not in departed), "")


def described(deployment: str) -> str:
    """The BundleDeployment of that name as the owner of an object."""
    return f"{bundledeployments.KIND.kind} {deployment}"


def system_marks(metadata: Mapping[str, Any]) -> tuple[str, ...]:
    """The labels and annotations that make the object a part of Kubernetes or of the suite; empty if its name does."""
    labels = metadata.get("labels") or {}
    own = [key for key, value in labels.items() if (key, value) in _SYSTEM_LABELS]
    claimed = [key for claim in claims_of(metadata) if claim.tool in SYSTEM for key in claim.keys]
    return () if _has_system_name(metadata) else tuple(sorted({*own, *claimed}))


def _has_system_name(metadata: Mapping[str, Any]) -> bool:
    name, namespace = metadata.get("name", ""), metadata.get("namespace", "")
    return namespace in _SYSTEM_NAMESPACES or name in _SYSTEM_NAMES or name.startswith(_SYSTEM_PREFIX)


def _system_of(metadata: Mapping[str, Any], labels: Mapping[str, str]) -> str:
    """Of what it is a part, if no bundle may replace it; empty for other objects."""
    if _has_system_name(metadata):
        return KUBERNETES
    return next((_SYSTEM_LABELS[item] for item in labels.items() if item in _SYSTEM_LABELS), "")


def _owners(tool: str, marks: Mapping[str, str], namespace: str) -> tuple[PossibleOwner, ...]:
    """The objects of which one would have to exist. Argo CD and Flux may manage this cluster from another one."""
    found = {OLM_V0: _olm_v0_owners, HELM: _helm_owners}.get(tool)
    owners = tuple(found(marks, namespace)) if found is not None else ()
    # A mark that anyone may have written is no selector, and leads to no other path.
    is_valid = all(is_dns1123_subdomain(owner.name) if not owner.selector else True for owner in owners)
    return owners if is_valid else ()


def _olm_v0_owners(marks: Mapping[str, str], namespace: str) -> Iterable[PossibleOwner]:
    named = False
    if "olm.owner" in marks:
        named = True
        kind = _OLM_V0_KINDS.get(marks.get("olm.owner.kind", CLUSTER_SERVICE_VERSIONS.kind))
        inside = marks.get("olm.owner.namespace") or namespace
        yield PossibleOwner(kind, inside, marks["olm.owner"]) if kind and inside else _UNKNOWN
    for key, value in marks.items():
        if key.startswith(_ALONGSIDE_PREFIX):
            named = True
            inside, _, name = value.partition("/")
            is_readable = is_dns1123_subdomain(inside)
            yield PossibleOwner(CLUSTER_SERVICE_VERSIONS, inside, name) if is_readable else _UNKNOWN
        elif key.startswith(_COMPONENT_PREFIX):
            named = True
            yield PossibleOwner(CLUSTER_SERVICE_VERSIONS, "", selector=key)
            yield PossibleOwner(SUBSCRIPTIONS, "", selector=key)
    if not named:  # any of them may have made it
        yield PossibleOwner(CLUSTER_SERVICE_VERSIONS, namespace, selector=_ORIGINAL)


def _helm_owners(marks: Mapping[str, str], namespace: str) -> Iterable[PossibleOwner]:
    """The records of the release, as Helm stores them in the cluster."""
    release = marks.get("meta.helm.sh/release-name", "")
    inside = marks.get("meta.helm.sh/release-namespace", "")
    if not is_dns1123_subdomain(inside) or not is_label_value(release):
        yield _UNKNOWN
        return
    for kind in (SECRETS, _CONFIG_MAPS):
        yield PossibleOwner(kind, inside, selector=f"owner=helm,name={release}")


_UNKNOWN = PossibleOwner(CLUSTER_SERVICE_VERSIONS, "")
"""Something that cannot be looked up: it has no valid name."""
