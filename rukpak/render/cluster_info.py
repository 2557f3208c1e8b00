"""The facts of a cluster that a bundle is checked against, and how a message names a kind that it lacks.

Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from rukpak.render.namespaces import SUITE_NAMESPACES

Served = tuple[str, str, str]
"""(group, version, kind)"""


@dataclass(frozen=True)
class ClusterInfo:
    """Facts of the cluster, from discovery."""

    served: Collection[Served]
    """(group, version, kind) of all kinds that it serves."""
    failed_groups: Collection[str] = frozenset()
    """Groups whose API server does not answer, so that their kinds are unknown."""
    server_version: str = ""
    """gitVersion of the API server; "" when it is unknown, so that minKubeVersion is not checked."""
    suite_namespaces: Collection[str] = SUITE_NAMESPACES
    """The namespaces of the suite and of its keys."""
    removers: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """(group, kind) that counts as not served -> the BundleDeployment with which its CRD is being removed."""

    def why_missing(self, kind: Served) -> str:
        """Explain why the cluster does not serve the kind, after its name; empty if it does not have it in any version."""
        group = kind[0]
        remover = self.removers.get((group, kind[2]))
        if remover:
            return f": its CustomResourceDefinition is being removed with BundleDeployment {remover}"
        if group in self.failed_groups:
            return f": the API server of group {group} does not answer"
        others = sorted(version for found, version, name in self.served if (found, name) == (group, kind[2]))
        return f": the cluster serves it as {', '.join(others)} only" if others else ""


def kind_text(kind: Served) -> str:
    """`Kind (group/version)`."""
    group, version, name = kind
    return f"{name} ({group}/{version})" if group else f"{name} ({version})"
