"""The facts of a cluster that bundles may require. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ClusterKind:
    """A kind of a CustomResourceDefinition that is Established and not Terminating, whoever made it."""

    group: str
    kind: str
    versions: tuple[str, ...]
    """The versions that are served."""
    is_installed: bool = False
    """True if a BundleDeployment has installed the CustomResourceDefinition."""


@dataclass(frozen=True)
class ClusterFacts:
    """The facts about the cluster itself that bundles may require. What is not known excludes nothing."""

    kube_version: str = ""
    custom_kinds: tuple[ClusterKind, ...] = ()
    native_kinds: tuple[str, ...] | None = None
    """Every kind that discovery lists, as `<group>/<version>/<kind>`; None if it is not known."""
