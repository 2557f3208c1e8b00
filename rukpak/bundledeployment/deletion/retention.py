"""Decides which CustomResourceDefinitions and Namespaces are deleted, and which are kept for others: two tables.

Deleting a CustomResourceDefinition deletes its custom resources, and deleting a Namespace deletes every object in it. Called by
rukpak.bundledeployment.deletion.prune for what is no longer in the bundle, and by finalize for a BundleDeployment that is
being deleted: finalize deletes custom resources before their CustomResourceDefinitions, and reports foreign objects before
their Namespace is deleted. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum

from olmkit.gocompat.text import list_names
from rukpak.bundledeployment.cluster.namespace_info import NamespaceInfo
from rukpak.bundledeployment.world import Usage


class Retention(StrEnum):
    """The ways to treat an object that others may need."""

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
    """rukpak did not create it, or it is kept or required, or another member has recorded that rukpak created it and will
    delete it."""
    UNSETTLED = "unsettled"
    """rukpak created it, and another BundleDeployment has not recorded that yet, or not yet that it is no member any more."""


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
"""The retention of a Namespace that is no longer in the bundle. Usage None: it is not known.

What is unsettled is left as it is.
"""

FINALIZED_NAMESPACE_RETENTION: Mapping[Tenancy, Retention] = {
    Tenancy.OWN: Retention.DELETE,
    Tenancy.SHARED: Retention.LEAVE,
}
"""The retention of a Namespace of a BundleDeployment that is being deleted, whatever is in it."""


def crd_retention(usage: Usage) -> Retention:
    """The retention of a CustomResourceDefinition that is no longer in the bundle."""
    return CRD_RETENTION[usage]


def namespace_retention(namespace: NamespaceInfo, usage: Usage | None) -> Retention | None:
    """The retention of a Namespace that is no longer in the bundle; None: its usage has to be known, or others have to record
    something first."""
    return NAMESPACE_RETENTION.get((tenancy(namespace), usage))


def finalized_namespace_retention(namespace: NamespaceInfo) -> Retention | None:
    """The retention of a Namespace of a BundleDeployment that is being deleted; None: others have to record something first."""
    return FINALIZED_NAMESPACE_RETENTION.get(tenancy(namespace))


def tenancy(namespace: NamespaceInfo) -> Tenancy:
    """The tenancy of the Namespace, seen from the BundleDeployment in whose World it is.

    A record passes to another member before the first one leaves. A label without a record, and a record without a label, are
    states of a moment: the other one's next pass makes both of them, or neither. A BundleDeployment that does not exist records
    nothing: its label keeps the Namespace, in which its objects may be. So does one that requires the Namespace, which then
    belongs to somebody else: it has neither a label nor a record.
    """
    if not namespace.is_created or namespace.is_kept:
        return Tenancy.SHARED
    if any(other.is_labeled and other.is_recorded for other in namespace.others):
        return Tenancy.SHARED
    if namespace.others:
        return Tenancy.UNSETTLED
    return Tenancy.SHARED if namespace.is_left_behind or namespace.is_required else Tenancy.OWN


def is_only_member(namespace: NamespaceInfo) -> bool:
    """Report whether rukpak created the Namespace, and deletes it when the BundleDeployment needs it no more."""
    return tenancy(namespace) is Tenancy.OWN


def unsettled(namespaces: Iterable[NamespaceInfo]) -> str:
    """Name what has to be recorded before the BundleDeployment can leave these Namespaces, for messages; empty if there is
    nothing."""
    texts = [
        f"Namespace {each.name} (BundleDeployment {list_names(other.name for other in each.others)})"
        for each in namespaces
        if tenancy(each) is Tenancy.UNSETTLED
    ]
    return f"waiting until others have recorded that they use {list_names(texts)}" if texts else ""
