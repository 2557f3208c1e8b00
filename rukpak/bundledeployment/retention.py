"""Which CustomResourceDefinitions and Namespaces are deleted, and which are kept for others: two tables.

Deleting a CustomResourceDefinition deletes its custom resources, and deleting a Namespace deletes every object in it. Called by
rukpak.bundledeployment.prune for what is no longer in the bundle, and by finalize for a BundleDeployment that is being deleted:
finalize deletes custom resources before their CustomResourceDefinitions, and reports foreign objects before their Namespace is
deleted. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from olmkit.api.bundledeployments import CREATED_LABEL
from rukpak.bundledeployment.world import NamespaceInfo, Usage


class Retention(StrEnum):
    """What is done with an object that others may need."""

    DELETE = "delete"
    RELEASE = "release"
    """The object stays without the labels of rukpak. An annotation names the BundleDeployment that had it."""
    LEAVE = "leave"
    """The object stays. Only the fields that no other BundleDeployment applied are removed from it."""


class Tenancy(StrEnum):
    """The members of a Namespace: the BundleDeployment alone, or others too."""

    OWN = "own"
    """rukpak created it, and the BundleDeployment is its only member."""
    SHARED = "shared"
    """The Namespace has other members, or rukpak did not create it."""


CRD_RETENTION: Mapping[Usage, Retention] = {
    Usage.NEVER_ESTABLISHED: Retention.DELETE,
    Usage.UNUSED: Retention.DELETE,
    Usage.IN_USE: Retention.RELEASE,
    Usage.UNLISTABLE: Retention.RELEASE,
}
"""The retention of a CustomResourceDefinition that is no longer in the bundle."""

NAMESPACE_RETENTION: Mapping[tuple[Tenancy, Usage | None], Retention] = {
    (Tenancy.OWN, Usage.UNUSED): Retention.DELETE,
    (Tenancy.OWN, Usage.IN_USE): Retention.RELEASE,
    (Tenancy.SHARED, Usage.UNUSED): Retention.LEAVE,
    (Tenancy.SHARED, Usage.IN_USE): Retention.LEAVE,
    (Tenancy.SHARED, None): Retention.LEAVE,
}
"""The retention of a Namespace that is no longer in the bundle. Usage None: it is not known."""

FINALIZED_NAMESPACE_RETENTION: Mapping[Tenancy, Retention] = {
    Tenancy.OWN: Retention.DELETE,
    Tenancy.SHARED: Retention.LEAVE,
}
"""The retention of a Namespace of a BundleDeployment that is being deleted, whatever is in it."""


def crd_retention(usage: Usage) -> Retention:
    """The retention of a CustomResourceDefinition that is no longer in the bundle."""
    return CRD_RETENTION[usage]


def namespace_retention(namespace: NamespaceInfo, uid: str, usage: Usage | None) -> Retention | None:
    """The retention of a Namespace that is no longer in the bundle of the BundleDeployment of that uid; None: its usage has to
    be known."""
    return NAMESPACE_RETENTION.get((tenancy(namespace, uid), usage))


def finalized_namespace_retention(namespace: NamespaceInfo, uid: str) -> Retention:
    """The retention of a Namespace of the BundleDeployment of that uid, which is being deleted."""
    return FINALIZED_NAMESPACE_RETENTION[tenancy(namespace, uid)]


def tenancy(namespace: NamespaceInfo, uid: str) -> Tenancy:
    """The tenancy of the Namespace, seen from the BundleDeployment of that uid."""
    is_own = namespace.members == {uid} and CREATED_LABEL in namespace.labels
    return Tenancy.OWN if is_own else Tenancy.SHARED


def is_created_for(namespace: NamespaceInfo, uid: str) -> bool:
    """Whether rukpak created the Namespace, and the BundleDeployment of that uid is its only member."""
    return tenancy(namespace, uid) is Tenancy.OWN
