"""Checks what a bundle requires of the cluster itself: a version of Kubernetes (minKubeVersion) and kinds (nativeAPIs).

A bundle with an unmet requirement is no candidate. What is not known of the cluster excludes nothing. rukpak checks
minKubeVersion again before it installs (rukpak/render/preflight.py). Pure.
"""

from __future__ import annotations

from dataclasses import dataclass

from olmkit.api.conditions import truncate
from olmkit.gocompat.versions import BadVersion, Version, parse_tolerant_version
from operator_controller.resolve.formatting import MAX_VALUE_BYTES, plain_value, quoted_value
from operator_controller.resolve.package.package_content import Bundle, GroupVersionKind
from operator_controller.resolve.requirements.cluster_facts import ClusterFacts


@dataclass(frozen=True)
class KnownCluster:
    """The parsed facts of a cluster. None: not known."""

    kube_version: Version | None = None
    """The version of its API server, without what follows the first `-`: distributions write their own revision there."""
    native_kinds: frozenset[GroupVersionKind] | None = None
    """Every kind that it serves."""


def known_cluster(facts: ClusterFacts) -> KnownCluster:
    """Parses the facts. A version that cannot be read is not known."""
    try:
        version = parse_tolerant_version(facts.kube_version.partition("-")[0])
    except BadVersion:
        version = None
    if facts.native_kinds is None:
        return KnownCluster(version)
    kinds = (text.split("/") for text in facts.native_kinds)
    return KnownCluster(version, frozenset(GroupVersionKind(*parts) for parts in kinds if len(parts) == 3))


def unmet_cluster_requirement(bundle: Bundle, cluster: KnownCluster) -> str:
    """The first requirement that the cluster does not meet, as the end of a sentence about the bundle; "" if it meets all."""
    if bundle.min_kube_version.strip():
        try:
            needed = parse_tolerant_version(bundle.min_kube_version)
        except BadVersion as error:
            reason = truncate(str(error), MAX_VALUE_BYTES)
            return f"its minKubeVersion {quoted_value(bundle.min_kube_version)} is not a version: {reason}"
        if cluster.kube_version is not None and cluster.kube_version.precedence < needed.precedence:
            return f"it requires Kubernetes {needed} or newer, and the cluster runs {cluster.kube_version}"
    if cluster.native_kinds is not None:
        for kind in bundle.native_apis:
            if kind not in cluster.native_kinds:
                return f"it requires the native API {plain_value(kind)}, which the cluster does not serve"
    return ""
