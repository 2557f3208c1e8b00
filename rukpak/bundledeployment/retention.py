"""Which CustomResourceDefinitions and Namespaces are deleted, and which are kept for others. Called by prune and finalize. Pure.

Deleting a CustomResourceDefinition deletes its custom resources, and deleting a Namespace deletes every object in it:

    no longer in     CustomResourceDefinition   it was never established, or has no custom resources        DELETE
    the bundle                                  it has custom resources, or they cannot be listed           RELEASE
                     Namespace                  others are members, or rukpak did not create it             LEAVE
                                                somebody created objects in it                              RELEASE
                                                nothing else is in it                                       DELETE
    BundleDeployment Namespace                  others are members, or rukpak did not create it             LEAVE
    being deleted                               else                                                        DELETE

When a BundleDeployment is being deleted its custom resources are deleted before their CustomResourceDefinitions, by
rukpak.bundledeployment.finalize.
"""

from __future__ import annotations

from enum import StrEnum

from olmkit.api.bundledeployments import CREATED_LABEL
from rukpak.bundledeployment.world import NamespaceInfo, Usage


class Retention(StrEnum):
    """What becomes of an object that others may need."""

    DELETE = "delete"
    RELEASE = "release"
    """It stays without the labels of rukpak. An annotation names the BundleDeployment that had it."""
    LEAVE = "leave"
    """It stays as others have it. What only this BundleDeployment had applied to it is removed."""


def crd_retention(usage: Usage) -> Retention:
    """Of a CustomResourceDefinition that is no longer in the bundle."""
    return Retention.DELETE if usage in (Usage.NEVER_ESTABLISHED, Usage.UNUSED) else Retention.RELEASE


def namespace_retention(namespace: NamespaceInfo, uid: str, usage: Usage) -> Retention:
    """Of a Namespace that is no longer in the bundle of the BundleDeployment of that uid."""
    if not is_created_for(namespace, uid):
        return Retention.LEAVE
    return Retention.DELETE if usage is Usage.UNUSED else Retention.RELEASE


def finalized_namespace_retention(namespace: NamespaceInfo, uid: str) -> Retention:
    """Of a Namespace of the BundleDeployment of that uid, which is being deleted."""
    return Retention.DELETE if is_created_for(namespace, uid) else Retention.LEAVE


def is_created_for(namespace: NamespaceInfo, uid: str) -> bool:
    """Whether rukpak created the Namespace, and the BundleDeployment of that uid is its only member."""
    return namespace.members == {uid} and CREATED_LABEL in namespace.labels
