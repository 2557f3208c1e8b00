"""Upstream's controllers of ClusterCatalogs and ClusterExtensions: their Leases and accounts, and one that leads.

While one of them leads, these kinds are left to it: two controllers of one kind would write against each other. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import NamedTuple

from olmkit.api import clustercatalogs, clusterextensions
from olmkit.api.meta import Kind


class UpstreamController(NamedTuple):
    """A controller of upstream. Its ServiceAccount and its Deployment have the same name, in whichever namespace they are."""

    name: str
    kind: Kind
    """The kind that it serves."""


UPSTREAM = {
    "9c4404e7.operatorframework.io": UpstreamController(
        "operator-controller-controller-manager", clusterextensions.KIND
    ),
    "catalogd-operator-lock": UpstreamController("catalogd-controller-manager", clustercatalogs.KIND),
}
"""The controllers of upstream by the names of their Leases."""
UPSTREAM_LEASES = tuple(UPSTREAM)


@dataclass(frozen=True)
class ForeignLeader:
    """A controller of upstream that leads; `expires_in` is the time for which its Lease is valid if it is not renewed."""

    namespace: str
    lease: str
    holder: str
    expires_in: timedelta
